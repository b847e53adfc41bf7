#!/bin/bash
# Says what of the cluster answers: a line each, or --json. Exit 0 where all of it does, 1 where it does not.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/versions.sh"; . "$here/units.sh"

form=${1:-}
missing=0 parts=()
note() { # NAME ADDRESS ANSWERS
  [ "$3" = true ] || missing=1
  if [ "$form" = --json ]; then
    parts+=("$(printf '{"name": "%s", "address": "%s", "answers": %s}' "$1" "$2" "$3")")
  elif [ "$form" != --quiet ]; then
    printf '%-12s %-40s %s\n' "$1" "$2" "$([ "$3" = true ] && echo answers || echo 'does not answer')"
  fi
}
look() { # NAME ADDRESS COMMAND...
  local name=$1 address=$2; shift 2
  if "$@" >/dev/null 2>&1; then note "$name" "$address" true; else note "$name" "$address" false; fi
}
# shellcheck disable=SC2317 # called by look
node_answers() { port_answers "$HOST_IP" 6443 && node_is_up "$1"; }

look "API server" "https://$HOST_IP:6443" port_answers "$HOST_IP" 6443
for node in "${NODES[@]}"; do look "node$node" "$(node_ip "$node")" node_answers "$node"; done
look registry "$HOST_IP:5000" port_answers "$HOST_IP" 5000
look BuildKit "tcp://$HOST_IP:1234" port_answers "$HOST_IP" 1234
look S3 "http://$HOST_IP:7070" port_answers "$HOST_IP" 7070
look Temporal "$HOST_IP:7233" port_answers "$HOST_IP" 7233
look enforcement "$RUN/up" test -f "$RUN/up"
if [ "$form" = --json ]; then
  joined=$(printf ', %s' "${parts[@]}")
  cat <<JSON
{"up": $([ $missing = 0 ] && echo true || echo false), "kubeconfig": "$KUBECONFIG_FILE", "host": "$HOST_IP",
 "registry": "$HOST_IP:5000", "buildkit": "unix://$RUN/buildkitd.sock", "temporal": "$HOST_IP:7233",
 "s3": {"endpoint": "http://$HOST_IP:7070", "access": "$S3_ACCESS_KEY", "secret": "$S3_SECRET_KEY"},
 "programs": {"kubectl": "$KUBERNETES_BIN/kubectl", "helm": "$CLUSTER_CACHE/helm-$HELM/helm", "buildctl": "$CLUSTER_CACHE/buildkit-$BUILDKIT/buildctl"},
 "run": "$RUN", "parts": [${joined:2}]}
JSON
fi
exit "$missing"
