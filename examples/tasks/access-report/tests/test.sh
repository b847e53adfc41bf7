#!/bin/sh
# Compares the report with the expected one, byte by byte; the log must be untouched.
echo 0 > /logs/verifier/reward.txt
log=$(sha256sum < /work/access.log)
if [ "$log" != "$(cat /tests/access.sha256)" ]; then
  echo 'access.log was changed'
elif ! cmp /tests/expected.csv /work/report.csv; then
  echo 'report.csv is not the expected one'
else
  echo 1 > /logs/verifier/reward.txt
fi
