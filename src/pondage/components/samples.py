"""Small programs to begin with: greet, source, unordered_cartesian_product. With void_sink they are a first tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pondage.components.declarations import TEXT, deterministic, parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

MOST_ROWS = 1_000_000


@deterministic(
    "source",
    outputs={"main": "Table<{id: bigint not null}>"},
    params=parameters(rows={"type": "integer", "minimum": 0, "maximum": MOST_ROWS}),
)
def source(*, params: Mapping[str, Any], run: SparkRun) -> DataFrame:
    """Give as many `rows` (10) as one wants, with an `id` from 0 on."""
    return run.spark.range(0, params.get("rows", 10), 1, 1)


@deterministic(
    "greet",
    vars={"R": "row"},
    inputs={"input": "Table<{name: string | R}>"},
    outputs={"main": "Table<{greeting: string}>"},
    params=parameters(greeting=TEXT),
)
def greet(input: DataFrame, *, params: Mapping[str, Any], run: SparkRun) -> DataFrame:  # noqa: A002 - the port
    """Greet everybody by their `name`."""
    del run
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    words = F.lit(params.get("greeting", "Hello"))
    return input.select(F.concat(words, F.lit(", "), F.col("name"), F.lit("!")).alias("greeting"))


@deterministic(
    "unordered_cartesian_product",
    vars={"L": "row", "R": "row"},
    inputs={"left": "Table<L>", "right": "Table<R>"},
    outputs={"main": "Table<{left: L, right: R}>"},
    params=parameters(),
)
def unordered_cartesian_product(
    left: DataFrame, right: DataFrame, *, params: Mapping[str, Any], run: SparkRun
) -> DataFrame:
    """Pair every row of `left` with every row of `right`, in no order."""
    del params, run
    from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

    from pondage.spark.component.columns import require_columns

    one = left.select(F.struct(*require_columns(left, left.columns)).alias("left"))
    return one.crossJoin(right.select(F.struct(*require_columns(right, right.columns)).alias("right")))
