#!/bin/sh
# npm run demo: installs what is missing, then grades examples/tasks against three known-rate models.
set -eu
cd "$(dirname "$0")/.."
sh bin/setup.sh demo
exec node cli/main.ts demo "$@"
