"""The `run` of a component on a worker: with Spark, which is started when a component first asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pondage.define.job.component_run import ComponentRun
from pondage.work.component import ComponentTask, Member, Stored

Rows = Iterator[dict[str, object]]

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


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
        from pondage.spark.component.row_generator import each_row

        return each_row(frame, function, schema)
