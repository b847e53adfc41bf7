#!/bin/bash
# Makes the images that the cluster starts with, once: busybox (the pods' sandbox, checks) and debian:12 (the base of tasks).
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/versions.sh"

# archive ROOT NAME COMMAND_JSON FILE: a folder as an image of one layer, as `docker save` writes it.
archive() {
  local root=$1 name=$2 command=$3 file=$4 digest
  tar -C "$root" --numeric-owner --exclude='./proc/*' --exclude='./sys/*' --exclude='./dev/*' -cf "$work/layer.tar" .
  digest=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
  cat >"$work/config.json" <<JSON
{"architecture": "$architecture", "os": "linux",
 "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": $command},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]}, "history": [{"created_by": "$name"}]}
JSON
  echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$name\"], \"Layers\": [\"layer.tar\"]}]" >"$work/manifest.json"
  tar -C "$work" -cf "$file.$$" manifest.json config.json layer.tar
  mv "$file.$$" "$file"
}

make_busybox() {
  local root=$work/root
  mkdir -p "$root"/{bin,etc,proc,sys,dev,tmp,root}
  busybox --list | while read -r applet; do ln -s busybox "$root/bin/$applet"; done
  cp --remove-destination "$(command -v busybox)" "$root/bin/busybox"
  echo root:x:0:0:root:/root:/bin/sh >"$root/etc/passwd"
  echo root:x:0: >"$root/etc/group"
  chmod 755 "$root"; chmod 1777 "$root/tmp"
  archive "$root" "$BUSYBOX_IMAGE" '["/bin/sleep", "2147483647"]' "$CLUSTER_CACHE/busybox.tar"
}

# Kept compressed, in the form that a registry stores: a push only copies.
make_debian() {
  local root=$work/debian made=$CLUSTER_CACHE/debian-12.$$ mirror
  say "making debian:12 with debootstrap"
  mirror=$(node "$here/debian-mirror.ts")
  # shellcheck disable=SC2086 # none, or one
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" $mirror >"$CLUSTER_CACHE/debootstrap.log" 2>&1 ||
    { say "debootstrap failed; see $CLUSTER_CACHE/debootstrap.log"; return 1; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  archive "$root" docker.io/library/debian:12 '["bash"]' "$work/debian.tar"
  skopeo --insecure-policy copy -q --dest-compress "docker-archive:$work/debian.tar" "dir:$made"
  mv "$made" "$CLUSTER_CACHE/debian-12"
}

mkdir -p "$CLUSTER_CACHE"
case $(uname -m) in aarch64) architecture=arm64 ;; *) architecture=amd64 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -f "$CLUSTER_CACHE/busybox.tar" ] || make_busybox
[ "${1:-}" = busybox ] || [ -d "$CLUSTER_CACHE/debian-12" ] || make_debian
