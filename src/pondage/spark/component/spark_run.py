"""The `run` of a component on a worker: with Spark, which is started when a component first asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.define.job.component_run import ComponentRun
from pondage.work.component import ComponentTask, Member, Stored

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

ROWS_AT_ONCE = 10_000
Rows = Iterator[dict[str, object]]


class SparkRun(ComponentRun):
    """A component's run that can give a session and compile expressions."""

    def __init__(
        self,
        task: ComponentTask,
        member: Member,
        *,
        session: Callable[[], SparkSession],
        root: Path | None = None,
        secrets: Callable[[str], str] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        rows = {
            port: sum(one.content.rows for one in found if isinstance(one, Stored))
            for port, found in member.inputs.items()
            if found and all(isinstance(one, Stored) for one in found)
        }
        super().__init__(
            instance=member.instance, job=task.job, run_id=task.run_id, attempt=task.attempt, globals=task.globals,
            context=task.context, rows=rows, idempotency_key=task.idempotency_key, root=root, secrets=secrets,
            stop=stop,
        )  # fmt: skip
        self._session = session

    @property
    def spark(self) -> SparkSession:
        """Answer the session of this execution; asking for it starts Spark when it does not run yet."""
        return self._session()

    def column(self, frame: DataFrame, text: str) -> Column:
        """Compile an expression over the columns of a frame; `global` and `context` are what this run sees."""
        from pondage.spark.expr.columns import column_of

        return column_of(frame, text, globals=self.globals, context=self.context)

    def condition(self, frame: DataFrame, text: str) -> Column:
        """Compile a condition: true, false, or null in the rows where it cannot be told."""
        from pondage.spark.expr.columns import condition_of

        return condition_of(frame, text, globals=self.globals, context=self.context)

    def each_row(
        self,
        frame: DataFrame,
        function: Callable[[Iterator[dict[str, object]]], Iterator[dict[str, object]]],
        schema: str,
    ) -> DataFrame:
        """Run a generator of rows over the partitions of a frame, beside the JVM, and answer what it yields.

        `schema` is Spark's, such as `id bigint, word string`. The generator sees one partition at a time.
        """

        return each_row(frame, function, schema)


def each_row(frame: DataFrame, function: Callable[[Rows], Rows], schema: str) -> DataFrame:
    """Answer what a generator yields for the rows of each partition; no Spark job is run yet."""
    from pyspark.sql.pandas.types import to_arrow_schema

    wanted = frame.sparkSession.createDataFrame([], schema).schema
    arrow = to_arrow_schema(wanted)

    def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        made = function(row for batch in given for row in batch.to_pylist())
        while rows := list(islice(made, ROWS_AT_ONCE)):
            yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    return frame.mapInArrow(batches, wanted)
