#!/bin/sh
# npm run check: the inner loop. Format, lint, types, import directions, dead code, unit and workflow tests, replay.
# The workflow tests wait on their server more than they work, so they run beside the rest.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
workflows=
finish() {
  status=$?
  [ -z "$workflows" ] || kill "$workflows" 2>/dev/null || true
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT INT TERM

vitest run --project workflow >"$work/workflow.log" 2>&1 &
workflows=$!
prettier --check --cache --log-level warn .
tsc -p . --incremental --tsBuildInfoFile node_modules/.cache/tsc.json
eslint --cache --cache-location node_modules/.cache/eslint/ .
depcruise --config .dependency-cruiser.cjs --output-type err-long \
  activities cli domain embedded instruments model sandbox scaffolds statistics store tasks worker workflows
knip
vitest run --project unit
if wait "$workflows"; then
  tail -n 6 "$work/workflow.log"
  workflows=
else
  workflows=
  cat "$work/workflow.log"
  exit 1
fi
