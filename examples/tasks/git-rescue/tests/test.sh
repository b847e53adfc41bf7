#!/bin/bash
# Each check stands for itself; the reward is 1 where none of them failed.
echo 0 > /logs/verifier/reward.txt
cd /work/notes || exit 1
lost=$(cat /tests/lost-commit)
main=$(cat /tests/main-commit)
failed=0
g() { git -c safe.directory='*' -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }
expect() {
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
  else
    echo "failed: $1: '$2' where '$3' was expected"
    failed=1
  fi
}
expect 'rescued is the lost commit' "$(g rev-parse --verify --quiet refs/heads/rescued)" "$lost"
expect 'the tag is the lost commit' "$(g rev-parse --verify --quiet refs/tags/lost-and-found)" "$lost"
expect 'the lost commit is whole' "$(g show --no-ext-diff --format=%s --name-only "$lost" | tr '\n' ' ')" \
  'Third day, lost  chapter-3.md '
expect 'main is where it was' "$(g rev-parse --verify --quiet refs/heads/main)" "$main"
expect 'main is checked out' "$(g symbolic-ref HEAD)" refs/heads/main
expect 'nothing is changed' "$(g status --porcelain)" ''
expect 'the files are those of main' "$(ls | tr '\n' ' ')" 'chapter-1.md chapter-2.md '
if [ "$failed" = 0 ]; then
  echo 1 > /logs/verifier/reward.txt
fi
