# Paths, versions and addresses that the cluster's scripts share. Sourced, not run.
# shellcheck shell=bash disable=SC2034
CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CLUSTER_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/passband/cluster
KUBERNETES=1.34.3 KUBE_ROUTER=2.1.0 REGISTRY=3.1.2 BUILDKIT=0.34.2 VERSITYGW=1.8.0 HELM=3.22.0
KUBERNETES_BIN=$CLUSTER_CACHE/kubernetes-$KUBERNETES

# Everything that a running cluster writes. A short path: sockets below it must fit in 108 bytes.
RUN=/var/lib/passband-cluster
KUBECONFIG_FILE=$RUN/admin.kubeconfig
NODES=(1 2)

# The bridge that joins the nodes; what serves them all listens on HOST_IP.
BRIDGE=passband0
NODE_NET=172.30.0.0/24 HOST_IP=172.30.0.1 OUTSIDE_IP=172.30.0.2
POD_NET=10.244.0.0/16 SERVICE_NET=10.96.0.0/16 DNS_SERVICE_IP=10.96.0.10
# What stands in for the world: an outside address, and the metadata service of clouds.
OUTSIDE_ADDRESSES=(203.0.113.10 169.254.169.254)
S3_ACCESS_KEY=passband S3_SECRET_KEY=passband-secret
# Where the Temporal server itself listens, on loopback.
TEMPORAL_PORT=17233
# In each node's store and in the registry: the pods' sandbox, and a shell for checks.
BUSYBOX_IMAGE=localhost/busybox:1

# iptables lives in sbin, the project's own Node among its packages.
PATH=$(cd "$CLUSTER_DIR/../.." && pwd)/node_modules/.bin:${XDG_CACHE_HOME:-$HOME/.cache}/passband/go/bin:/usr/local/sbin:/usr/sbin:/sbin:$PATH
export PATH

say() { echo "cluster: $*" >&2; }
node_ip() { echo "172.30.0.$((10 + $1))"; }
node_pod_net() { echo "10.244.$1.0/24"; }
kubectl() { "$KUBERNETES_BIN/kubectl" --kubeconfig "$KUBECONFIG_FILE" "$@"; }

# until_true SECONDS COMMAND...: polls ten times a second; fails once the time is over.
until_true() {
  local end=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# port_answers ADDRESS PORT: of the cluster's own. Where its bridge is not there, nothing is asked: the question would leave the machine.
port_answers() { [ -d "/sys/class/net/$BRIDGE" ] && timeout 3 bash -c ": </dev/tcp/$1/$2" 2>/dev/null; }
