#!/bin/bash
# Builds what the cluster runs from pinned Go modules, once: each module into a folder of the cache keyed by its version.
# Cold on 2 cores: Kubernetes 8 min, BuildKit 4, registry 2, kube-router 2, helm 2, versitygw 1.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/versions.sh"

# build FOLDER MODULE@VERSION GO_MOD_LINES PACKAGE...: the programs of a module, in a throw-away module of their own.
build() {
  local folder=$CLUSTER_CACHE/$1 module=$2 lines=$3; shift 3
  local missing=() package
  for package in "$@"; do [ -x "$folder/$(basename "$package")" ] || missing+=("$package"); done
  [ ${#missing[@]} = 0 ] && return
  command -v go >/dev/null || { say "Go is not here, which builds $module: 'sh bin/setup.sh test' installs it"; exit 69; }
  local work; work=$(mktemp -d); mkdir -p "$folder"
  (
    cd "$work"
    printf 'module tools\ngo 1.26\nrequire %s %s\n%s\n' "${module%@*}" "${module#*@}" "$lines" > go.mod
    { printf '//go:build tools\npackage tools\n'; printf 'import _ "%s"\n' "$@"; } > tools.go
    go mod tidy > tidy.log 2>&1 || { cat tidy.log >&2; exit 1; }
    for package in "${missing[@]}"; do
      say "building $(basename "$package") ($module)"
      CGO_ENABLED=0 go build -trimpath -ldflags "-s -w ${LDFLAGS:-}" -o program "$package"
      mv program "$folder/$(basename "$package")"
    done
  ) || { rm -rf "$work"; say "$module could not be built; see above"; exit 1; }
  rm -rf "$work"
}

# k8s.io/kubernetes names its staging modules by path: each is replaced with the release published for it.
kubernetes=$CLUSTER_CACHE/kubernetes-$KUBERNETES
if [ ! -x "$kubernetes/kubectl" ]; then
  command -v go >/dev/null || { say "Go is not here, which builds Kubernetes: 'sh bin/setup.sh test' installs it"; exit 69; }
  modules=$(go mod download -json "k8s.io/kubernetes@v$KUBERNETES" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
  replaces=$(awk '/=> \.\/staging/{print $1}' "$modules" | sed "s#.*#replace & => & v0.${KUBERNETES#1.}#")
  version=k8s.io/component-base/version
  LDFLAGS="-X $version.gitVersion=v$KUBERNETES -X $version.gitMajor=1 -X $version.gitMinor=34" \
    build "kubernetes-$KUBERNETES" "k8s.io/kubernetes@v$KUBERNETES" "$replaces" \
    k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kube-proxy,kubectl}
fi
build "kube-router-$KUBE_ROUTER" "github.com/cloudnativelabs/kube-router/v2@v$KUBE_ROUTER" "" github.com/cloudnativelabs/kube-router/v2/cmd/kube-router
build "registry-$REGISTRY" "github.com/distribution/distribution/v3@v$REGISTRY" "" github.com/distribution/distribution/v3/cmd/registry
build "buildkit-$BUILDKIT" "github.com/moby/buildkit@v$BUILDKIT" "" github.com/moby/buildkit/cmd/{buildkitd,buildctl}
build "versitygw-$VERSITYGW" "github.com/versity/versitygw@v$VERSITYGW" "" github.com/versity/versitygw/cmd/versitygw
build "helm-$HELM" "helm.sh/helm/v3@v$HELM" "" helm.sh/helm/v3/cmd/helm
