"""Sales: a Pond of three Ripples. It is the slowest, so the others settle on its rhythm."""

from __future__ import annotations

import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from pondage import Pond, Retries, in_set, not_null

sales = Pond("sales", version="1.0.0", owner="sales-data", description="What was sold, in euros.",
             retries=Retries(immediately=1))  # fmt: skip
sales.source("orders")
sales.source("products", columns=["product_id", "category", "price"])
sales.source("fx", required=False)  # until it has published, `fx` is None and every rate is 1


@sales.ripple(expect=[not_null("order_id", "product_id")])
def clean(orders: DataFrame) -> DataFrame:
    """Each order once, without the dirty ones. The parameter `orders` is the Source of that name."""
    return orders.where("product_id IS NOT NULL AND quantity > 0").dropDuplicates(["order_id"])


@sales.ripple(expect=[in_set("category", ["books", "games", "garden", "kitchen", "music"])])
def enriched(clean: DataFrame, products: DataFrame, fx: DataFrame | None = None) -> DataFrame:
    """Orders with their category and amount. The parameter `clean` is the Ripple above."""
    time.sleep(1.0)  # a step that is expensive in real life
    priced = clean.join(F.broadcast(products), "product_id")
    if fx is None:
        priced = priced.withColumn("rate", F.lit(1.0))
    else:
        priced = priced.join(F.broadcast(fx), "country", "left").fillna(1.0, ["rate"])
    amount = F.round(F.col("quantity") * F.col("price") * F.col("rate"), 2)
    return priced.select("order_id", "ordered_at", "country", "category", "quantity", amount.alias("amount"))


sales.sql("daily", "sql/daily.sql")  # its table `enriched` is the Ripple above
