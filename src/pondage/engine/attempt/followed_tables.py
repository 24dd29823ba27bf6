"""What a Ripple learns about the tables it follows, and what is written down of it with its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, Protocol

import msgspec

from pondage.define.pond.definition import ReadDefinition
from pondage.define.pond.partition import Chunk, Partition, PartitionColumn, around, parsed
from pondage.errors import PondageError
from pondage.ledger.commit.increments import Increments
from pondage.ledger.kinds.ripple import RippleTask
from pondage.ledger.step.bases import Base
from pondage.work.snapshot import Changes, Increment, SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Selected(Protocol):
    """Makes the condition for partitions of a table that is read."""

    def __call__(
        self, read: ReadDefinition, columns: Sequence[PartitionColumn], found: set[Partition] | None, /
    ) -> Column:
        """Answer it; without `found` it holds for every row."""


class NeedsAll(Exception):
    """A table cannot say what changed after the Ripple was told that it gets changes only: it has to begin anew."""


class Following:
    """One call of a Ripple: its `is_full`, its changes, and the `Increment` that goes with what it returns.

    `whole(read)` and `part(read, changes)` make tables of what the ledger knows, `selected(read, columns, values)` the
    condition for partitions of a table that is read (None: all), `past(snapshot)` the own table as it was. A Ripple is
    called again with `is_full=True` when a call of it ended with `has_failed`.
    """

    def __init__(
        self,
        task: RippleTask,
        ledger: Increments,
        *,
        whole: Callable[[ReadDefinition], DataFrame],
        part: Callable[[ReadDefinition, Changes], DataFrame],
        selected: Selected | None = None,
        past: Callable[[int], DataFrame] | None = None,
        is_full: bool = False,
    ) -> None:
        self._task = task
        self._ledger = ledger
        self._whole = whole
        self._part = part
        self._selected = selected
        self._touched: list[_Touched] = []
        self._past = past
        self._has_read_past = False
        self._is_full = is_full or ledger.is_asked_full or task.chunk is not None
        self._is_asked = False
        self._asked: dict[str, None] = {}
        self.has_failed = False

    @cached_property
    def _base(self) -> Base | None:
        # Looked up when it is needed: a Ripple that replaces its table and follows nothing never needs it.
        return self._ledger.base(is_published=self._task.definition.mode == "replace")

    @cached_property
    def chunk(self) -> Chunk | None:
        """Answer what a backfill has computed again, and nothing else; None: it is a Run like any other.

        A Ripple that has no table yet computes all of it: a part would pass for the whole.
        """
        chunk = self._task.chunk
        if chunk is None or self._base is None:
            return None
        if not chunk.by == self._base.content.by == self._own:
            name = f"{self._task.definition.name}.{self._task.ripple.name}"
            raise PondageError(
                f"the partitions of {name} are by {', '.join(self._own)} now, "
                f"and the backfill names some by {', '.join(chunk.by)}",
                hint="cancel it, run the Pond once, and start another one",
                code="OTHER_PARTITIONS",
            )
        return msgspec.structs.replace(chunk, schema=self._base.content.schema)

    @property
    def is_full(self) -> bool:
        """Answer whether the Ripple gets everything; from then on that does not change."""
        if not self._is_asked and not self._is_full:
            self._is_full = self._base is None or (bool(self._task.ripple.tables) and not self._can_go_on())
        self._is_asked = True
        return self._is_full

    @property
    def is_asked(self) -> bool:
        """Answer whether the Ripple has asked what changed, or for its own past."""
        return self._is_asked or self._has_read_past

    @property
    def previous(self) -> DataFrame | None:
        """Answer the own table that the result extends, None when there is none or everything was asked for anew.

        A Ripple that has read it extends it whatever its Sources did: its history is no result of what they hold now.
        """
        if self._ledger.is_asked_full or self._base is None:
            return None
        assert self._past is not None
        self._has_read_past = True
        return self._past(self._base.snapshot)

    def changes(self, table: str) -> DataFrame:
        """Answer what is new of a table; raises `NeedsAll` when the Ripple must be called anew with everything."""
        read = self._read(table)
        self._asked[read.table(self._task.definition.name)] = None
        if self.is_full:
            return self._whole(read) if self.chunk is None else self._inside(read, self.chunk)
        found = self._between(read)
        if found is None:
            self.has_failed = True
            raise NeedsAll(table)
        return self._part(read, found)

    def touched(self, columns: tuple[str, ...], *, before_us: int, after_us: int, own: tuple[str, ...] = ()) -> Column:
        """Answer what selects the partitions that changed, widened; raises `NeedsAll` as `changes` does."""
        assert self._selected is not None
        mine = self._require_own(columns, own)
        reads = [each for each in self._task.ripple.tables if self._columns(each, columns) is not None]
        if not reads:
            self._refuse_columns(columns)
        for read in reads:
            self._asked[read.table(self._task.definition.name)] = None
        chosen = self._columns(reads[0], columns) or ()
        if self.chunk is not None:
            places = [self._own.index(each) for each in mine]
            wanted: set[Partition] = {tuple(each[place] for place in places) for each in self.chunk.partitions}
            return self._selected(reads[0], chosen, _widened(wanted, before_us=before_us, after_us=after_us))
        if self.is_full:
            return self._selected(reads[0], chosen, None)
        changed: set[Partition] = set()
        for read in reads:
            found = self._between(read)
            if found is None:
                self.has_failed = True
                raise NeedsAll(read.parameter)
            places = [found.by.index(each.text) for each in self._columns(read, columns) or ()] if found.by else []
            changed |= {tuple(each[place] for place in places) for each in found.partitions}
        # A changed partition is a neighbour of those for which it lies as far on the other side.
        made = _widened(changed, before_us=after_us, after_us=before_us)
        self._touched.append(_Touched(columns=mine, values=made, is_widened=bool(before_us or after_us)))
        return self._selected(reads[0], chosen, _widened(made, before_us=before_us, after_us=after_us))

    @property
    def replaced(self) -> set[Partition]:
        """Answer the partitions of the own table that are replaced whatever is returned."""
        if self.chunk is not None:
            return set(self.chunk.partitions)
        by, found = self._own, set[Partition]()
        for each in self._touched if self.extended is not None and by else ():
            places = [by.index(column) for column in each.columns]
            if sorted(places) == list(range(len(by))):
                order = [each.columns.index(column) for column in by]
                found |= {tuple(values[place] for place in order) for values in each.values}
            else:
                there = self._ledger.partitions(self.extended) if self.extended is not None else []
                found |= {one for one in there if tuple(one[place] for place in places) in each.values}
        return found

    @property
    def only(self) -> tuple[tuple[int, ...], set[Partition]] | None:
        """Answer beyond which values of which own columns nothing is replaced; None: anything may be."""
        by = self._own
        if self.chunk is not None:
            return tuple(range(len(by))), set(self.chunk.partitions)
        inside = self._touched
        if self.extended is None or not by or not any(each.is_widened for each in inside):
            return None
        if len({each.columns for each in inside}) > 1:
            raise PondageError(
                "run.touched: one call widens by before= or after=, and another one names other columns",
                hint="ask for the same columns each time",
                code="BAD_TOUCHED",
            )
        places = tuple(by.index(column) for column in inside[0].columns)
        return places, {values for each in inside for values in each.values}

    def _require_own(self, columns: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
        """Answer these columns as the own table calls them.

        What is selected by other columns would be a part of its partitions, and they are replaced whole.
        """
        mine = own or columns
        if self._own and (len(mine) != len(columns) or not set(mine) <= set(self._own)):
            name = f"{self._task.definition.name}.{self._task.ripple.name}"
            raise PondageError(
                f"run.touched({', '.join(map(repr, columns))}): the partitions of {name} are by {', '.join(self._own)}",
                hint='say which of them it is: run.touched("at:day", own="day")',
                code="BAD_TOUCHED",
            )
        return mine

    @property
    def _own(self) -> tuple[str, ...]:
        partition = self._task.definition.partition
        return () if partition is None else partition.texts

    def _columns(self, read: ReadDefinition, columns: tuple[str, ...]) -> tuple[PartitionColumn, ...] | None:
        """Answer these columns of the partitions of a table, None when it is not in such partitions."""
        content = self._task.inputs.get(read.parameter)
        known = {} if content is None else {each.text: each for each in parsed(content.by)}
        return tuple(known[each] for each in columns) if columns and all(each in known for each in columns) else None

    def _refuse_columns(self, columns: tuple[str, ...]) -> NoReturn:
        name = self._task.definition.name
        known = [
            f"{read.table(name)} by {', '.join(content.by)}"
            for read in self._task.ripple.tables
            for content in [self._task.inputs.get(read.parameter)]
            if content is not None and content.by
        ]
        raise PondageError(
            f"run.touched({', '.join(map(repr, columns))}): "
            f"{name}.{self._task.ripple.name} reads no table in such partitions",
            hint=f"it reads {'; '.join(known)}" if known else 'none of its Sources has mode="partition"',
            code="NOT_PARTITIONED",
        )

    @property
    def extended_by(self) -> tuple[str, ...] | None:
        """Answer by which columns the table that is extended is in partitions, None without a table."""
        return None if self._base is None else self._base.content.by

    @property
    def extended(self) -> int | None:
        """Answer the snapshot whose table the result extends, None when it replaces it."""
        if self.chunk is not None and self._base is not None:
            return self._base.snapshot
        is_anew = self._ledger.is_asked_full or (self._is_asked and self._is_full and not self._has_read_past)
        return None if is_anew or self._base is None else self._base.snapshot

    def increment(self) -> Increment | None:
        """Answer what to write down with the result; None for a table that neither grows nor follows."""
        if self._task.definition.mode == "replace" and not self._is_asked:
            return None
        before = None if self._base is None else self._base.content.increment
        if self.chunk is not None and before is not None:
            # What is new of the tables that it follows is still new for the next Run.
            return msgspec.structs.replace(
                Increment(base=self.extended, cursors=before.cursors), followed=before.followed
            )
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

    def carried(self, content: SnapshotContent) -> SnapshotContent:
        """Answer a chunk's snapshot with what its table knew of the outside: it has read nothing on."""
        if self.chunk is None or self._base is None:
            return content
        before = self._base.content
        return msgspec.structs.replace(
            content, positions=before.positions, lists=before.lists, left=before.left, probe=before.probe
        )

    def _inside(self, read: ReadDefinition, chunk: Chunk) -> DataFrame:
        """Answer the rows of a table that its columns show to be of the chunk; all of them when they do not tell."""
        content = self._task.inputs.get(read.parameter)
        shared = None if content is None else chunk.among(content.schema, read.columns or ())
        if shared is None:
            return self._whole(read)
        assert self._selected is not None
        return self._whole(read).where(self._selected(read, *shared))

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


class _Touched(msgspec.Struct, frozen=True, kw_only=True):
    """One question for what was touched: the partitions that have to be made again, by these columns."""

    columns: tuple[str, ...]
    values: set[Partition]
    is_widened: bool


def _widened(values: set[Partition], *, before_us: int, after_us: int) -> set[Partition]:
    """Answer the partitions that lie up to so long before and after these in time."""
    if not before_us and not after_us:
        return values
    found: set[Partition] = set()
    for each in values:
        near = [_around(one, before_us, after_us) for one in each]
        place = next((n for n, values in enumerate(near) if values is not None), None)
        if place is None:
            raise PondageError(
                f"run.touched: before= and after= reckon with time, and {each!r} is none",
                hint="a day is written 2026-03-01, an hour 2026-03-01T05, a month 2026-03",
                code="NOT_TIME",
            )
        found.update((*each[:place], value, *each[place + 1 :]) for value in near[place] or ())
    return found


def _around(value: object, before_us: int, after_us: int) -> list[str] | None:
    return around(value, before_us=before_us, after_us=after_us) if isinstance(value, str) else None


def _of(reads: tuple[ReadDefinition, ...], pond: str) -> list[ReadDefinition]:
    return [each for each in reads if each.pond == pond]
