-- Two reports; the second one reads a temporary view.
CREATE MATERIALIZED VIEW sales_by_country
COMMENT 'Money for each country'
AS WITH named AS (
  SELECT c.country, o.amount FROM orders o JOIN shop.customers c ON o.customer_id = c.id
)
SELECT country, sum(amount) AS amount FROM named GROUP BY country;

CREATE TEMPORARY VIEW big_customers AS SELECT DISTINCT customer_id FROM big_orders;

CREATE MATERIALIZED VIEW best_customers AS
SELECT c.name FROM customers c WHERE c.id IN (SELECT customer_id FROM big_customers);
