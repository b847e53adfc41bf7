#!/bin/bash
# A left join, so that an order without items counts.
set -euo pipefail
sqlite3 shop.db <<'SQL'
CREATE TABLE monthly (month TEXT PRIMARY KEY, orders INTEGER, revenue_cents INTEGER);
INSERT INTO monthly
  SELECT substr(o.sold_at, 1, 7), count(DISTINCT o.id), coalesce(sum(i.quantity * i.price_cents), 0)
  FROM orders o LEFT JOIN items i ON i.order_id = o.id
  WHERE o.status = 'paid' GROUP BY 1;
CREATE INDEX orders_by_customer ON orders(customer_id);
CREATE VIEW best_customer AS
  SELECT c.name AS name, sum(i.quantity * i.price_cents) AS revenue_cents
  FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id
  WHERE o.status = 'paid' GROUP BY c.id ORDER BY revenue_cents DESC LIMIT 1;
SQL
