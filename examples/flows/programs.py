"""Programs of our own that trees may use, beside those of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage import component

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun


@component(
    "keep_newest",
    vars={"R": "row"},
    inputs={"rows": "Table<{id: bigint, at: timestamp | R}>"},
    outputs={"main": "Table<{id: bigint, at: timestamp | R}>"},
    params={"type": "object", "additionalProperties": False},
    after=(),
    globals=(),
    deterministic=True,
    exposed=True,
)
def keep_newest(rows: DataFrame, *, params: dict[str, object], run: SparkRun) -> DataFrame:
    """Keep the newest row of each id, whatever its other columns are."""
    del params, run
    others = [name for name in rows.columns if name not in ("id", "at")]
    newest = F.max(F.struct("at", *others)).alias("newest")
    return rows.groupBy("id").agg(newest).select("id", "newest.at", *(f"newest.{name}" for name in others))


@component(
    "ask_shop",
    outputs={"main": "Table<{id: bigint, price: double}>"},
    params={"type": "object", "properties": {"shop": {"type": "string"}}, "required": ["shop"]},
    after=(),
    globals=(),
    exposed=True,
)
def ask_shop(*, params: dict[str, object], run: SparkRun) -> DataFrame:
    """Ask a shop for its prices; only one of them answers."""
    if params["shop"] != "corner":
        raise ConnectionError(f"{params['shop']} does not answer")
    return run.spark.createDataFrame([(1, 9.5), (2, 20.0)], "id bigint, price double")
