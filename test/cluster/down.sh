#!/bin/bash
# Ends and removes all that `up` made, whole or half: processes, pods, namespaces, mounts, cgroups, rules, files.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/versions.sh"; . "$here/units.sh"; . "$here/machine.sh"; . "$here/network.sh"

rm -f "$RUN/up"
end_unit ""
for node in "${NODES[@]}"; do forget_shims "$RUN/node$node"; done
unmount_below "$RUN"
remove_network
remove_cgroups ""
restore_machine
rm -rf "$RUN"
[ "${1:-}" = --quiet ] || say "down"
