#!/bin/bash
# datetime refuses the dates that do not exist.
set -euo pipefail
python3 - <<'PYTHON'
from datetime import datetime


def day(text):
    for form in ("%Y-%m-%d", "%d.%m.%Y"):
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    return None


seen = set()
with open("people.csv", encoding="utf-8") as source, open("clean.csv", "w", encoding="utf-8") as target:
    next(source)
    print("email,name,joined", file=target)
    for line in source:
        values = [value.strip() for value in line.split(";")]
        if len(values) != 3:
            continue
        email, name, joined = values[0].lower(), " ".join(values[1].split()), day(values[2])
        if "@" in email and joined and email not in seen:
            seen.add(email)
            print(email, name, joined, sep=",", file=target)
PYTHON
