"""Checking expectations without a Spark job of their own, where that can be.

How each rule is answered is decided from the schema before the write: from the footers where they are sure to know,
else by one aggregate that is observed in the same pass as the write. Only `unique` and `foreign_key` read the written
files again. `unknown` is never taken for `kept`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import StructType

from pondage.define.pond.definition import ExpectationDefinition
from pondage.errors import PondageError
from pondage.spark.files.layout import Layout
from pondage.spark.files.write import WrittenFiles, write_files
from pondage.spark.rules import quarantine
from pondage.spark.rules.late_rules import broken_rows
from pondage.spark.rules.rule_results import aged, beside_the_last, counted, footer_result, set_aside
from pondage.spark.rules.rules import BadExpectation, Check, Question, question
from pondage.work.snapshot import ExpectationResult, SetAside, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BadExpectation", "ExpectationFailed", "ExpectationPlan", "Facts", "require_kept"]

_METRICS_TIMEOUT_S = 120.0


class ExpectationFailed(PondageError):
    """Rows break a rule whose severity is `fail`. `results` has every rule of the Ripple, kept and broken.

    `written` are the rows that were judged.
    """

    code = "EXPECTATION"

    def __init__(
        self, message: str, results: tuple[ExpectationResult, ...], written: SnapshotContent | None = None
    ) -> None:
        super().__init__(message, hint="nothing was published; the last good data stays")
        self.results = results
        self.written = written


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What rules need to know beside the rows.

    `volumes` are the rows of the last snapshots, newest first; `tables` those that foreign keys point to, by their
    input's name (None for one that has never published). `rest` answers what a table has beside the rows that were
    written, where they are a part of it.
    """

    freshness_us: int = 0
    volumes: tuple[int, ...] = ()
    tables: Mapping[str, SnapshotContent | None] = {}
    rest: Callable[[ExpectationDefinition, SnapshotContent], SnapshotContent | None] | None = None


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that were written and judged: the files of the table, every result, and what is not in the table."""

    files: WrittenFiles
    results: tuple[ExpectationResult, ...]
    aside: SetAside | None = None


class ExpectationPlan:
    """The decided questions of one Ripple; used once, for one write."""

    def __init__(
        self, questions: tuple[Question, ...], facts: Facts, only: Column | None, layout: Layout | None = None
    ) -> None:
        self._layout = layout
        self._questions = questions
        self._facts = facts
        self._only = only
        self._observation: Observation | None = None

    @classmethod
    def decide(
        cls,
        schema: StructType,
        rules: tuple[ExpectationDefinition, ...],
        checks: Mapping[str, Check],
        facts: Facts | None = None,
        *,
        only: Column | None = None,
        layout: Layout | None = None,
    ) -> ExpectationPlan:
        """Decide how each rule is answered; raises `BadExpectation` for one that cannot be.

        With `only` the rules judge those rows alone, but for `rows` and `volume`, which count all that are written.
        `layout` says into which partitions they are written.
        """
        if any(rule.quarantine for rule in rules):
            quarantine.require_free(schema)
        asked = [question(rule, schema, checks, is_whole=only is None) for rule in rules]
        return cls(tuple(_limited(each, only) for each in asked), facts or Facts(), only, layout)

    def write(self, session: SparkSession, frame: DataFrame, destination: str, *, where: str) -> Checked:
        """Write the rows and judge them; raises `ExpectationFailed` when a rule of severity `fail` is broken.

        The rows are computed once. Those that are set aside are taken out of the written files, so only a Run that
        has some pays for it: one more read, and one more write of each part.
        """
        files = write_files(self._observed(frame), destination, layout=self._layout)
        metrics = {} if self._observation is None else _metrics(self._observation)
        found: dict[str, ExpectationResult] = {}
        for number, each in enumerate(self._questions):
            if each.rule.quarantine:
                broken = self._broken(session, each, files, metrics.get(_name(number)))
                found[each.rule.name] = set_aside(each.rule, broken, files.rows)
        aside: SetAside | None = None
        if any(each.is_set_aside for each in found.values()) and all(each.passed for each in found.values()):
            taken = [each for each in self._questions if each.rule.quarantine]
            files, aside = quarantine.split(session, files, taken, self._facts.tables, self._only, layout=self._layout)
        for number, each in enumerate(self._questions):
            if not each.rule.quarantine:
                found[each.rule.name] = self._result(session, each, files, metrics.get(_name(number)))
        results = tuple(found[each.rule.name] for each in self._questions)
        require_kept(results, where=where, written=files.as_content())
        return Checked(files=files, results=results, aside=aside)

    def _observed(self, frame: DataFrame) -> DataFrame:
        """Answer the DataFrame to write: the same rows, with one aggregate on the way for each rule that needs it."""
        aggregates = [
            self._aggregate(each).alias(_name(number))
            for number, each in enumerate(self._questions)
            if each.how in ("count", "newest")
        ]
        if not aggregates:
            return frame
        self._observation = Observation()
        return frame.observe(self._observation, *aggregates)

    def _aggregate(self, asked: Question) -> Column:
        """Answer what is counted; a row that another rule sets aside is not in the table, and breaks nothing."""
        aside = [each.broken for each in self._questions if each.rule.quarantine and each.broken is not None]
        is_there = ~F.coalesce(reduce(or_, aside), F.lit(False)) if aside and not asked.rule.quarantine else None
        if asked.how == "newest":
            moment = asked.asked if is_there is None else F.when(is_there, asked.asked)
            return F.max(moment if self._only is None else F.when(self._only, moment))  # type: ignore[arg-type]
        assert asked.broken is not None, "what is counted are rows that break a rule"
        return F.count(F.when(asked.broken if is_there is None else asked.broken & is_there, F.lit(1)))

    def _broken(self, session: SparkSession, asked: Question, files: WrittenFiles, metric: int | None) -> int:
        if asked.how == "late":
            content = files.as_content()
            rest = None if self._facts.rest is None else self._facts.rest(asked.rule, content)
            return broken_rows(session, asked, content, self._facts.tables, self._only, rest=rest)
        if asked.how == "footer":
            nulls = footer_result(asked, files, self._facts.freshness_us).broken
            if nulls is None:
                raise BadExpectation(
                    f"expectation {asked.rule.name}: the files do not say how many {asked.column} are null",
                    hint="drop quarantine=True from this rule",
                )
            return nulls
        assert metric is not None, "the aggregate was observed"
        return metric

    def _result(
        self, session: SparkSession, asked: Question, files: WrittenFiles, metric: int | None
    ) -> ExpectationResult:
        match asked.how:
            case "footer":
                return footer_result(asked, files, self._facts.freshness_us)
            case "newest":
                return aged(asked.rule, metric, self._facts.freshness_us)
            case "past":
                return beside_the_last(asked.rule, files.rows, self._facts.volumes)
        return counted(asked.rule, self._broken(session, asked, files, metric), files.rows)


def require_kept(results: tuple[ExpectationResult, ...], *, where: str, written: SnapshotContent | None = None) -> None:
    """Raise `ExpectationFailed` when a rule of severity `fail` is broken; the message names each that is."""
    broken = [result for result in results if not result.passed and result.severity == "fail"]
    if broken:
        listed = "; ".join(f"{result.name}: {result.observed}" for result in broken)
        what = "expectation" if len(broken) == 1 else f"{len(broken)} expectations"
        raise ExpectationFailed(f"{where} breaks {what} {listed}", results, written)


def _name(number: int) -> str:
    return f"rule_{number}"


def _limited(asked: Question, only: Column | None) -> Question:
    if only is None or asked.broken is None:
        return asked
    return msgspec.structs.replace(asked, broken=only & asked.broken)


def _metrics(observation: Observation) -> dict[str, int]:
    """Answer the observed numbers. Spark hands them over on a thread of its own, shortly after the write."""
    found: dict[str, int] = {}
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            found.update(observation.get)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            problems.append(error)

    # `get` waits without a limit, and Spark drops events when it is flooded: a rule must not hang an attempt.
    thread = threading.Thread(target=ask, name="pondage-observation", daemon=True)
    thread.start()
    thread.join(_METRICS_TIMEOUT_S)
    if problems:
        raise problems[0]
    if thread.is_alive():
        raise PondageError("Spark did not report what it observed during the write", code="SPARK_LOST")
    return found
