#!/bin/sh
# npm test: everything, on a fresh machine. Says what it installs; ends with the line «N passed, N failed».
set -u
cd "$(dirname "$0")/.."
sh bin/setup.sh test || { echo "0 passed, 1 failed"; exit 1; }
PATH="${XDG_CACHE_HOME:-$HOME/.cache}/passband/go/bin:$PATH"
export PATH
exec node bin/run-tests.ts "$@"
