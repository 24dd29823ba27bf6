"""Rows that break rules, for a person who asks: a few of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import StructType

from pondage.define.pond.definition import ExpectationDefinition
from pondage.spark.files.read import read_snapshot
from pondage.spark.query.query import answer_of
from pondage.spark.rules.late_rules import twice, without_target
from pondage.spark.rules.rules import Check, Question, question
from pondage.work.answers import BrokenRule
from pondage.work.snapshot import BAD, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def breaking_rows(
    session: SparkSession,
    content: SnapshotContent,
    rules: Sequence[ExpectationDefinition],
    *,
    checks: Mapping[str, Check],
    tables: Mapping[str, SnapshotContent | None],
    limit: int,
) -> list[BrokenRule]:
    """Answer at most `limit` rows of a table, or of those that were set aside from it, for each of the rules."""
    schema = StructType.fromJson(json.loads(content.schema))
    found: list[BrokenRule] = []
    for rule in rules:
        if rule.quarantine and content.bad is not None:
            aside = read_snapshot(session, content.bad)
            rows = aside.where(F.array_contains(F.split(F.col(BAD), "; "), rule.name))
        else:
            rows = _broken(session, content, question(rule, schema, checks, is_whole=False), tables)
        found.append(BrokenRule(rule=rule.name, rows=answer_of(rows, limit)))
    return found


def _broken(
    session: SparkSession,
    content: SnapshotContent,
    asked: Question,
    tables: Mapping[str, SnapshotContent | None],
) -> DataFrame:
    rows = read_snapshot(session, content)
    if asked.broken is not None:
        return rows.where(asked.broken)
    if asked.rule.kind == "unique":
        return twice(rows, asked)
    if asked.rule.kind == "foreign_key":
        return without_target(session, rows, asked, tables)
    return rows.limit(0)
