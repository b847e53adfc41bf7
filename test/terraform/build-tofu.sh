#!/bin/sh
# Builds OpenTofu from its pinned Go module, once, into a folder of the cache keyed by its version, and prints the program's path.
set -eu
TOFU=1.12.6
module=github.com/opentofu/opentofu
folder=${XDG_CACHE_HOME:-$HOME/.cache}/passband/tofu-$TOFU
mkdir -p "$folder"
# One at a time: a second one finds it built.
exec 9>"$folder/lock"
flock 9
if [ ! -x "$folder/tofu" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT INT TERM
  cd "$work"
  # It replaces hcl with a fork, and a replacement holds only where it stands in the main module.
  modules=$(go mod download -json "$module@v$TOFU" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
  {
    printf 'module tools\ngo 1.26\nrequire %s v%s\n' "$module" "$TOFU"
    sed -n '/^replace (/,/^)/p; /^replace [^(]/p' "$modules"
  } >go.mod
  printf '//go:build tools\npackage tools\nimport _ "%s/cmd/tofu"\n' "$module" >tools.go
  go mod tidy >tidy.log 2>&1 || { cat tidy.log >&2; exit 1; }
  echo "terraform: building OpenTofu $TOFU (some minutes, once)" >&2
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o tofu "$module/cmd/tofu"
  mv tofu "$folder/tofu.$$" && mv "$folder/tofu.$$" "$folder/tofu"
fi
echo "$folder/tofu"
