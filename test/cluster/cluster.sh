#!/bin/bash
# cluster.sh up | down | status [--json] | build: a Kubernetes of two nodes on this machine, for the tests. Linux and root.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/versions.sh"

# Bad usage: 64. A machine that cannot run it: 69, in one line.
command=${1:-}
case $command in
  up | down | status | build) shift ;;
  *) sed -n '2s/^# //p' "$0" >&2; exit 64 ;;
esac
if [ "$(uname -s)" != Linux ] || [ "$(id -u)" != 0 ]; then
  say "it needs Linux and root; to test on a cluster of your own, name its kubeconfig in PASSBAND_TEST_KUBECONFIG"
  exit 69
fi
lacking=()
for program in containerd ctr runc ip iptables ipset conntrack etcd skopeo busybox debootstrap openssl nsenter setsid node; do
  command -v "$program" >/dev/null || lacking+=("$program")
done
[ -x /usr/lib/cni/ptp ] || [ -x /opt/cni/bin/ptp ] || lacking+=("CNI's ptp")
if [ ${#lacking[@]} -gt 0 ] && [ "$command" = up ]; then
  say "not on this machine: ${lacking[*]}; 'sh bin/setup.sh test' installs them, or name another cluster's kubeconfig in PASSBAND_TEST_KUBECONFIG"
  exit 69
fi
[ "$command" != status ] || exec bash "$here/status.sh" "$@"
mkdir -p "$CLUSTER_CACHE"
# One at a time, on this machine.
exec flock --close "$CLUSTER_CACHE" bash "$here/$command.sh" "$@"
