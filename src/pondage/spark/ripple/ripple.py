"""Running one Ripple: from its inputs to a checked snapshot that nobody can see yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage.define.pond.definition import RippleDefinition
from pondage.define.pond.run import Run, Unchanged
from pondage.errors import DefinitionError, PondageError
from pondage.spark.files.changes import CHANGE, DELETED, marked_whole
from pondage.spark.files.read import read_snapshot
from pondage.spark.incremental.catalyst import marked
from pondage.spark.incremental.watch import CalledJobs, watched
from pondage.spark.query.sql_names import ParsedSql, bound_names, bound_sql
from pondage.spark.ripple.automatic import Automatic, write_automatic
from pondage.spark.ripple.fuse import FusedPlans
from pondage.spark.ripple.merge import Merge, write_merged
from pondage.spark.ripple.partition import Cut, write_partitions
from pondage.spark.rules.aside import with_rows_aside
from pondage.spark.rules.checked_write import write_checked
from pondage.spark.rules.expectations import Facts
from pondage.spark.session.connect import is_connect
from pondage.spark.session.errors import explained
from pondage.work.snapshot import Batch, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RippleOutcome(Enum):
    """How a Ripple may end other than with a snapshot."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = RippleOutcome.UNCHANGED
"""The Ripple called `run.unchanged()`: its last snapshot is still right, and nothing was written."""


class WrongReturn(PondageError):
    """A Ripple's function returned something else than a DataFrame."""

    code = "WRONG_RETURN"


class RippleWork(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one attempt of a Ripple needs.

    `inputs` has each parameter (in SQL: each table name) of the definition; None is an optional Source that has never
    published. `destination` is a directory that belongs to this execution and does not exist yet. `contract` is the
    schema that the major version promised so far, None before its first snapshot. `place`: where the Pond is declared.
    `on_frame` is given the author's DataFrame before it is written.
    `merge` says what the changed rows that it returns are merged into; None: its rows are a table or a batch.
    `cut` says which partitions they replace; None: the table has none.
    `auto` says what the table is kept up to date from; None: what it returns is written as it is.
    `fused` has the functions of the Ripples that are fused into this one, by name (None for one in SQL).
    `batch`: its rows are added to a table, and this is known of them.
    `path` is how the inputs of a fused Ripple are called beside those of the others; empty for one that is not.
    `volumes` are the rows of its last snapshots, newest first, as far as a rule asks for them.
    """

    pond: str
    ripple: RippleDefinition
    function: Callable[..., object] | None
    inputs: Mapping[str, SnapshotContent | None]
    run: Run
    destination: str
    checks: Mapping[str, Callable[[], Column]] = {}
    contract: str | None = None
    place: str | None = None
    on_frame: Callable[[DataFrame], None] | None = None
    merge: Merge | None = None
    cut: Cut | None = None
    auto: Automatic | None = None
    fused: Mapping[str, Callable[..., object] | None] = {}
    volumes: tuple[int, ...] = ()
    batch: Batch | None = None
    path: str = ""

    @property
    def where(self) -> str:
        """Answer the Ripple's full name."""
        return f"{self.pond}.{self.ripple.name}"


def run_ripple(session: SparkSession, work: RippleWork) -> SnapshotContent | Literal[RippleOutcome.UNCHANGED]:
    """Run the Ripple in this session and answer its snapshot, written and checked but published by nobody yet.

    It costs exactly the Spark jobs of the one write, and those of rules that must read it again. Raises `PondageError`
    of these codes: RIPPLE_FAILED (the author's code or plan), WRONG_RETURN, BAD_OUTPUT, NO_SUCH_COLUMN, CONTRACT,
    EXPECTATION, BAD_EXPECTATION, CANCELLED, SPARK_LOST (the JVM is gone). Its `place` is the author's file and line
    where that is known; `trace`, where it has one, is for those who ask.
    """
    plans = FusedPlans(session, work, read=lambda each: _tables(session, each), call=call_ripple)
    try:
        try:
            with _watched(session, work) as called:
                frame = plans.result()
        except Unchanged:
            return UNCHANGED
        if work.on_frame is not None:
            work.on_frame(frame)
        with plans.evaluated_once(frame) as doubled:
            if doubled:
                called.why_full = called.why_full or f"{doubled[0]} is fused into it and read more than once"
            content = _snapshot(session, frame, work, called)
        return msgspec.structs.replace(
            with_rows_aside(content, work.run.rows_aside),
            lists=work.run.lists,
            left=work.run.left,
            read_freshness=work.run.read_freshness or plans.read_freshness,
            positions=dict(work.run.positions),
        )
    except (Exception, SystemExit) as error:
        if plans.is_told(error):
            raise
        # An author's `sys.exit()` ends his Ripple, not the worker's thread.
        shown = plans.blamed(explained(error, where=work.where, fallback_place=place_of(work)))
        if shown is error:
            raise
        raise shown from error


def _watched(session: SparkSession, work: RippleWork) -> AbstractContextManager[CalledJobs]:
    """Answer what watches the author's call, where it matters what he does in it."""
    return nullcontext(CalledJobs()) if work.auto is None or is_connect(session) else watched(session)


def _tables(session: SparkSession, work: RippleWork) -> dict[str, DataFrame | None]:
    """Answer what the Ripple itself reads, by its parameters; inputs of fused ones are theirs to read."""
    reads = {read.parameter: read for read in work.ripple.reads}
    found: dict[str, DataFrame | None] = {}
    for parameter, content in work.inputs.items():
        if "/" not in parameter and not reads[parameter].by_changes and not reads[parameter].by_check:
            frame = None if content is None else read_snapshot(session, content, columns=reads[parameter].columns)
            if frame is not None and work.auto is not None:
                frame = marked(frame, work.path + parameter)
            found[parameter] = frame
    return found


def call_ripple(session: SparkSession, work: RippleWork, frames: Mapping[str, DataFrame | None]) -> DataFrame:
    """Call the author's function, or bind his SQL, with these tables instead of the work's; raises as they do."""
    if work.ripple.kind == "sql":
        return _sql_result(session, work, frames)
    if work.ripple.kind == "job":
        raise PondageError(
            f"the body of {work.where} is a job, which cannot be tried on its own",
            code="RIPPLE_IS_A_JOB",
            hint="deploy it and run the Pond; `pondage job trace FILE` plays the job without data",
        )
    if work.function is None:
        raise PondageError(f"{work.where} has no function", code="BAD_WORK")
    injected: dict[str, object] = {}
    if "spark" in work.ripple.injects:
        injected["spark"] = session
    if "run" in work.ripple.injects:
        injected["run"] = work.run
        work.run.following(_by_table(work, frames), everything=F.lit(True))
    asked = {read.parameter for read in work.ripple.reads if read.by_changes}
    returned = work.function(**{name: frame for name, frame in frames.items() if name not in asked}, **injected)
    if not isinstance(returned, DataFrame):
        raise WrongReturn(
            f"{work.where} returned {_described(returned)}, not a DataFrame",
            hint="return the DataFrame to store" + (": is a `return` missing?" if returned is None else ""),
            place=place_of(work),
        )
    return returned


def _by_table(work: RippleWork, frames: Mapping[str, DataFrame | None]) -> dict[str, DataFrame]:
    """Answer the given tables under every name by which `run.changes` may ask for them."""
    found: dict[str, DataFrame] = {}
    for read in work.ripple.reads:
        frame = frames.get(read.parameter)
        if frame is not None:
            content = work.inputs.get(read.parameter)
            if read.pond is None and (work.merge is not None or work.auto is not None):
                frame = frame.withColumn(*((DELETED, F.lit(False)) if work.auto is None else (CHANGE, F.lit(1))))
            elif content is not None:
                frame = marked_whole(frame, content)
            found.update(dict.fromkeys((read.table(work.pond), read.parameter, read.pond or read.ripple), frame))
    return found


def _sql_result(session: SparkSession, work: RippleWork, frames: Mapping[str, DataFrame | None]) -> DataFrame:
    present = {name: frame for name, frame in frames.items() if frame is not None}
    missing = sorted(frames.keys() - present.keys())
    if missing:
        raise PondageError(
            f"{work.where} reads {missing[0]}, which has never published",
            code="NEVER_PUBLISHED",
            hint="an SQL Ripple cannot do without one of its tables: make the Source required",
        )
    if is_connect(session):
        bound_names(present)
        return session.sql(work.ripple.sql or "")
    text, _ = bound_sql(ParsedSql(session, work.ripple.sql or ""), present)
    return session.sql(text)


def _snapshot(session: SparkSession, frame: DataFrame, work: RippleWork, called: CalledJobs) -> SnapshotContent:
    facts = _facts(work)
    if work.run.exchanged is not None and work.cut is None:
        raise DefinitionError(
            f'{work.where}: sources.files(…, replaced="replace") exchanges rows: mode="partition" alone can do that',
            hint='declare @pond(mode="partition", by=["at:day"]), or say replaced="append"',
            code="BAD_OPTION",
            place=place_of(work),
        )
    if work.auto is not None:
        return write_automatic(
            session, frame, work.auto, why_full=called.why_full or by_itself(work.run),
            destination=work.destination, contract=work.contract, rules=work.ripple.expectations, checks=work.checks,
            facts=facts, where=work.where,
        )  # fmt: skip
    if work.merge is not None:
        return write_merged(
            session, frame, work.merge, destination=work.destination, contract=work.contract,
            rules=work.ripple.expectations, checks=work.checks, facts=facts, where=work.where,
        )  # fmt: skip
    if work.cut is not None:
        cut = msgspec.structs.replace(work.cut, exchanged=work.run.exchanged)
        return write_partitions(
            session, frame, cut, destination=work.destination, contract=work.contract,
            rules=work.ripple.expectations, checks=work.checks, facts=facts, where=work.where,
        )  # fmt: skip
    return write_checked(
        session, frame, work.destination, contract=work.contract, rules=work.ripple.expectations, checks=work.checks,
        facts=facts, where=work.where, batch=work.batch,
    )  # fmt: skip


def by_itself(run: Run) -> str:
    """Answer what a function asked for that is no table: its result is made of more than the plan shows."""
    if run.rows_aside or run.positions or run.lists or run.left:
        return "the function reads something outside"
    return "the function asks for a freshness" if run.read_freshness else ""


def _facts(work: RippleWork) -> Facts:
    rules = work.ripple.expectations
    return Facts(
        # To ask for the freshness is recorded: only a rule that judges by it does.
        freshness_us=work.run.freshness_us if any(rule.kind == "fresh" for rule in rules) else 0,
        volumes=work.volumes,
        tables={rule.input: work.inputs.get(rule.input) for rule in rules if rule.kind == "foreign_key"},
    )


def place_of(work: RippleWork) -> str | None:
    """Answer where the Ripple's code begins; of an SQL Ripple only where its Pond is declared."""
    code = getattr(work.function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else work.place


def _described(value: object) -> str:
    if value is None:
        return "None"
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]} "
    article = "an" if not module and kind.__name__[0].lower() in "aeiou" else "a"
    return f"{article} {module}{kind.__name__}"
