"""What a written table is: explicit files, their schema and their statistics. Values shared by Spark and the ledger."""

from __future__ import annotations

import msgspec

from pondage.define.definition import Scalar


class ColumnStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a file's footer says of one column; None where it says nothing."""

    nulls: int | None = None
    minimum: Scalar = None
    maximum: Scalar = None


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """One data file; `name` is relative to the snapshot's path."""

    name: str
    rows: int
    bytes: int
    columns: dict[str, ColumnStatistics] = {}


class ExpectationResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one expectation went: what was asked, what was seen."""

    name: str
    severity: str
    passed: bool
    observed: str


class SnapshotContent(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable table: exactly these files under `path`, read with exactly this schema (Spark's JSON form).

    `probe` is what the Inlet's probe answered just before the data was read, as JSON; None where there is no probe.
    """

    path: str
    files: tuple[DataFile, ...]
    schema: str
    rows: int
    bytes: int
    expectations: tuple[ExpectationResult, ...] = ()
    read_freshness: bool = False
    probe: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Answer the full path of every file."""
        return tuple(f"{self.path}/{file.name}" for file in self.files)
