#!/bin/bash
# check.py talks to the service that the agent left running.
echo 0 > /logs/verifier/reward.txt
if python3 /tests/check.py; then
  echo 1 > /logs/verifier/reward.txt
fi
