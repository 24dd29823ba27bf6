"""Rules that need a shuffle or another table: they read the files that were just written, once for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage.errors import PondageError
from pondage.spark.files.read import read_snapshot
from pondage.spark.rules.rules import Question, found
from pondage.spark.types.names import quoted
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEY = "_pondage_key"
_COUNT = "_pondage_count"
_OWN = "_pondage_own"


def broken_rows(
    session: SparkSession,
    asked: Question,
    content: SnapshotContent,
    tables: Mapping[str, SnapshotContent | None],
    only: Column | None,
    *,
    rest: SnapshotContent | None = None,
) -> int:
    """Answer how many rows of the written files break a `unique` or a `foreign_key`; no rows cost nothing.

    `rest` are rows that the table had before: a `unique` is broken with them, too, but not by them alone.
    """
    if content.rows == 0 or (asked.rule.kind == "unique" and content.rows == 1 and rest is None):
        return 0
    rows = read_snapshot(session, content)
    rows = rows if only is None else rows.where(only)
    if asked.rule.kind == "unique":
        others = None if rest is None else read_snapshot(session, rest, schema=content.schema)
        counted = _doubled(rows, asked, others).agg(F.sum(_COUNT)).head()
        return 0 if counted is None or counted[0] is None else int(counted[0])
    return without_target(session, rows, asked, tables).count()


def without_target(
    session: SparkSession, rows: DataFrame, asked: Question, tables: Mapping[str, SnapshotContent | None]
) -> DataFrame:
    """Answer the rows whose value is not in the column that a foreign key points to."""
    assert asked.asked is not None
    keys = keys_of(session, asked, tables)
    given = rows.where(asked.asked.isNotNull())
    return given.join(keys, asked.asked == F.col(_KEY), "left_anti")


def twice(rows: DataFrame, asked: Question) -> DataFrame:
    """Answer the rows that have a key in common with another one."""
    doubled = _doubled(rows, asked)
    is_same = [column == F.col(_key(number)) for number, column in enumerate(_columns(asked, rows))]
    return rows.join(doubled, is_same, "left_semi")


def marked(
    session: SparkSession,
    rows: DataFrame,
    asked: Question,
    tables: Mapping[str, SnapshotContent | None],
    mark: str,
) -> DataFrame:
    """Answer the same rows with a column that is true where a foreign key points to nothing."""
    assert asked.asked is not None
    keys = keys_of(session, asked, tables)
    is_broken = asked.asked.isNotNull() & F.col(_KEY).isNull()
    return rows.join(keys, asked.asked == F.col(_KEY), "left").withColumn(mark, is_broken).drop(_KEY)


def keys_of(session: SparkSession, asked: Question, tables: Mapping[str, SnapshotContent | None]) -> DataFrame:
    """Answer the values that a foreign key may have, each once; a table that has never published has none."""
    rule = asked.rule
    if rule.input not in tables:
        raise PondageError(f"expectation {rule.name} was not given the table {rule.refers}", code="BAD_WORK")
    content = tables[rule.input]
    if content is None:
        return session.range(0).select(F.col("id").cast("string").alias(_KEY))
    keys = read_snapshot(session, content, columns=[rule.key])
    return keys.select(F.col(quoted(rule.key)).alias(_KEY)).dropna().distinct()


def _doubled(rows: DataFrame, asked: Question, others: DataFrame | None = None) -> DataFrame:
    """Answer the keys of a `unique` that several rows have, and how many; a field inside a struct needs a name here.

    Keys that only `others` have do not count.
    """
    keys = [column.alias(_key(number)) for number, column in enumerate(_columns(asked, rows))]
    found = rows.select(*keys, F.lit(1).alias(_OWN))
    found = found if others is None else found.union(others.select(*keys, F.lit(0).alias(_OWN)))
    groups = found.dropna().groupBy(*(_key(number) for number in range(len(keys))))
    counted = groups.agg(F.count(F.lit(1)).alias(_COUNT), F.sum(_OWN).alias(_OWN))
    return counted.where((F.col(_COUNT) > 1) & (F.col(_OWN) > 0)).drop(_OWN)


def _key(number: int) -> str:
    return f"{_KEY}_{number}"


def _columns(asked: Question, rows: DataFrame) -> list[Column]:
    return [found(asked.rule, rows.schema, each)[1] for each in asked.rule.columns]
