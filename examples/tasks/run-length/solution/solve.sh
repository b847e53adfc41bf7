#!/bin/bash
# The mended source lies beside this script.
set -euo pipefail
cp "$(dirname "$0")/rle.c" /work/rle.c
tcc -o /work/rle /work/rle.c
