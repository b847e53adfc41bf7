#!/bin/sh
# Builds the worker's image by BuildKit and pushes it; prints REFERENCE@DIGEST. Takes the packages from node_modules as `npm ci` left
# them: those of the lock file that are not for development, without what nothing reads at run time.
set -eu
usage="usage: worker-image.sh REFERENCE --addr BUILDKIT [--base IMAGE] [--buildctl PROGRAM] [--with PROGRAM]... [--insecure]
  --addr      unix:///PATH or tcp://HOST:PORT
  --base      what it stands on, as BuildKit pulls it (default: debian:12-slim; the test cluster's registry has debian:12)
  --buildctl  the client that builds (default: on PATH)
  --with      a program for the image's /usr/local/bin: buildctl, for a worker that builds task images
  --insecure  the registry speaks plain HTTP"
die() { echo "worker-image: $*" >&2; exit 2; }

reference="" addr="" base="" buildctl=buildctl output="" programs=""
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir "$work/modules" "$work/programs"
while [ $# -gt 0 ]; do
  case $1 in
    --addr) addr=${2:?"$usage"}; shift ;;
    --base) base=${2:?"$usage"}; shift ;;
    --buildctl) buildctl=${2:?"$usage"}; shift ;;
    --with) programs=$(command -v "${2:?"$usage"}") || die "$2: no such program"; cp -L "$programs" "$work/programs/"; shift ;;
    --insecure) output=,registry.insecure=true ;;
    -*) die "$1 is no flag; $usage" ;;
    *) reference=$1 ;;
  esac
  shift
done
[ -n "$reference" ] && [ -n "$addr" ] || die "$usage"
command -v "$buildctl" >/dev/null || die "$buildctl: no such program; name one with --buildctl"

cd "$(dirname "$0")/.."
[ -x node_modules/node/bin/node ] || die "node_modules is not there; run npm ci"
# The lock file says of each package whether it is for development; those of other platforms are not there.
node_modules/node/bin/node -e '
  const { packages } = JSON.parse(fs.readFileSync("package-lock.json", "utf8"));
  const inner = (name) => name.slice("node_modules/".length);
  const kept = Object.keys(packages).filter((name) => name !== "" && !packages[name].dev);
  const there = kept.filter((name) => fs.existsSync(name));
  // A package with packages of its own: each of those is in the list for itself.
  for (const name of there) for (const entry of fs.readdirSync(name)) if (entry !== "node_modules") console.log(`${inner(name)}/${entry}`);
' >"$work/packages"
case $(uname -m) in x86_64) platform=x86_64-unknown-linux-gnu ;; aarch64 | arm64) platform=aarch64-unknown-linux-gnu ;; *) platform=none ;; esac
# Declarations, maps and manuals are for people; the bridge to Temporal comes for five platforms, and with its Rust sources.
tar -C node_modules -cf - --owner=0 --group=0 --mtime=@0 --sort=name \
  --exclude='*.d.ts' --exclude='*.d.mts' --exclude='*.d.cts' --exclude='*.map' --exclude='*.md' \
  --exclude='@temporalio/core-bridge/sdk-core' --exclude-from=/dev/fd/3 -T "$work/packages" 3<<EOF | tar -C "$work/modules" -xf -
$(ls -d node_modules/@temporalio/core-bridge/releases/* | sed 's#^node_modules/##' | grep -v "/$platform\$")
EOF

"$buildctl" --addr "$addr" build --frontend dockerfile.v0 --progress plain \
  --local context=. --local dockerfile=. --local "modules=$work/modules" --local "programs=$work/programs" \
  --opt context:modules=local:modules --opt context:programs=local:programs \
  ${base:+--opt "build-arg:BASE=$base"} \
  --output "type=image,name=$reference,push=true$output" --metadata-file "$work/metadata.json" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" >&2; die "$reference was not built"; }
digest=$(sed -n 's/.*"containerimage.digest": "\(sha256:[0-9a-f]*\)".*/\1/p' "$work/metadata.json")
echo "$reference@$digest"
