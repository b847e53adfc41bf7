#!/bin/bash
# Brings the cluster up, and returns once both nodes are ready and NetworkPolicy has been seen to hold on each.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/versions.sh"; . "$here/units.sh"; . "$here/machine.sh"; . "$here/network.sh"; . "$here/control-plane.sh"; . "$here/services.sh"; . "$here/enforcement.sh"

if bash "$here/status.sh" --quiet; then say "already up: $KUBECONFIG_FILE"; exit 0; fi

# What a broken test left: a node that is off. Its pods are lost, everybody else's are not.
restore_nodes() {
  [ -f "$RUN/up" ] && kubectl get --raw /readyz --request-timeout=2s >/dev/null 2>&1 || return 1
  local node
  for node in "${NODES[@]}"; do
    bash "$here/node.sh" "$node" join && until_true 3 node_is_up "$node" && continue
    say "node$node is not ready: bringing it back"
    bash "$here/node.sh" "$node" kill && bash "$here/node.sh" "$node" start && until_true 60 node_is_up "$node" || return 1
  done
  until_true 20 bash "$here/status.sh" --quiet
}
if restore_nodes; then say "up again: $KUBECONFIG_FILE"; exit 0; fi
bash "$here/build.sh"
bash "$here/images.sh" busybox
bash "$here/down.sh" --quiet
jobs=()
left_half() {
  [ "$1" != 0 ] || return 0
  kill "${jobs[@]}" 2>/dev/null || true
  say "not up; its logs are in $RUN, and 'npm run cluster down' removes it"
}
trap 'left_half $?' EXIT

say "starting"
mkdir -p "$RUN"
remember_machine
make_unit services
# With it, `down` ends an `up` as well whose caller was killed.
make_unit up
echo $$ >"$TRACKED/$CGROUP/up/daemons/cgroup.procs"
make_network
start services outside nsenter --net=/run/netns/passband-outside node "$here/outside.ts"
make_keys
for node in "${NODES[@]}"; do bash "$here/node.sh" "$node" start & jobs+=($!); done
start_services & jobs+=($!)
start_control_plane
for job in "${jobs[@]}"; do wait "$job"; done
for node in "${NODES[@]}"; do
  until_true 60 node_is_up "$node" || { say "node$node is not ready; see $RUN/node$node"; exit 1; }
done
say "both nodes are ready; looking whether NetworkPolicy is enforced"
see_enforcement
touch "$RUN/up"
say "up after $SECONDS s: KUBECONFIG=$KUBECONFIG_FILE"
