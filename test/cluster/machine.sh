# What containerd, CNI and the kubelet change on the machine itself, whatever folders they are given. Sourced after versions.sh.
# shellcheck shell=bash

# Set by the kubelet at its start.
MACHINE_SETTINGS=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes)
# Made by them, or by `ip netns`; deepest first.
MACHINE_FOLDERS=(/run/netns /run/containerd/s /run/containerd /var/lib/cni/results /var/lib/cni
  /var/lib/kubelet/device-plugins /var/lib/kubelet /var/log/containers /usr/libexec/kubernetes/kubelet-plugins/volume/exec /usr/libexec/kubernetes/kubelet-plugins/volume
  /usr/libexec/kubernetes/kubelet-plugins /usr/libexec/kubernetes)

remember_machine() {
  local setting folder
  for setting in "${MACHINE_SETTINGS[@]}"; do echo "$setting=$(sysctl -n "$setting")"; done >"$RUN/settings"
  for folder in "${MACHINE_FOLDERS[@]}"; do [ -d "$folder" ] || echo "$folder"; done >"$RUN/made-folders"
}

restore_machine() {
  local setting folder result pod
  find /var/log/containers -type l -lname "$RUN/*" -delete 2>/dev/null || true
  # What CNI keeps of a pod: its network, which has our name, and its loopback.
  for result in /var/lib/cni/results/passband-*-eth0; do
    pod=${result#*/passband-}
    rm -f "$result" "/var/lib/cni/results/cni-loopback-${pod%-eth0}-lo"
  done
  [ -f "$RUN/settings" ] || return 0
  while read -r setting; do sysctl -qw "$setting" || true; done <"$RUN/settings"
  while read -r folder; do
    case $folder in
      /run/netns) umount /run/netns 2>/dev/null || true ;;
      */device-plugins) rm -f "$folder/kubelet.sock" ;;
    esac
    [ ! -d "$folder" ] || rmdir --ignore-fail-on-non-empty "$folder" || true
  done <"$RUN/made-folders"
}

# forget_shims FOLDER: of a node. Their sockets lie elsewhere, and one left behind would answer for a new pod.
forget_shims() {
  local address
  for address in "$1"/state/io.containerd.runtime.v2.task/k8s.io/*/address; do
    [ ! -f "$address" ] || rm -f "$(sed 's#^unix://##' "$address")"
  done
}
