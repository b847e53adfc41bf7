#!/bin/sh
# Splits each line at its quotes, drops what is damaged, adds up, sorts.
set -eu
awk -F'"' '
  NF != 3 { next }
  {
    if (split($2, request, " ") != 3 || $2 != request[1] " " request[2] " " request[3]) next
    if ($3 !~ /^ [0-9][0-9][0-9] ([0-9]+|-)$/) next
    if ($1 !~ /^[^ ]+ - - \[[^]]+\] $/) next
    split($3, rest, " ")
    path = request[2]
    sub(/\?.*/, "", path)
    hits[path]++
    if (rest[1] >= 400) errors[path]++
    else if (rest[2] != "-") bytes[path] += rest[2]
  }
  END { for (path in hits) printf "%s,%d,%d,%d\n", path, hits[path], errors[path], bytes[path] }
' access.log | LC_ALL=C sort -t, -k2,2nr -k1,1 > /tmp/rows
{ echo path,hits,errors,bytes; cat /tmp/rows; } > report.csv
rm /tmp/rows
