#!/bin/bash
# The cleaned list, byte by byte; the source must be untouched.
echo 0 > /logs/verifier/reward.txt
if cmp /tests/expected.csv /work/clean.csv && cmp /tests/people.csv /work/people.csv; then
  echo 1 > /logs/verifier/reward.txt
fi
