"""What a written table is: explicit files, their schema and their statistics. Values shared by Spark and the ledger."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import Scalar
from pondage.define.pond.partition import Partition
from pondage.work.upkeep import Upkeep

BAD = "_bad"
"""The column that says what is wrong with a row: its raw text where it could not be read, the rules that it breaks."""
BAD_TABLE = "__bad"
"""What stands behind the name of a table for the rows that were set aside from it: `sales.clean__bad`."""


class ColumnStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a file's footer says of one column; None where it says nothing."""

    nulls: int | None = None
    minimum: Scalar = None
    maximum: Scalar = None


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """One data file; `name` is relative to the snapshot's path, or a full path.

    `partition` has the values of the one partition that all its rows are of, None in a table without partitions.
    """

    name: str
    rows: int
    bytes: int
    columns: dict[str, ColumnStatistics] = {}
    partition: Partition | None = None


class ExpectationResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one expectation went: what was asked, what was seen.

    `broken` are the rows that break it, where that is what was counted; `value` is what was measured otherwise: rows,
    or seconds of age. `is_set_aside`: the broken rows are not in the table.
    """

    name: str
    severity: str
    passed: bool
    observed: str
    broken: int | None = None
    value: float | None = None
    is_set_aside: bool = False


class SetAside(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that rules with `quarantine=True` kept out of a snapshot, with the reason in the column `_bad`."""

    path: str
    files: tuple[DataFile, ...]
    schema: str
    rows: int
    bytes: int


class Increment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a snapshot continues an older one. It is written with the data, so that neither exists without the other.

    `base` is the snapshot whose table this batch extends; None: a table begins with it. `cursors` says for each table
    that the Ripple reads up to which snapshot it has taken it in; `followed` are those that it asked the changes of.
    Of a merge: `keys` identify a row, `changes` are the files with the changed rows where the table got other ones, and
    `kept` are the positions of the base's files (of its manifest `manifest`) that stay in the table.
    Of a table in partitions: `by` are their columns, `partitions` those that it replaces whole, with nothing where it
    has no file of them; `kept` is empty when nothing else of the base stays.
    Of a table that is kept up to date (`is_signed`): `plus` are the files of the rows that came, where the table got
    others beside them, and `minus` those of the rows that went.
    """

    base: int | None = None
    cursors: dict[str, int] = {}
    followed: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    changes: tuple[DataFile, ...] | None = None
    manifest: int | None = None
    kept: tuple[int, ...] | None = None
    by: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    is_signed: bool = False
    plus: tuple[DataFile, ...] | None = None
    minus: tuple[DataFile, ...] = ()


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a batch before it is made: whether the code is that of the newest one in the table."""

    is_same_code: bool


class SnapshotContent(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable table: exactly these files under `path`, read with exactly this schema (Spark's JSON form).

    `probe` is what the Inlet's probe answered just before the data was read, as JSON; None where there is no probe.
    `positions` says up to where it read something outside, as JSON: the next snapshot goes on from there.
    """

    path: str
    files: tuple[DataFile, ...]
    schema: str
    rows: int
    bytes: int
    expectations: tuple[ExpectationResult, ...] = ()
    read_freshness: bool = False
    probe: str | None = None
    increment: Increment | None = None
    positions: dict[str, str] = {}
    set_aside: SetAside | None = None
    lists: tuple[str, ...] = ()
    """Names of lists beside the data that its positions speak of: they stay as long as it does."""
    left: int = 0
    """How much it left of what is there, for the next Run, which then begins at once."""
    upkeep: Upkeep | None = None

    @property
    def is_signed(self) -> bool:
        """Answer whether its batches say of each row whether it came or went."""
        return self.increment is not None and self.increment.is_signed

    @property
    def is_merge(self) -> bool:
        """Answer whether these are the changed rows of a table with keys."""
        return self.increment is not None and bool(self.increment.keys)

    @property
    def by(self) -> tuple[str, ...]:
        """Answer the columns of its partitions, as an author writes them; none of a table without."""
        return () if self.increment is None else self.increment.by

    @property
    def bad(self) -> SnapshotContent | None:
        """Answer the table of the rows that were set aside, None when there are none."""
        if self.set_aside is None:
            return None
        return SnapshotContent(**{name: getattr(self.set_aside, name) for name in self.set_aside.__struct_fields__})

    @property
    def rejected_table(self) -> SnapshotContent:
        """Answer the same as a table that is always there, with no rows when nothing was set aside."""
        if self.bad is not None:
            return self.bad
        schema = msgspec.json.decode(self.schema)
        schema["fields"].append({"name": BAD, "type": "string", "nullable": True, "metadata": {}})
        return SnapshotContent(path=self.path, files=(), schema=msgspec.json.encode(schema).decode(), rows=0, bytes=0)

    @property
    def plain(self) -> SnapshotContent:
        """Answer the same files without what is known about them."""
        files = tuple(msgspec.structs.replace(file, columns={}, partition=None) for file in self.files)
        return SnapshotContent(path=self.path, files=files, schema=self.schema, rows=self.rows, bytes=self.bytes)

    @property
    def paths(self) -> tuple[str, ...]:
        """Answer the full path of every file."""
        return tuple(self.place(file) for file in self.files)

    def place(self, file: DataFile) -> str:
        """Answer the full path of a file; the files of a table of many batches have one of their own."""
        return file.name if file.name.startswith("/") or ":/" in file.name else f"{self.path}/{file.name}"


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a table between two of its snapshots: the batches in between, oldest first.

    `schema` is that of the table at its end. With `keys` the batches hold changed rows, and deleted ones are marked. Of
    a table in partitions there is one, with the rows that those replaced `partitions` have at the end. Of a table that
    `is_signed` the batches hold the rows that came, and `gone` those that went; a row may be among both.
    """

    batches: tuple[SnapshotContent, ...]
    schema: str
    keys: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    is_signed: bool = False
    gone: tuple[SnapshotContent, ...] = ()

    @property
    def rows(self) -> int:
        """Answer how many rows they tell of, 0 when nothing happened; of a partition that got empty it is one."""
        told = sum(part.rows for part in (*self.batches, *self.gone))
        return told or int(bool(self.partitions))
