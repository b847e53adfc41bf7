#!/bin/bash
# sqlite3's own import into a table on the side, then in order into the real one.
set -euo pipefail
sqlite3 people.db < schema.sql
sqlite3 people.db <<'SQL'
CREATE TEMP TABLE lines (email, name, joined);
.import --csv --skip 1 --schema temp clean.csv lines
INSERT INTO people (email, name, joined) SELECT email, name, joined FROM temp.lines ORDER BY rowid;
SQL
sqlite3 -separator ' ' people.db \
  'SELECT substr(joined, 1, 4), count(*) FROM people GROUP BY 1 ORDER BY 1' > report.txt
