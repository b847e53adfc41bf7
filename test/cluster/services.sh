# What stands beside the cluster on its bridge: a registry, BuildKit, an S3 server and a Temporal server. Sourced after units.sh.
# shellcheck shell=bash

start_services() {
  mkdir -p "$RUN"/{registry,buildkit,s3,temporal}
  make_unit buildkit
  start_registry
  start_buildkit
  ROOT_ACCESS_KEY=$S3_ACCESS_KEY ROOT_SECRET_KEY=$S3_SECRET_KEY start services s3 \
    "$CLUSTER_CACHE/versitygw-$VERSITYGW/versitygw" --port "$HOST_IP:7070" --quiet posix "$RUN/s3"
  local temporal
  temporal=$(node "$CLUSTER_DIR/temporal-binary.ts")
  # Its parts look for each other on 127.0.0.1, wherever it is told to listen: it stays there, and is handed on.
  start services temporal-forward node "$CLUSTER_DIR/forward.ts" "$HOST_IP:7233" "127.0.0.1:$TEMPORAL_PORT"
  start services temporal "$temporal" server start-dev --port "$TEMPORAL_PORT" --headless \
    --db-filename "$RUN/temporal/temporal.db" --log-level error --dynamic-config-value history.transferProcessorMaxPollRPS=1000
  push_images
  local port
  for port in 1234 7070 7233; do
    until_true 30 port_answers "$HOST_IP" "$port" || { say "nothing answers on $HOST_IP:$port; see $RUN/services"; return 1; }
  done
  until_true 30 port_answers 127.0.0.1 "$TEMPORAL_PORT" || { say "Temporal does not answer; see $RUN/services"; return 1; }
}

start_registry() {
  cat >"$RUN/registry.yml" <<YAML
version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: $RUN/registry}, delete: {enabled: true}}
http: {addr: "$HOST_IP:5000"}
YAML
  OTEL_TRACES_EXPORTER=none start services registry "$CLUSTER_CACHE/registry-$REGISTRY/registry" serve "$RUN/registry.yml"
}

# Steps run on the machine's own network: they reach the package mirror that it reaches.
start_buildkit() {
  cat >"$RUN/buildkitd.toml" <<TOML
root = "$RUN/buildkit"
[grpc]
  address = ["unix://$RUN/buildkitd.sock", "tcp://$HOST_IP:1234"]
[worker.oci]
  binary = "$(command -v runc)"
  networkMode = "host"
  defaultCgroupParent = "passband-cluster/buildkit"
[worker.containerd]
  enabled = false
[registry."docker.io"]
  mirrors = ["$HOST_IP:5000"]
[registry."$HOST_IP:5000"]
  http = true
TOML
  start services buildkit "$CLUSTER_CACHE/buildkit-$BUILDKIT/buildkitd" --config "$RUN/buildkitd.toml" \
    --allow-insecure-entitlement network.host
}

push_images() {
  until_true 20 port_answers "$HOST_IP" 5000 || { say "the registry does not come up; see $RUN/services"; return 1; }
  push "docker-archive:$CLUSTER_CACHE/busybox.tar" library/busybox:1
  bash "$CLUSTER_DIR/images.sh"
  push "dir:$CLUSTER_CACHE/debian-12" library/debian:12
}

push() { skopeo --insecure-policy copy -q --dest-tls-verify=false "$1" "docker://$HOST_IP:5000/$2"; }
