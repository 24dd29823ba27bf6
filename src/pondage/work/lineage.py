"""Which columns a table's columns were made of. Values shared by Spark and the ledger."""

from __future__ import annotations

import msgspec


class Origin(msgspec.Struct, frozen=True, order=True):
    """A column of an input: the Ripple's parameter (in SQL: the table name), later the table itself."""

    table: str
    column: str


class ColumnLineage(msgspec.Struct, frozen=True, kw_only=True):
    """For each column of a table what its values come from; `rows` are columns that only decide which rows there are.

    A column without origins is a constant, or comes from outside.
    """

    columns: dict[str, tuple[Origin, ...]]
    rows: tuple[Origin, ...] = ()
