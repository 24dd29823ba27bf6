"""Looking closer at rows: those that break a rule, and those that differ between two states of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pondage.engine.attempt.executor import Answered
from pondage.engine.process.code import DeployedCode
from pondage.ledger.commit.query_tasks import QueryTask
from pondage.ledger.commit.work import Failure, RuleFailure
from pondage.ledger.data.inputs import Breaks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def failed_rules(failure: Failure, error: BaseException) -> Failure:
    """Answer the same failure with the results of all rules, when rules were broken."""
    from pondage.spark.rules.expectations import ExpectationFailed

    if not isinstance(error, ExpectationFailed):
        return failure
    return RuleFailure(
        **msgspec.structs.asdict(failure),
        results=error.results,
        rejected=None if error.written is None else error.written.plain,
    )


def breaks(session: SparkSession, code: DeployedCode, task: QueryTask, asked: Breaks) -> Answered:
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


def differences(session: SparkSession, task: QueryTask) -> Answered:
    """Answer what differs between two states of each table, as JSON."""
    from pondage.spark.query.diff import compare

    found = [
        compare(
            session,
            each.ripple,
            task.views.get(f"before.{each.ripple}"),
            task.views.get(f"after.{each.ripple}"),
            keys=each.keys,
            limit=task.limit,
        )
        for each in task.compared
    ]
    return Answered(msgspec.json.encode(found).decode())
