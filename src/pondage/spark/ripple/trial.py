"""Trying Ripples without writing anything: on a few rows of their inputs, or on empty ones for their schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.contract import check_contract
from pondage.define.pond.run import Unchanged
from pondage.errors import PondageError
from pondage.spark.files.changes import DELETED
from pondage.spark.files.layout import Layout
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.write import check_output
from pondage.spark.incremental.catalyst import marked
from pondage.spark.incremental.outlook import outlook
from pondage.spark.incremental.watch import CalledJobs, watched
from pondage.spark.query.query import answer_of
from pondage.spark.ripple.automatic import against
from pondage.spark.ripple.ripple import RippleWork, by_itself, call_ripple, place_of
from pondage.spark.session.connect import is_connect
from pondage.spark.session.errors import explained
from pondage.work.answers import InferredSchema, SampleTable
from pondage.work.snapshot import Increment, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run_sample(session: SparkSession, works: Sequence[RippleWork], *, rows: int, limit: int) -> list[SampleTable]:
    """Run Ripples one after the other, each on at most `rows` rows of every table, and answer `limit` rows of each.

    A Ripple reads the rows of the ones before it; each is computed once. Nothing is written. Raises as `run_ripple`
    does, but for expectations, which say nothing about a few rows, and for the contract, which is only told.
    """
    made: dict[str, DataFrame] = {}
    cached: list[DataFrame] = []
    found: list[SampleTable] = []
    try:
        for work in works:
            frames = {
                **{name: _few(session, content, work, name, rows) for name, content in work.inputs.items()},
                **{
                    read.parameter: made[read.ripple]
                    for read in work.ripple.reads
                    if read.pond is None and read.ripple in made
                },
            }
            with _Explained(work):
                try:
                    frame = call_ripple(session, work, frames)
                except Unchanged:
                    found.append(SampleTable(ripple=work.ripple.name, rows=None))
                    break
                check_output(frame.schema)
                kept = frame.limit(rows).cache()
                cached.append(kept)
                made[work.ripple.name] = kept if work.merge is None else kept.drop(DELETED)
                answer = answer_of(kept, limit)
                breaks = () if work.contract is None else check_contract(work.contract, frame.schema.json())
            found.append(SampleTable(ripple=work.ripple.name, rows=answer, breaks=tuple(breaks)))
    finally:
        for frame in cached:
            frame.unpersist()
    return found


def infer_schemas(
    session: SparkSession,
    works: Sequence[tuple[str, RippleWork, Mapping[str, str | None]]],
    *,
    known: Mapping[str, str],
    merged: Mapping[str, tuple[str, ...]] | None = None,
) -> list[InferredSchema]:
    """Call each Ripple on empty tables and answer the schema of its plan; no Spark job of ours is run.

    Each of the `works` is named by its table and says which table is behind each of its parameters (None for one that
    has never published); it stands behind what it reads. `known` are the schemas of tables that are not called,
    `merged` the keys of those that are merged into, whose changes have `_deleted`. A Ripple that cannot be called on
    empty tables, or reads such a one, is answered with the reason.
    """
    schemas = dict(known)
    unknown: set[str] = set()
    found: list[InferredSchema] = []
    for table, work, behind in works:
        read = [each for each in behind.values() if each is not None]
        missing = sorted(each for each in read if each in unknown or each not in schemas)
        if missing:
            unknown.add(table)
            found.append(InferredSchema(table=table, problem=f"it reads {missing[0]}, whose schema is not known"))
            continue
        contents = {
            name: None if each is None else _empty(schemas[each], (merged or {}).get(each, ()))
            for name, each in behind.items()
        }
        try:
            with _Explained(work):
                schema, upkeep = _schema(session, work, contents)
        except PondageError as error:
            if error.code == "SPARK_LOST":
                raise
            unknown.add(table)
            found.append(InferredSchema(table=table, problem=error.message, code=error.code, place=error.place))
            continue
        if schema is None:
            unknown.add(table)
            found.append(InferredSchema(table=table, problem="it called run.unchanged()"))
            continue
        schemas[table] = schema
        breaks = () if work.contract is None else check_contract(work.contract, schema)
        found.append(InferredSchema(table=table, schema=schema, upkeep=upkeep, breaks=tuple(breaks)))
    return found


class _Explained:
    """A block whose errors are told as those of a Ripple: with the author's line."""

    def __init__(self, work: RippleWork) -> None:
        self._work = work

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise what the author can read instead of what was raised."""
        if isinstance(error, Exception | SystemExit):
            shown = explained(error, where=self._work.where, fallback_place=place_of(self._work))
            if shown is not error:
                raise shown from error


def _few(
    session: SparkSession, content: SnapshotContent | None, work: RippleWork, parameter: str, rows: int
) -> DataFrame | None:
    if content is None:
        return None
    columns = next((read.columns for read in work.ripple.reads if read.parameter == parameter), None)
    with _Explained(work):
        return read_snapshot(session, content, columns=columns).limit(rows)


def _schema(
    session: SparkSession, work: RippleWork, contents: Mapping[str, SnapshotContent | None]
) -> tuple[str | None, str | None]:
    """Answer the schema, None where nothing would change; and what its Runs can do, of a table kept up to date."""
    columns = {read.parameter: read.columns for read in work.ripple.reads}
    frames = {
        name: None if content is None else read_snapshot(session, content, columns=columns.get(name))
        for name, content in contents.items()
    }
    is_kept = work.auto is not None and not is_connect(session)
    if is_kept:
        frames = {name: None if frame is None else marked(frame, name) for name, frame in frames.items()}
    try:
        with watched(session) if is_kept else nullcontext(CalledJobs()) as called:
            frame = call_ripple(session, msgspec.structs.replace(work, inputs=contents), frames)
    except Unchanged:
        return None, None
    check_output(frame.schema)
    if work.cut is not None:
        Layout.decide(frame.schema, work.cut.definition.by, work.where)
    # The mark of a deletion is no column of the table.
    schema = str((frame.schema if work.merge is None else frame.drop(DELETED).schema).json())
    if work.auto is None:
        return schema, None
    why_full = against(work.ripple.expectations) or called.why_full or by_itself(work.run)
    if is_connect(session):
        why_full = "Spark Connect shows no plan"
    return schema, f"computes everything: {why_full}" if why_full else outlook(frame, frames)


def _empty(schema: str, keys: tuple[str, ...]) -> SnapshotContent:
    return SnapshotContent(path="", files=(), schema=schema, rows=0, bytes=0, increment=Increment(keys=keys))
