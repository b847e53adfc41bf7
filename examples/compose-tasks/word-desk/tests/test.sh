#!/bin/bash
# Both services run here anew: they are asked what the agent was to ask them.
echo 0 > /logs/verifier/reward.txt

exec 3<>/dev/tcp/desk/8080 || exit 1
printf 'GET /words.txt HTTP/1.0\r\n\r\n' >&3
sed '1,/^\r$/d' <&3 > /tmp/words.txt
[ -s /tmp/words.txt ] && cmp /tmp/words.txt /work/words.txt || exit 1

rm -f /box/answer
head -n 1 /tmp/words.txt > /box/ask
for _ in $(seq 50); do
  [ -s /box/answer ] && break
  sleep 0.1
done
[ -s /box/answer ] && cmp /box/answer /work/answer.txt || exit 1

echo 1 > /logs/verifier/reward.txt
