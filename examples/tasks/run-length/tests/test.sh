#!/bin/bash
# The binary as it was built, and one built from the source here, must both pass check.py.
echo 0 > /logs/verifier/reward.txt
built=$(mktemp -d)
if tcc -o "$built/rle" /work/rle.c && python3 /tests/check.py /work/rle && python3 /tests/check.py "$built/rle"; then
  echo 1 > /logs/verifier/reward.txt
fi
