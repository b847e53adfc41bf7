"""Compares the loaded table, its schema and the report with what step 1's list gives."""

import sqlite3
import sys

PEOPLE = [
    (1, "ada@example.com", "Ada Lovelace", "2023-04-01"),
    (2, "grace@example.com", "Grace Hopper", "2023-05-01"),
    (3, "edsger@example.com", "Edsger Dijkstra", "2022-11-30"),
    (4, "barbara@example.com", "Barbara Liskov", "2021-12-31"),
    (5, "margaret@example.com", "Margaret Hamilton", "2020-02-29"),
]
database = sqlite3.connect("file:/work/people.db?mode=ro", uri=True)
problems = []
if database.execute("SELECT id, email, name, joined FROM people ORDER BY id").fetchall() != PEOPLE:
    problems.append("people does not hold the cleaned list")
schema = database.execute("SELECT sql FROM sqlite_master WHERE name = 'people'").fetchone()[0]
with open("/tests/schema.sql", encoding="utf-8") as file:
    if schema.split() != file.read().rstrip().rstrip(";").split():
        problems.append("people has another schema")
with open("/work/report.txt", encoding="utf-8") as file:
    if file.read() != "2020 1\n2021 1\n2022 1\n2023 2\n":
        problems.append("report.txt is not the expected one")
print("\n".join(problems) or "all as asked for")
sys.exit(1 if problems else 0)
