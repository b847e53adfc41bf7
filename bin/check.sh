#!/bin/sh
# npm run check: the inner loop. Format, lint, types, import directions, dead code, unit and workflow tests, replay.
set -eu
cd "$(dirname "$0")/.."
prettier --check --log-level warn .
tsc -p .
eslint --cache --cache-location node_modules/.cache/eslint/ .
depcruise --config .dependency-cruiser.cjs --output-type err-long activities cli domain embedded instruments k8s model sandbox scaffolds statistics store tasks worker workflows
knip
vitest run --project unit --project workflow
