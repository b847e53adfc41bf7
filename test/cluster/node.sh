#!/bin/bash
# node.sh N start: a node with its own containerd, kubelet, kube-proxy and kube-router, in a network namespace.
# node.sh N kill: a power cut: no drain, all that ran is gone, what lay on disk stays. `start` brings it back.
# node.sh N cut | join: unplugs its network, its pods living on, and plugs it in again.
# node.sh N restart-kubelet: as an upgrade does; its pods live on.
# node.sh N ctr ARGS: its container runtime's own client.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/versions.sh"; . "$here/units.sh"; . "$here/machine.sh"; . "$here/network.sh"; . "$here/node-config.sh"
[[ "${1:-} ${2:-}" =~ ^[1-9]\ (start|kill|cut|join|restart-kubelet|ctr)$ ]] || { sed -n '2,6s/^# //p' "$0" >&2; exit 64; }
number=$1 node=node$1 folder=$RUN/node$1

start_node() {
  if is_running "$node" kubelet; then say "$node runs already"; return; fi
  make_unit "$node"
  make_namespace "$node" "$(node_ip "$number")"
  in_namespace "$node" sysctl -qw net.ipv4.ip_forward=1
  # kube-router rejects by ICMP: rate-limited, every refusal beyond the sixth of a second would look like silence
  in_namespace "$node" sysctl -qw net.ipv4.icmp_ratelimit=0
  ip route replace "$(node_pod_net "$number")" via "$(node_ip "$number")"
  write_node_config "$number" "$folder"
  start_in_node containerd containerd -c "$folder/containerd.toml"
  until_true 20 ctr -a "$folder/containerd.sock" version || failed containerd
  ctr -a "$folder/containerd.sock" -n k8s.io images import "$CLUSTER_CACHE/busybox.tar" >/dev/null
  until_true 60 kubectl get node "$node" || failed containerd
  start_kubelet
  # The machine may not let conntrack be set: 0 tells kube-proxy to leave it.
  start_in_node kube-proxy "$KUBERNETES_BIN/kube-proxy" --kubeconfig "$KUBECONFIG_FILE" --proxy-mode iptables \
    --cluster-cidr "$POD_NET" --hostname-override "$node" --healthz-bind-address 127.0.0.1:10256 \
    --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0
  # It exits where the node has no address yet, and no policy would hold.
  until_true 60 has_address || failed kubelet
  start_in_node kube-router "$CLUSTER_CACHE/kube-router-$KUBE_ROUTER/kube-router" --kubeconfig "$KUBECONFIG_FILE" \
    --run-firewall=true --run-router=false --run-service-proxy=false --run-loadbalancer=false --hostname-override "$node" \
    --service-cluster-ip-range "$SERVICE_NET" --iptables-sync-period 5m
  until_true 60 in_namespace "$node" bash -c ': </dev/tcp/127.0.0.1/20244' || failed kube-router
}

start_kubelet() {
  start_in_node kubelet "$KUBERNETES_BIN/kubelet" --config "$folder/kubelet.yaml" --kubeconfig "$RUN/$node.kubeconfig" \
    --hostname-override "$node" --node-ip "$(node_ip "$number")" --root-dir "$folder/kubelet" --cert-dir "$folder/pki"
}

start_in_node() { start "$node" "$1" nsenter --net="/run/netns/passband-$node" "${@:2}"; }
has_address() { kubectl get node "$node" -o 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}' | grep -q .; }
failed() { say "$1 on $node does not come up; its last words:"; tail -n 3 "$folder/$1.log" >&2; exit 1; }

kill_node() {
  ip -n "passband-$node" link set eth0 down 2>/dev/null || true
  end_unit "$node"
  forget_pods
  remove_namespace "$node"
  remove_cgroups "$node"
}

restart_kubelet() {
  local pid started
  read -r pid started <"$folder/kubelet.pid"
  if is_running "$node" kubelet; then kill -9 "$pid"; fi
  until_true 10 has_ended "$pid" || { say "$node's kubelet ($pid, since $started) does not end"; exit 1; }
  start_kubelet
}

# What a machine holds in memory alone: sockets of shims, network namespaces of pods, mounts.
forget_pods() {
  forget_shims "$folder"
  unmount_below "$folder"
  rm -rf "$folder"/state "$folder"/runc "$folder"/*.pid
}

case $2 in
  start) start_node ;;
  kill) kill_node ;;
  cut) ip -n "passband-$node" link set eth0 down ;;
  restart-kubelet) restart_kubelet ;;
  ctr) ctr -a "$folder/containerd.sock" -n k8s.io "${@:3}" ;;
  # Routes over the link went with it.
  join) make_namespace "$node" "$(node_ip "$number")" ;;
esac
