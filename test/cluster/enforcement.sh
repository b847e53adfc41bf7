# Sees, on every node, that a pod without policy reaches the outside and one under deny-all does not. Sourced after versions.sh.
# shellcheck shell=bash
CHECKED=passband-enforcement

see_enforcement() {
  local node seen=0 waits=()
  write_checks >"$RUN/checks.yaml"
  # A new namespace has no service account for a moment.
  until_true 20 kubectl apply -f "$RUN/checks.yaml" || { kubectl apply -f "$RUN/checks.yaml"; return 1; }
  for node in "${NODES[@]}"; do see_node "$node" & waits+=($!); done
  for node in "${waits[@]}"; do wait "$node" || seen=1; done
  kubectl delete namespace "$CHECKED" --wait=false >/dev/null
  return "$seen"
}

see_node() {
  until_true 40 answer_is open "open-$1" && until_true 20 answer_is closed "closed-$1" && return
  local open closed
  open=$(answer "open-$1" || true) closed=$(answer "closed-$1" || true)
  say "NetworkPolicy is not seen to hold on node$1: the outside is ${open:-unknown} without a policy, ${closed:-unknown} under deny-all"
  return 1
}

answer_is() { [ "$(answer "$2")" = "$1" ]; }
# open or closed; nothing, where the pod itself does not answer.
answer() {
  kubectl exec -n "$CHECKED" "$1" -- sh -c "nc -w 1 ${OUTSIDE_ADDRESSES[0]} 443 </dev/null && echo open || echo closed" 2>/dev/null
}

write_checks() {
  cat <<YAML
apiVersion: v1
kind: Namespace
metadata: {name: $CHECKED}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all, namespace: $CHECKED}
spec: {podSelector: {matchLabels: {network: closed}}, policyTypes: [Ingress, Egress]}
YAML
  local node network
  for node in "${NODES[@]}"; do
    for network in open closed; do
      cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: $network-$node, namespace: $CHECKED, labels: {network: $network}}
spec:
  nodeName: node$node
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  tolerations: [{operator: Exists}]
  containers: [{name: shell, image: $BUSYBOX_IMAGE, imagePullPolicy: Never}]
YAML
    done
  done
}
