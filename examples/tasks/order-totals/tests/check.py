"""Builds the original database anew, and compares what was asked for with what it gives."""

import sqlite3
import sys

found = sqlite3.connect("file:/work/shop.db?mode=ro", uri=True)
original = sqlite3.connect(":memory:")
with open("/tests/shop.sql", encoding="utf-8") as dump:
    original.executescript(dump.read())

problems = []

for table in ("customers", "orders", "items"):
    query = f"SELECT * FROM {table} ORDER BY rowid"
    if found.execute(query).fetchall() != original.execute(query).fetchall():
        problems.append(f"table {table} was changed")

lines = {}
worth = {}
for order, customer, sold_at in original.execute(
    "SELECT id, customer_id, sold_at FROM orders WHERE status = 'paid'"
):
    value = sum(
        quantity * price
        for quantity, price in original.execute(
            "SELECT quantity, price_cents FROM items WHERE order_id = ?", (order,)
        )
    )
    count, revenue = lines.get(sold_at[:7], (0, 0))
    lines[sold_at[:7]] = (count + 1, revenue + value)
    worth[customer] = worth.get(customer, 0) + value

monthly = found.execute("SELECT month, orders, revenue_cents FROM monthly ORDER BY month").fetchall()
if monthly != [(month, *lines[month]) for month in sorted(lines)]:
    problems.append(f"monthly holds {monthly}")

columns = [(row[1], row[2].upper(), row[5]) for row in found.execute("PRAGMA table_info(monthly)")]
if columns != [("month", "TEXT", 1), ("orders", "INTEGER", 0), ("revenue_cents", "INTEGER", 0)]:
    problems.append(f"monthly has the columns {columns}")

indexed = [row[2] for row in found.execute("PRAGMA index_info(orders_by_customer)")]
owner = found.execute("SELECT tbl_name FROM sqlite_master WHERE name = 'orders_by_customer'").fetchone()
if indexed != ["customer_id"] or owner != ("orders",):
    problems.append("orders_by_customer is not an index on orders(customer_id)")

kind = found.execute("SELECT type FROM sqlite_master WHERE name = 'best_customer'").fetchone()
best = max(worth, key=lambda customer: worth[customer])
name = original.execute("SELECT name FROM customers WHERE id = ?", (best,)).fetchone()[0]
if kind != ("view",) or found.execute("SELECT name, revenue_cents FROM best_customer").fetchall() != [
    (name, worth[best])
]:
    problems.append("best_customer is not the expected view")

print("\n".join(problems) or "all as asked for")
sys.exit(1 if problems else 0)
