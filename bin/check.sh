#!/bin/sh
# npm run check: the inner loop. Format, lint, types, import directions, dead code, unit and workflow tests, replay.
# The tests wait more than they work, so both tiers run beside the static checks.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
tiers=""
finish() {
  status=$?
  for tier in $tiers; do kill "$(cat "$work/$tier.pid")" 2>/dev/null || true; done
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT INT TERM

# Everything that can be kept from one run to the next is: all of it is in node_modules/.cache, which npm ci empties.
cache=$PWD/node_modules/.cache
export NODE_COMPILE_CACHE="$cache/node"

for tier in workflow unit; do
  vitest run --project "$tier" >"$work/$tier.log" 2>&1 &
  echo $! >"$work/$tier.pid"
  tiers="$tiers $tier"
done
prettier --check --cache --cache-strategy content --log-level warn .
tsc -b
eslint --cache --cache-strategy content --cache-location "$cache/eslint/" .
depcruise --cache "$cache/depcruise" --cache-strategy content .
knip --cache --cache-location "$cache/knip"
failed=0
for tier in unit workflow; do
  if wait "$(cat "$work/$tier.pid")"; then
    echo "$tier:"
    tail -n 6 "$work/$tier.log"
  else
    cat "$work/$tier.log"
    failed=1
  fi
done
tiers=""
exit "$failed"
