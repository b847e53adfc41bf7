# Starts and ends the cluster's processes. What belongs to it is what the kernel lists in its cgroups: an id can be
# reused by a stranger, and a record can be lost in a crash; membership cannot. Sourced after versions.sh.
# shellcheck shell=bash
CGROUP=passband-cluster
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  HIERARCHIES=(/sys/fs/cgroup) TRACKED=/sys/fs/cgroup
else
  # Version 1: one tree a controller, among them links to a tree of several.
  HIERARCHIES=() TRACKED=/sys/fs/cgroup/pids
  for tree in /sys/fs/cgroup/*/; do [ -L "${tree%/}" ] || HIERARCHIES+=("${tree%/}"); done
fi

# make_unit UNIT: the cgroup of a unit (services, node1 ...), under which its pods have theirs.
make_unit() {
  local tree unit=$1 part
  for tree in "${HIERARCHIES[@]}"; do
    [ "$tree" != /sys/fs/cgroup/unified ] || continue
    for part in "$CGROUP" "$CGROUP/$unit"; do
      mkdir -p "$tree/$part"
      # A cpuset is born empty, and takes no process until it is filled.
      if [ "$tree" = /sys/fs/cgroup/cpuset ]; then
        cat "$tree/cpuset.cpus" >"$tree/$part/cpuset.cpus"
        cat "$tree/cpuset.mems" >"$tree/$part/cpuset.mems"
      fi
    done
    if [ "$tree" = /sys/fs/cgroup ]; then
      for part in "" "/$CGROUP" "/$CGROUP/$unit"; do
        sed 's/[a-z]*/+&/g' "$tree$part/cgroup.controllers" >"$tree$part/cgroup.subtree_control"
      done
    fi
  done
  mkdir -p "$TRACKED/$CGROUP/$unit/daemons"
}

# start UNIT NAME COMMAND...: in the background, in the unit's cgroup, its words in $RUN/UNIT/NAME.log.
start() {
  local unit=$1 name=$2 pid; shift 2
  mkdir -p "$RUN/$unit"
  (
    pid=$BASHPID
    echo "$pid" >"$TRACKED/$CGROUP/$unit/daemons/cgroup.procs"
    echo "$pid $(start_time "$pid")" >"$RUN/$unit/$name.pid"
    exec setsid "$@"
  ) </dev/null >"$RUN/$unit/$name.log" 2>&1 &
}

# The kernel's start time of a process, in ticks since boot: with it, an id names one process for good.
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# is_running UNIT NAME: whether the very process that was recorded lives.
is_running() {
  local pid started
  read -r pid started 2>/dev/null <"$RUN/$1/$2.pid" || return 1
  [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] && ! has_ended "$pid"
}

unit_pids() { find "$TRACKED/$CGROUP/${1:-}" -name cgroup.procs -exec cat {} + 2>/dev/null; }

# end_unit [UNIT]: kills what the unit (or the whole cluster) has, pods and all, as a power cut does.
end_unit() {
  local pids=() killed=() pid _
  for _ in $(seq 100); do
    mapfile -t pids < <(unit_pids "${1:-}")
    [ ${#pids[@]} -gt 0 ] || break
    killed+=("${pids[@]}")
    kill -9 "${pids[@]}" 2>/dev/null || true
    sleep 0.05
  done
  # A process leaves its cgroup before its ports and files are free.
  for pid in "${killed[@]}"; do
    until_true 10 has_ended "$pid" || { say "process $pid of ${1:-the cluster} does not end"; return 1; }
  done
}
has_ended() { ! grep -Eq '^State:[[:space:]]+[^XZ[:space:]]' "/proc/$1/status" 2>/dev/null; }

# remove_cgroups [UNIT]: of ended processes.
remove_cgroups() {
  local tree
  for tree in "${HIERARCHIES[@]}"; do
    [ ! -d "$tree/$CGROUP/${1:-}" ] || find "$tree/$CGROUP/${1:-}" -depth -type d -exec rmdir {} + || true
  done
}

# unmount_below FOLDER: deepest first.
unmount_below() {
  local point
  awk -v below="$1/" 'index($2, below) == 1 {print $2}' /proc/self/mounts | tac | while read -r point; do
    umount "$point" 2>/dev/null || umount -l "$point" || true
  done
}

# node_is_up N: its kubelet answers and policies are enforced now, and the API server knows: for 20 s a dead node is ready there.
node_is_up() {
  is_running "node$1" kube-router && port_answers "$(node_ip "$1")" 10250 &&
    kubectl get node "node$1" --request-timeout=3s -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' | grep -q True
}
