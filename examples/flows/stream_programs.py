"""Programs that stream, and one that is written in another language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage import component, external_program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pondage.spark.component.spark_run import SparkRun

SALE = "{id: bigint, region: string, amount: double}"
BATCH = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}, "required": ["size"]}


@component(
    "in_batches",
    inputs={"rows": f"Stream<{SALE}>"},
    outputs={"batches": f"Stream<{SALE}>"},
    params=BATCH,
    mode="stream",
    after=(),
    globals=(),
    deterministic=True,
    exposed=True,
)
def in_batches(rows: DataFrame | None, *, params: dict[str, int], run: SparkRun) -> Iterator[DataFrame]:
    """Cut rows into segments of some ids each."""
    del run
    if rows is not None:
        last = rows.agg(F.max("id")).first()[0] or 0
        for start in range(1, last + 1, params["size"]):
            yield rows.where(F.col("id").between(start, start + params["size"] - 1))


@component(
    "running_totals",
    inputs={"sales": f"Stream<{SALE}>"},
    outputs={"totals": "Stream<{region: string, total: double, batches: bigint}>"},
    mode="stream",
    after=(),
    globals=(),
    deterministic=True,
    exposed=True,
)
def running_totals(sales: DataFrame | None, *, params: dict[str, object], run: SparkRun) -> DataFrame | None:
    """Say after each segment what every region has sold so far; the state is a few numbers."""
    del params
    if sales is None:
        return None
    totals: dict[str, float] = dict(run.state.get("totals", {}))  # type: ignore[call-overload]
    for region, amount in sales.groupBy("region").agg(F.sum("amount")).collect():
        totals[region] = totals.get(region, 0.0) + amount
    run.state["totals"] = totals
    rows = [(region, total, run.segment + 1) for region, total in sorted(totals.items())]
    return run.spark.createDataFrame(rows, "region string, total double, batches bigint")


count_words = external_program(
    "count_words",
    command=["perl", "programs/count_words.pl"],
    doc="Count lines and words of a text, and say it louder. Written in Perl.",
    inputs={"text": "Bytes<text/plain>"},
    outputs={"counts": "Value<{lines: bigint, words: bigint}>", "loud": "Bytes<text/plain>"},
    params={"type": "object", "additionalProperties": False},
    deterministic=True,
    exposed=True,
)
