#!/bin/bash
# The reward is what check.py says; an exception in it is a 0.
echo 0 > /logs/verifier/reward.txt
if python3 /tests/check.py; then
  echo 1 > /logs/verifier/reward.txt
fi
