"""What a Ripple learns about the tables it follows, and what is written down of it with its data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from pondage.define.pond.definition import ReadDefinition
from pondage.errors import PondageError
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data.bases import Base
from pondage.ledger.kinds.ripple import RippleTask
from pondage.work.snapshot import Changes, Increment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class NeedsAll(Exception):
    """A table cannot say what changed after the Ripple was told that it gets changes only: it has to begin anew."""


class Following:
    """One call of a Ripple: its `is_full`, its changes, and the `Increment` that goes with what it returns.

    `whole(read)` and `part(read, changes)` make tables of what the ledger knows. A Ripple is called again with
    `is_full=True` when a call of it ended with `has_failed`.
    """

    def __init__(
        self,
        task: RippleTask,
        ledger: Increments,
        *,
        whole: Callable[[ReadDefinition], DataFrame],
        part: Callable[[ReadDefinition, Changes], DataFrame],
        is_full: bool = False,
    ) -> None:
        self._task = task
        self._ledger = ledger
        self._whole = whole
        self._part = part
        self._is_full = is_full or ledger.is_asked_full
        self._is_asked = False
        self._asked: dict[str, None] = {}
        self.has_failed = False

    @cached_property
    def _base(self) -> Base | None:
        # Looked up when it is needed: a Ripple that replaces its table and follows nothing never needs it.
        return self._ledger.base(is_published=self._task.definition.mode == "replace")

    @property
    def is_full(self) -> bool:
        """Answer whether the Ripple gets everything; from then on that does not change."""
        if not self._is_asked and not self._is_full:
            self._is_full = self._base is None or (bool(self._task.ripple.tables) and not self._can_go_on())
        self._is_asked = True
        return self._is_full

    def changes(self, table: str) -> DataFrame:
        """Answer what is new of a table; raises `NeedsAll` when the Ripple must be called anew with everything."""
        read = self._read(table)
        self._asked[read.table(self._task.definition.name)] = None
        if self.is_full:
            return self._whole(read)
        found = self._between(read)
        if found is None:
            self.has_failed = True
            raise NeedsAll(table)
        return self._part(read, found)

    @property
    def extended(self) -> int | None:
        """Answer the snapshot whose table the result extends, None when it replaces it."""
        is_anew = self._ledger.is_asked_full or (self._is_asked and self._is_full)
        return None if is_anew or self._base is None else self._base.snapshot

    def increment(self) -> Increment | None:
        """Answer what to write down with the result; None for a table that neither grows nor follows."""
        if self._task.definition.mode == "replace" and not self._is_asked:
            return None
        before = None if self._base is None else self._base.content.increment
        is_all_taken = self.extended is None
        cursors = {} if before is None or is_all_taken else dict(before.cursors)
        for read in self._task.ripple.tables:
            table, pin = read.table(self._task.definition.name), self._ledger.pin(read.parameter)
            # What was neither asked for nor given whole has not been taken in: it stays where it was.
            if pin is not None and (is_all_taken or table in self._asked):
                cursors[table] = pin
        followed = dict.fromkeys(() if before is None else before.followed)
        return Increment(
            base=self.extended if self._task.definition.mode != "replace" else None,
            cursors=cursors,
            followed=tuple(followed | self._asked),
            keys=self._task.definition.keys,
        )

    def _can_go_on(self) -> bool:
        """Answer whether everything that was followed so far can say what changed."""
        before = None if self._base is None else self._base.content.increment
        if before is None:
            return False
        followed = set(before.followed)
        name = self._task.definition.name
        reads = [each for each in self._task.ripple.tables if each.table(name) in followed]
        return all(self._between(each) is not None for each in reads)

    def _between(self, read: ReadDefinition) -> Changes | None:
        before = None if self._base is None else self._base.content.increment
        cursor = None if before is None else before.cursors.get(read.table(self._task.definition.name))
        pin = self._ledger.pin(read.parameter)
        return None if cursor is None or pin is None else self._ledger.changes(cursor=cursor, pin=pin)

    def _read(self, table: str) -> ReadDefinition:
        name = self._task.definition.name
        reads = self._task.ripple.tables
        for each in reads:
            if table in (each.table(name), each.parameter) or (table == each.pond and len(_of(reads, table)) == 1):
                return each
        known = ", ".join(dict.fromkeys(each.table(name) for each in reads)) or "nothing"
        raise PondageError(
            f"run.changes({table!r}): {name}.{self._task.ripple.name} does not read that table",
            hint=f"it reads {known}: add a parameter, or name the table in changes=[…]",
            code="NOT_READ",
        )


def _of(reads: tuple[ReadDefinition, ...], pond: str) -> list[ReadDefinition]:
    return [each for each in reads if each.pond == pond]
