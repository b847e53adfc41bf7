#!/bin/bash
# The mended modules lie beside this script.
set -euo pipefail
cp "$(dirname "$0")/merge.py" "$(dirname "$0")/text.py" /work/intervals/
