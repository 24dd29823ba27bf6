"""Generators of rows, run by Spark's Python workers on Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

BATCH = 10_000
Rows = Iterator[dict[str, object]]


def each_row(frame: DataFrame, function: Callable[[Rows], Rows], schema: str) -> DataFrame:
    """Answer what a generator yields for the rows of each partition; no Spark job is run yet."""
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = frame.sparkSession.createDataFrame([], schema).schema
    arrow = to_arrow_schema(wanted)

    def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        made = function(row for batch in given for row in batch.to_pylist())
        while rows := list(islice(made, BATCH)):
            yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    return frame.mapInArrow(batches, wanted)
