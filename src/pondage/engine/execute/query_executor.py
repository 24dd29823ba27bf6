"""Executions of questions: SQL over published tables, rows that break a rule, and rows that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.execute.bench import Bench, KindExecutor
from pondage.engine.process.code import DeployedCode
from pondage.ledger.data.inputs import Breaks
from pondage.ledger.kinds.kind import Answered
from pondage.ledger.kinds.query import QueryTask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class QueryExecutor(KindExecutor):
    """Answers questions about published data."""

    def execute(self, attempt: Attempt, bench: Bench) -> Answered:
        """Answer the question."""
        task = attempt.work.given(QueryTask)
        with bench.opened(attempt) as session:
            if task.breaks is not None:
                return _breaks(session, bench.code, task, task.breaks)
            if task.compared:
                return _differences(session, task)
            return _selected(session, task)


def _selected(session: SparkSession, task: QueryTask) -> Answered:
    from pondage.spark.query.query import run_query

    answer = run_query(session, task.sql, task.views, limit=task.limit, fused=task.fused)
    return Answered(msgspec.json.encode(answer).decode())


def _breaks(session: SparkSession, code: DeployedCode, task: QueryTask, asked: Breaks) -> Answered:
    """Answer some rows that break each of the rules, as JSON."""
    from pondage.spark.query.breaks import breaking_rows

    ripple = None
    if any(rule.kind == "check" for rule in asked.rules):
        ripple = code.pond(asked.entry).ripples[asked.ripple]
    found = breaking_rows(
        session,
        asked.rejected if asked.rejected is not None else task.views["table"],
        asked.rules,
        checks={} if ripple is None else {each.name: each.function for each in ripple.expectations if each.function},
        tables=task.views,
        limit=task.limit,
    )
    return Answered(msgspec.json.encode(found).decode())


def _differences(session: SparkSession, task: QueryTask) -> Answered:
    """Answer what differs between two states of each table, as JSON."""
    from pondage.spark.query.diff import compare

    found = [
        compare(
            session,
            each.ripple,
            task.views.get(f"before.{each.ripple}"),
            task.views.get(f"after.{each.ripple}"),
            keys=each.keys,
            tolerance=each.tolerance,
            limit=task.limit,
        )
        for each in task.compared
    ]
    return Answered(msgspec.json.encode(found).decode())
