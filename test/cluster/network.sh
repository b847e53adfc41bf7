# The cluster's network: a bridge, a namespace a node, and one that stands in for the world outside. Sourced after units.sh.
# shellcheck shell=bash

# make_network: the bridge and the outside. No rule forwards anything off the machine: nodes route to each other over the
# bridge, and whatever else a pod or a node sends meets a blackhole.
make_network() {
  if ip route show exact "$NODE_NET" | grep -qv "dev $BRIDGE "; then
    say "$NODE_NET is another network's on this machine; the cluster needs it"
    return 1
  fi
  ip link add "$BRIDGE" type bridge 2>/dev/null || true
  ip addr replace "$HOST_IP/24" dev "$BRIDGE"
  ip link set "$BRIDGE" up
  # Container engines refuse to forward by default, and bridged packets count as forwarded.
  iptables -w -C FORWARD -i "$BRIDGE" -o "$BRIDGE" -j ACCEPT 2>/dev/null ||
    iptables -w -I FORWARD -i "$BRIDGE" -o "$BRIDGE" -j ACCEPT
  make_namespace outside "$OUTSIDE_IP"
  local address
  for address in "${OUTSIDE_ADDRESSES[@]}"; do ip -n passband-outside addr replace "$address/32" dev eth0; done
}

# make_namespace NAME ADDRESS: joined to the bridge, with a route to every node's pods and to the outside.
make_namespace() {
  local namespace=passband-$1 address=$2 node outside
  ip netns add "$namespace" 2>/dev/null || true
  ip link add "pb-$1" type veth peer name eth0 netns "$namespace" 2>/dev/null || true
  ip link set "pb-$1" master "$BRIDGE" up
  ip -n "$namespace" addr replace "$address/24" dev eth0
  ip -n "$namespace" link set lo up
  ip -n "$namespace" link set eth0 up
  for node in "${NODES[@]}"; do
    [ "$(node_ip "$node")" = "$address" ] || ip -n "$namespace" route replace "$(node_pod_net "$node")" via "$(node_ip "$node")"
  done
  if [ "$1" != outside ]; then
    for outside in "${OUTSIDE_ADDRESSES[@]}"; do ip -n "$namespace" route replace "$outside/32" via "$OUTSIDE_IP"; done
  fi
  ip -n "$namespace" route replace blackhole default
}

remove_namespace() {
  ip link del "pb-$1" 2>/dev/null || true
  ip netns del "passband-$1" 2>/dev/null || true
}

remove_network() {
  local node
  for node in "${NODES[@]}"; do
    remove_namespace "node$node"
    ip route del "$(node_pod_net "$node")" via "$(node_ip "$node")" 2>/dev/null || true
  done
  remove_namespace outside
  ip link del "$BRIDGE" 2>/dev/null || true
  while iptables -w -D FORWARD -i "$BRIDGE" -o "$BRIDGE" -j ACCEPT 2>/dev/null; do :; done
}

# in_namespace NAME COMMAND...: its network alone. `ip netns exec` would hide the cgroup mounts, and the kubelet exits.
in_namespace() { nsenter --net="/run/netns/passband-$1" "${@:2}"; }
