-- One row for each day, country and category.
SELECT
    to_date(ordered_at) AS day,
    country,
    category,
    count(*)            AS orders,
    sum(quantity)       AS pieces,
    round(sum(amount), 2) AS amount
FROM enriched
GROUP BY ALL
