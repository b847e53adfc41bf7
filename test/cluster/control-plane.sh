# etcd, the API server, the controller manager and the scheduler, with keys made for this run. Sourced after units.sh.
# shellcheck shell=bash

make_keys() {
  local pki=$RUN/pki user
  mkdir -p "$pki"
  openssl ecparam -name prime256v1 -genkey -noout -out "$pki/service-accounts.key"
  openssl ec -in "$pki/service-accounts.key" -pubout -out "$pki/service-accounts.pub" 2>/dev/null
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=passband-cluster \
    -addext keyUsage=critical,keyCertSign,cRLSign -keyout "$pki/ca.key" -out "$pki/ca.crt" 2>/dev/null
  sign api-server /CN=kube-apiserver "IP:$HOST_IP,IP:10.96.0.1,IP:127.0.0.1,DNS:kubernetes.default.svc"
  # exec, logs and stats: the API server shows this to the kubelets.
  sign kubelet-client /O=system:masters/CN=api-server DNS:api-server
  {
    echo admin-token,admin,admin,system:masters
    echo controllers-token,system:kube-controller-manager,controllers
    echo scheduler-token,system:kube-scheduler,scheduler
    for user in "${NODES[@]}"; do echo "node$user-token,system:node:node$user,node$user,system:nodes"; done
  } >"$pki/tokens.csv"
  for user in admin controllers scheduler "${NODES[@]/#/node}"; do write_kubeconfig "$user"; done
}

# sign NAME SUBJECT ALTERNATIVE_NAMES
sign() {
  local pki=$RUN/pki
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$2" -keyout "$pki/$1.key" -out "$pki/$1.csr" 2>/dev/null
  openssl x509 -req -in "$pki/$1.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 3650 \
    -extfile <(echo "subjectAltName=$3") -out "$pki/$1.crt" 2>/dev/null
}

write_kubeconfig() {
  cat >"$RUN/$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: passband, cluster: {server: "https://$HOST_IP:6443", certificate-authority-data: $(base64 -w0 "$RUN/pki/ca.crt")}}]
users: [{name: $1, user: {token: $1-token}}]
contexts: [{name: passband, context: {cluster: passband, user: $1}}]
current-context: passband
YAML
}

start_control_plane() {
  local pki=$RUN/pki controllers=$RUN/controllers.kubeconfig scheduler=$RUN/scheduler.kubeconfig
  start services etcd etcd --data-dir "$RUN/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls http://127.0.0.1:12379 --advertise-client-urls http://127.0.0.1:12379 \
    --listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 \
    --initial-cluster default=http://127.0.0.1:12380
  start services api-server "$KUBERNETES_BIN/kube-apiserver" --etcd-servers=http://127.0.0.1:12379 \
    --bind-address="$HOST_IP" --advertise-address="$HOST_IP" --secure-port=6443 --service-cluster-ip-range="$SERVICE_NET" \
    --cert-dir="$pki" --tls-cert-file="$pki/api-server.crt" --tls-private-key-file="$pki/api-server.key" \
    --client-ca-file="$pki/ca.crt" --requestheader-client-ca-file="$pki/ca.crt" --token-auth-file="$pki/tokens.csv" --authorization-mode=Node,RBAC \
    --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP --enable-admission-plugins=NodeRestriction --allow-privileged=true \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/service-accounts.pub" \
    --service-account-signing-key-file="$pki/service-accounts.key"
  until_true 60 kubectl get --raw /readyz || { say "the API server does not come up"; tail -n 3 "$RUN/services/api-server.log" >&2; return 1; }
  # A node is given up 20 s after its last word, where Kubernetes waits 50.
  start services controllers "$KUBERNETES_BIN/kube-controller-manager" --kubeconfig="$controllers" --leader-elect=false \
    --authentication-kubeconfig="$controllers" --authorization-kubeconfig="$controllers" --cert-dir="$pki" \
    --service-account-private-key-file="$pki/service-accounts.key" --root-ca-file="$pki/ca.crt" \
    --use-service-account-credentials --flex-volume-plugin-dir="$RUN/volume-plugins" --node-monitor-grace-period=20s --node-monitor-period=2s
  start services scheduler "$KUBERNETES_BIN/kube-scheduler" --kubeconfig="$scheduler" --leader-elect=false \
    --authentication-kubeconfig="$scheduler" --authorization-kubeconfig="$scheduler" --cert-dir="$pki"
  register
}

# The nodes by name, each with the pods' network that its routes have; and DNS: a Service in front of the outside's.
register() {
  local node
  {
    for node in "${NODES[@]}"; do
      printf 'apiVersion: v1\nkind: Node\nmetadata: {name: node%s}\nspec: {podCIDR: %s, podCIDRs: [%s]}\n---\n' \
        "$node" "$(node_pod_net "$node")" "$(node_pod_net "$node")"
    done
    cat <<YAML
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec:
  clusterIP: $DNS_SERVICE_IP
  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kube-dns, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
addressType: IPv4
ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
endpoints: [{addresses: ["$OUTSIDE_IP"]}]
YAML
  } >"$RUN/registered.yaml"
  # RBAC's first roles are written a moment after the API server says that it is ready.
  until_true 20 kubectl apply -f "$RUN/registered.yaml"
}
