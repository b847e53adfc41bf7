# What a node's containerd and kubelet are told. Sourced after versions.sh.
# shellcheck shell=bash

# write_node_config N FOLDER
write_node_config() {
  local node=$1 folder=$2
  mkdir -p "$folder"/{cni,hosts/docker.io,"hosts/$HOST_IP:5000",containerd,kubelet,logs}
  write_pod_network "$folder" "$(node_pod_net "$node")"
  # The one registry, over plain HTTP; names of docker.io are looked up there and nowhere else.
  printf 'server = "http://%s:5000"\n[host."http://%s:5000"]\n  capabilities = ["pull", "resolve"]\n' "$HOST_IP" "$HOST_IP" |
    tee "$folder/hosts/docker.io/hosts.toml" >"$folder/hosts/$HOST_IP:5000/hosts.toml"
  printf 'nameserver %s\n' "$OUTSIDE_IP" >"$folder/resolv.conf"
  write_containerd_config "$folder"
  write_kubelet_config "$folder" "$node"
}

write_pod_network() {
  cat >"$1/cni/10-pods.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "passband", "plugins": [
  {"type": "ptp", "mtu": 1450, "ipMasq": false,
   "ipam": {"type": "host-local", "dataDir": "$1/addresses", "ranges": [[{"subnet": "$2"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
}

# restrict_oom_score_adj: a pod's sandbox asks for a lower score than a machine in a container may give.
# netns_mounts_under_state_dir and Root: pods leave nothing outside of the node's folder.
write_containerd_config() {
  local folder=$1 plugins=/usr/lib/cni
  [ -x "$plugins/ptp" ] || plugins=/opt/cni/bin
  cat >"$folder/containerd.toml" <<TOML
version = 2
root = "$folder/containerd"
state = "$folder/state"
[grpc]
  address = "$folder/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$folder/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$BUSYBOX_IMAGE"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  max_concurrent_downloads = 8
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$plugins"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "$folder/runc"
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$folder/hosts"
TOML
}

# failCgroupV1: Kubernetes 1.35 and later refuse cgroup v1 without it. Images are never collected: the pods' sandbox is one.
# A pod that writes beyond its ephemeral storage is evicted; both nodes see the whole disk, so pressure is its last hundredth.
write_kubelet_config() {
  local folder=$1 node=$2
  cat >"$folder/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $RUN/pki/ca.crt}}
authorization: {mode: Webhook}
address: $(node_ip "$node")
healthzBindAddress: 127.0.0.1
containerRuntimeEndpoint: unix://$folder/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /passband-cluster/node$node
failCgroupV1: false
failSwapOn: false
podPidsLimit: 1024
localStorageCapacityIsolation: true
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
evictionPressureTransitionPeriod: 10s
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
nodeStatusUpdateFrequency: 4s
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
clusterDNS: [$DNS_SERVICE_IP]
clusterDomain: cluster.local
resolvConf: $folder/resolv.conf
podLogsDir: $folder/logs
volumePluginDir: $folder/volume-plugins
YAML
}
