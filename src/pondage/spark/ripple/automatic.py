"""Keeping a table up to date: only what changed is computed, and only files that lose rows are written again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import msgspec
import pyspark
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import StructType

from pondage.define.pond.contract import require_contract
from pondage.define.pond.definition import ExpectationDefinition
from pondage.define.pond.verification import Verification
from pondage.plan.incremental.algebra import NotUnderstood
from pondage.plan.incremental.recipe import RULES, How
from pondage.plan.incremental.sentences import sentence
from pondage.spark.files.changes import rows_that_came, rows_that_went
from pondage.spark.files.read import read_snapshot
from pondage.spark.files.storage import secure
from pondage.spark.files.write import WrittenFiles, check_output, write_files
from pondage.spark.incremental.catalyst import Catalyst
from pondage.spark.incremental.parts import Part, Slice, part
from pondage.spark.incremental.substituted import Table
from pondage.spark.incremental.watch import settings
from pondage.spark.ripple.comparison import differences
from pondage.spark.ripple.merge import in_folder, inside, may_hold, touched_files
from pondage.spark.rules.checked_write import write_checked
from pondage.spark.session.connect import is_connect
from pondage.spark.types.names import quoted
from pondage.work.changed import Changed
from pondage.work.snapshot import Changes, DataFile, Increment, SnapshotContent
from pondage.work.upkeep import Upkeep

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from pondage.spark.rules.expectations import Facts

_BY_ROW = frozenset({"not_null", "between", "in_set", "check", "matches"})
"""Rules that judge each row by itself, so that rows which stay need not be judged again."""


class Automatic(msgspec.Struct, frozen=True, kw_only=True):
    """What a table is kept up to date from; all questions are asked after the author's code was called.

    `inputs` are by the marks under which the author's code reads them. `base` is the table as it was, `before` what the
    Run that made it left for this one. `why_full` says what speaks against going on from it, as far as the ledger and
    the author's calls tell; `code` is the fingerprint of the code and its parameters.
    """

    inputs: Callable[[], Mapping[str, Changed]]
    base: Callable[[], SnapshotContent | None]
    before: Callable[[], Upkeep | None]
    why_full: Callable[[], str]
    code: str
    verification: Verification


WITHOUT_PAST = Automatic(
    inputs=dict, base=lambda: None, before=lambda: None, why_full=lambda: "", code="", verification=Verification()
)
"""What a trial knows, which goes on from nothing."""


class _Writing(msgspec.Struct, frozen=True, kw_only=True):
    """How rows of this table are written and judged."""

    session: SparkSession
    contract: str | None
    rules: tuple[ExpectationDefinition, ...]
    checks: Mapping[str, Callable[[], Column]]
    facts: Facts
    where: str

    def checked(self, frame: DataFrame, destination: str) -> SnapshotContent:
        return write_checked(
            self.session, frame, destination, contract=self.contract, rules=self.rules, checks=self.checks,
            facts=self.facts, where=self.where,
        )  # fmt: skip


def write_automatic(
    session: SparkSession,
    frame: DataFrame,
    auto: Automatic,
    *,
    why_full: str,
    destination: str,
    contract: str | None,
    rules: tuple[ExpectationDefinition, ...],
    checks: Mapping[str, Callable[[], Column]],
    facts: Facts,
    where: str,
) -> SnapshotContent:
    """Write what changed of the table, or all of it, and answer that, unpublished; `upkeep` says what was done and why.

    `why_full` is what the author's call itself speaks against going on. Raises what every write may raise.
    """
    check_output(frame.schema)
    # Judged of the whole: a part of a table has the same columns.
    require_contract(contract, frame.schema.json(), where=where)
    writing = _Writing(session=session, contract=contract, rules=rules, checks=checks, facts=facts, where=where)
    return _Run(writing, frame, auto, destination).written(why_full or against(rules) or auto.why_full())


def against(rules: Sequence[ExpectationDefinition]) -> str:
    """Answer which rule needs the whole table, empty when none does."""
    for each in rules:
        if each.quarantine:
            return f"{each.name} sets rows aside, and those of all Runs belong to the table"
        if each.kind not in _BY_ROW:
            return f"{each.name} judges the whole table"
    return ""


class _KeysFailed(Exception):
    """A Spark job failed, or was cancelled: that is no question of which rule holds, and ends the attempt."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _Run:
    def __init__(self, writing: _Writing, frame: DataFrame, auto: Automatic, destination: str) -> None:
        self._writing = writing
        self._session = writing.session
        self._frame = frame
        self._auto = auto
        self._destination = destination
        self._keys: list[SnapshotContent] = []
        self._code = _fingerprint(writing.session, auto.code)

    def written(self, why_full: str) -> SnapshotContent:
        before = self._auto.before()
        why_full = why_full or self._not_from(before)
        inputs = {} if why_full else self._auto.inputs()
        why_full = why_full or _unknown(inputs)
        found = self._part(inputs, why_full, before)
        same = before is not None and before.code == self._code
        checks = before.checks if before is not None and same else 0
        if found.how is How.FULL:
            content = self._writing.checked(self._frame, self._destination)
            upkeep = self._upkeep(found, content, inputs)
            refused = before.differing if before is not None and same else ()
            return self._signed(content, msgspec.structs.replace(upkeep, checks=checks, differing=refused))
        base = self._auto.base()
        assert base is not None, "without a table everything is computed"
        content = self._changed(found, base)
        upkeep = msgspec.structs.replace(self._upkeep(found, content, inputs, base), checks=checks + 1)
        if not self._auto.verification.is_due(upkeep.checks):
            return self._signed(content, upkeep)
        return self._verified(content, upkeep, base, found.exact)

    def _not_from(self, before: Upkeep | None) -> str:
        """Answer why the table as it was cannot be gone on from, empty when it can."""
        if before is None:
            return "nothing is known of how the table was made"
        if before.rules != RULES:
            return "the rules of incremental work changed"
        if before.code != self._code:
            return "the code, its parameters, Spark or its settings changed"
        if before.is_refused:
            return f"a verification of this code found a difference in {before.differing[0]}"
        return ""

    def _part(self, inputs: Mapping[str, Changed], why_full: str, before: Upkeep | None) -> Part:
        tables = {name: _table(self._session, each) for name, each in inputs.items()}
        try:
            catalyst = Catalyst(self._session)
            catalyst.probe()
        except NotUnderstood as error:
            return Part(how=How.FULL, reason=why_full or error.message)
        shape = "" if before is None else before.shape
        try:
            return part(catalyst, self._frame, tables, before=shape, why_full=why_full, keep=self._keep)
        except _KeysFailed as failed:
            raise failed.error from None

    def _keep(self, keys: DataFrame) -> DataFrame | None:
        try:
            written = write_files(keys, inside(self._destination, f"keys{len(self._keys)}")).as_content()
        except Exception as error:
            raise _KeysFailed(error) from error
        if not written.rows:
            return None
        self._keys.append(written)
        return read_snapshot(self._session, written)

    def _changed(self, found: Part, base: SnapshotContent) -> SnapshotContent:
        """Write the new rows, and the files that lose rows without those; say what came and what went."""
        rows = found.rows
        if rows is None:
            empty = SnapshotContent(path=self._destination, files=(), schema=base.schema, rows=0, bytes=0)
            return msgspec.structs.replace(empty, increment=Increment())
        # The names and types of the table, whatever the optimizer knows of nulls now.
        content = self._writing.checked(rows, inside(self._destination, "rows"))
        came = tuple(in_folder(content.path, file) for file in content.files)
        touched = _touched(base, found.slices, self._keys)
        kept = tuple(n for n in range(len(base.files)) if n not in set(touched))
        stays, went = self._taken_out(base, touched, found.slices)
        secure(self._destination, [])
        files = (*came, *stays)
        return msgspec.structs.replace(
            content,
            path=self._destination,
            files=files,
            schema=base.schema,
            bytes=sum(file.bytes for file in files),
            increment=Increment(kept=kept if touched else None, plus=came if stays else None, minus=went),
        )

    def _taken_out(
        self, base: SnapshotContent, touched: Sequence[int], slices: Sequence[Slice]
    ) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
        """Answer the files of the rows that stay of the touched ones, and of those that went."""
        if not touched:
            return (), ()
        old = read_snapshot(
            self._session, msgspec.structs.replace(base, files=tuple(base.files[n] for n in touched), increment=None)
        )
        went: list[DataFrame] = []
        for each in slices:
            went.append(_matching(old, each, "left_semi"))
            old = _matching(old, each, "left_anti")
        return self._files(old, "table"), self._files(reduce(lambda one, other: one.union(other), went), "gone")

    def _files(self, rows: DataFrame, name: str) -> tuple[DataFile, ...]:
        written: WrittenFiles = write_files(rows, inside(self._destination, name))
        return tuple(in_folder(written.path, footer.as_data_file()) for footer in written.footers)

    def _verified(
        self, content: SnapshotContent, upkeep: Upkeep, base: SnapshotContent, exact: tuple[str, ...] | None
    ) -> SnapshotContent:
        """Compute everything too; publish that, and never go on with this code, when it is something else."""
        place = inside(self._destination, "whole")
        whole = write_files(self._frame, place).as_content()
        now = read_snapshot(self._session, _table_of(content, base))
        found = differences(now, read_snapshot(self._session, whole), exact)
        if not found:
            return self._signed(content, msgspec.structs.replace(upkeep, is_verified=True))
        judged = self._writing.checked(read_snapshot(self._session, whole), inside(self._destination, "verified"))
        said = f"everything was computed: {upkeep.how} gave something else, first for {found[0]}"
        refused = msgspec.structs.replace(
            upkeep, how=str(How.FULL), said=said, is_verified=True, differing=found, rows=judged.rows
        )
        return self._signed(judged, refused)

    def _upkeep(
        self, found: Part, content: SnapshotContent, inputs: Mapping[str, Changed], base: SnapshotContent | None = None
    ) -> Upkeep:
        read = {name: each for name, each in inputs.items() if each.changes is not None and each.changes.rows}
        changed = sum(each.changes.rows for each in read.values() if each.changes is not None)
        of = sum(each.new.rows for each in read.values())
        whole = content.rows if base is None else base.rows
        said = sentence(found.how, found.reason, changed=changed, of=of, written=content.rows, whole=whole)
        return Upkeep(
            how=str(found.how), said=said, code=self._code, shape=found.shape, rules=RULES, changed=changed, of=of,
            rows=sum(file.rows for file in content.files),
        )  # fmt: skip

    @staticmethod
    def _signed(content: SnapshotContent, upkeep: Upkeep) -> SnapshotContent:
        increment = msgspec.structs.replace(content.increment or Increment(), is_signed=True)
        return msgspec.structs.replace(content, increment=increment, upkeep=upkeep)


def _unknown(inputs: Mapping[str, Changed]) -> str:
    for name, each in inputs.items():
        if each.changes is None:
            return f"{name} cannot say what changed"
        if each.old is None and each.changes.rows:
            return f"{name} is not there any more as it was"
    return ""


def _table(session: SparkSession, each: Changed) -> Table:
    """Answer an input with the rows that came and went, each reading with attribute ids of its own."""

    def read(content: SnapshotContent, columns: Sequence[str] | None = each.columns) -> DataFrame:
        return read_snapshot(session, content, columns=columns, schema=each.new.schema)

    changes, old = each.changes, each.old or each.new
    new = lambda: read(each.new)  # noqa: E731 - one of four of a kind
    if changes is None or not changes.rows:
        return Table(new=new, old=new)
    was = lambda: read(old)  # noqa: E731
    if changes.is_signed:
        came = lambda: rows_that_came(session, changes, each.columns)  # noqa: E731
        went = lambda: rows_that_went(session, changes, each.columns)  # noqa: E731
        has = [any(part.files for part in parts) for parts in (changes.batches, changes.gone)]
        return Table(new=new, old=was, plus=came if has[0] else None, minus=went if has[1] else None)
    if changes.by:
        gone = set(changes.partitions)
        lost = msgspec.structs.replace(old, files=tuple(file for file in old.files if file.partition in gone))
        # Partitions of other columns: everything that was may have gone.
        lost = lost if old.by == changes.by else old
        return Table(
            new=new, old=was,
            plus=(lambda: read(changes.batches[0])) if changes.batches[0].files else None,
            minus=(lambda: read(lost)) if lost.files else None,
        )  # fmt: skip
    if changes.keys:
        return _merged(session, each, changes, old, read)
    return Table(new=new, old=was, plus=lambda: rows_that_came(session, changes, each.columns))


def _merged(
    session: SparkSession, each: Changed, changes: Changes, old: SnapshotContent, read: Callable[..., DataFrame]
) -> Table:
    """Answer a table with keys: what came are its changed rows, what went the rows that had their keys."""
    from pondage.spark.files.changes import DELETED, read_changes

    files = [file for batch in changes.batches for file in batch.files]
    may_lose = msgspec.structs.replace(
        old, files=tuple(old.files[n] for n in touched_files(old.files, files, each.new.schema, changes.keys))
    )
    names = StructType.fromJson(json.loads(each.new.schema)).names if each.columns is None else list(each.columns)
    columns = [F.col(quoted(name)) for name in names]

    def came() -> DataFrame:
        return read_changes(session, changes).where(~F.col(DELETED)).select(*columns)

    def went() -> DataFrame:
        keys = read_changes(session, changes).select(*(F.col(quoted(key)) for key in changes.keys))
        return read(may_lose, None).join(keys, list(changes.keys), "left_semi").select(*columns)

    return Table(new=lambda: read(each.new), old=lambda: read(old), plus=came, minus=went if may_lose.files else None)


def _matching(rows: DataFrame, taken: Slice, how: str) -> DataFrame:
    pairs = [rows[quoted(name)].eqNullSafe(taken.keys[f"_key{at}"]) for at, name in enumerate(taken.columns)]
    return rows.join(taken.keys, reduce(lambda one, other: one & other, pairs), how)


def _touched(base: SnapshotContent, slices: Sequence[Slice], keys: Sequence[SnapshotContent]) -> list[int]:
    """Answer the positions of the files that may hold a row of the slices, by what their footers say."""
    found: set[int] = set()
    for each, content in zip(slices, keys, strict=True):
        found |= set(may_hold(base.files, base.schema, each.columns, content))
    return sorted(found)


def _table_of(content: SnapshotContent, base: SnapshotContent) -> SnapshotContent:
    kept = None if content.increment is None else content.increment.kept
    stays = base.files if kept is None else tuple(base.files[n] for n in kept)
    own = tuple(msgspec.structs.replace(file, name=content.place(file)) for file in content.files)
    return msgspec.structs.replace(base, files=(*stays, *own), increment=None)


def _fingerprint(session: SparkSession, code: str) -> str:
    given: Mapping[str, str] = {} if is_connect(session) else settings(session)
    return hashlib.sha256(msgspec.json.encode([code, pyspark.__version__, given])).hexdigest()
