"""What differs between two states of a table, as a worker finds it."""

from __future__ import annotations

import msgspec

from pondage.work.answers import QueryView


class ColumnDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A column that only one state has, or that has another type; null where it is not there."""

    column: str
    before: str | None
    after: str | None


class TableDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two states of a table. `columns` counts the changed rows by column.

    Without `keys` rows are compared as a whole: one that changed is one removed and one added. A state without the
    table has null rows. A row of `sample` begins with `_change` and the key; of each column that changed it has
    `[before, after]` as texts in `_columns`.
    """

    ripple: str
    keys: tuple[str, ...]
    before_rows: int | None
    after_rows: int | None
    schema: tuple[ColumnDifference, ...] = ()
    added: int = 0
    removed: int = 0
    changed: int = 0
    columns: dict[str, int] = {}
    sample: QueryView | None = None

    @property
    def is_same(self) -> bool:
        """Answer whether nothing differs."""
        return not (self.schema or self.added or self.removed or self.changed) and (
            (self.before_rows is None) == (self.after_rows is None)
        )
