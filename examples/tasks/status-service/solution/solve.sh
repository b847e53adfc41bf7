#!/bin/bash
# A session of its own, so that the service outlives the terminal; done when it answers.
set -euo pipefail
cp "$(dirname "$0")/service.py" /work/service.py
setsid python3 /work/service.py > /work/service.log 2>&1 < /dev/null &
echo $! > /work/service.pid
for _ in $(seq 100); do
  if (exec 3<> /dev/tcp/127.0.0.1/8765) 2> /dev/null; then
    exit 0
  fi
  sleep 0.05
done
echo 'the service does not answer' >&2
exit 1
