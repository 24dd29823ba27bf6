"""The `run` that a Ripple may ask for by naming a parameter `run`."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, Protocol

from pondage.define.pond.definition import Scalar
from pondage.define.pond.partition import Chunk
from pondage.define.values.duration import parsed_duration
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FILE_COLUMN = "_file"
"""The column in which rows say which file they are from."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Secrets(Protocol):
    """What opens a secret by its reference; in a test, a dictionary."""

    def __getitem__(self, reference: str, /) -> str:
        """Answer the value."""


class Positions(Protocol):
    """Where the worker keeps how far a Ripple has read something outside; values are JSON."""

    def position(self, name: str) -> str | None:
        """Answer up to where the last snapshot read."""

    def decided(self, name: str) -> str | None:
        """Answer up to where this Run reads, None when that is not decided yet."""

    def decide(self, name: str, value: str) -> str:
        """Decide up to where this Run reads, unless it was decided before; answer what counts."""

    @property
    def run_id(self) -> str:
        """Answer the public id of the Run."""

    @property
    def place(self) -> str:
        """Answer a directory for what a position is too long for. Only names that a position holds are kept in it."""

    def forgotten(self, after: int) -> tuple[int, tuple[str, ...]]:
        """Answer which files somebody wants to be taken again, told after that number; and the number of the last."""


class Unchanged(Exception):
    """Raised by `run.unchanged()`: the last data is still right, so the Ripple ends here and nothing is written.

    It is an ordinary exception and passes through `finally` and `with`. An author's `except Exception` around it
    swallows it: then the Ripple just goes on, and publishes what it returns.
    """


class Followed(Protocol):
    """How the tables that a Ripple follows have changed since its last published Run. Given by the worker."""

    @property
    def is_full(self) -> bool:
        """Answer whether the Ripple gets everything."""

    @property
    def previous(self) -> DataFrame | None:
        """Answer the own table that the result extends."""

    def changes(self, table: str) -> DataFrame:
        """Answer the rows of a table that are new to the Ripple."""

    def touched(self, columns: tuple[str, ...], *, before_us: int, after_us: int, own: tuple[str, ...]) -> Column:
        """Answer what selects the partitions that changed, and what they depend on."""


class Run:
    """What a Ripple may know about the Run it is part of. Made by a worker; in a unit test, make one yourself."""

    def __init__(
        self,
        *,
        freshness_us: int,
        previous_freshness_us: int | None = None,
        parameters: Mapping[str, Scalar] | None = None,
        logger: logging.Logger | None = None,
        idempotency_key: str = "",
        secrets: Secrets | None = None,
        followed: Followed | Mapping[str, DataFrame] | None = None,
        positions: Positions | None = None,
        touched: Column | None = None,
        previous: DataFrame | None = None,
        chunk: Chunk | None = None,
    ) -> None:
        self._freshness_us = freshness_us
        self._previous_us = previous_freshness_us
        self._parameters = MappingProxyType(dict(parameters or {}))
        self._logger = logger if logger is not None else logging.getLogger("pondage.ripple")
        self._idempotency_key = idempotency_key
        self._secrets = secrets
        self._positions = positions
        self._touched = touched
        self._read_to: dict[str, str] = {}
        self._read_freshness = False
        self._followed = followed if followed is not None else {}
        self._previous = previous
        self._chunk = chunk
        self._set_aside: list[DataFrame] = []
        self._left: dict[str, int] = {}
        self._lists: dict[str, None] = {}
        self._exchanged: dict[str, frozenset[str]] = {}

    @property
    def is_full(self) -> bool:
        """Answer whether this Run gets everything, and what it returns replaces its table.

        True for the first Run, after `pondage force --full`, and when a followed table cannot say what changed: it was
        replaced, rolled back or rebuilt, or its older batches are gone.
        """
        return True if isinstance(self._followed, Mapping) else self._followed.is_full

    @property
    def chunk(self) -> Chunk | None:
        """Answer which partitions a backfill has this Run compute again; None for every other Run.

        Only these are replaced, whatever is returned. `is_full` is true then, `run.changes` and `sources.files` give
        everything that the table has taken, less what their columns show to be of other partitions, and `run.touched`
        selects these. Where something else is read, `run.chunk.values("day")` says what is wanted.
        """
        return self._chunk

    @property
    def previous(self) -> DataFrame | None:
        """Answer this Ripple's own table as it is before this Run; None before the first, and after `force --full`.

        It is the table that the result extends. A Ripple that has read it extends it also when `is_full` is true, so
        that a history is not lost because a Source was replaced. It is no input: equal code and Sources are reused.
        In a unit test: `Run(freshness_us=0, previous=frame)`.
        """
        return self._previous if isinstance(self._followed, Mapping) else self._followed.previous

    def changes(self, table: str) -> DataFrame:
        """Answer the rows of a table (`"orders.raw"`) that came after those that the last published Run has taken in.

        With `is_full` they are all its rows. Of a table in merge mode they are the changed rows, one for each key, with
        a column `_deleted`. The table must be one that this Ripple reads: a parameter, or named in `changes=`.
        """
        if not isinstance(self._followed, Mapping):
            return self._followed.changes(table)
        if table not in self._followed:
            raise PondageError(
                f"run.changes({table!r}): this Ripple does not read that table",
                hint=f"it reads {', '.join(self._followed) or 'none'}: add a parameter, or name it in changes=[…]",
                code="NOT_READ",
            )
        return self._followed[table]

    def touched(
        self,
        *columns: str,
        own: str | tuple[str, ...] = (),
        before: str | None = None,
        after: str | None = None,
    ) -> Column:
        """Answer what selects the partitions of the tables read here that were replaced since this Ripple's table.

        `columns` are those of `by=` (`"day"`, `"at:day"`), and the answer works on any table that has them. With
        `is_full` it selects everything. In a Pond with `mode="partition"` by the same columns, these partitions are
        replaced by what the Ripple returns, with nothing where it returns nothing. `own="day"` says that its own table
        calls them otherwise; it is refused when they are none of its own.

        `before="6d"` says that a partition is made of its own rows and those of the six days before it: then those that
        are up to six days behind a changed one are replaced too, all that they are made of is selected, and what is
        returned of other partitions is dropped. `after` is the same the other way.
        """
        before_us = 0 if before is None else parsed_duration(before, what="before")
        after_us = 0 if after is None else parsed_duration(after, what="after")
        if not isinstance(self._followed, Mapping):
            return self._followed.touched(
                columns, before_us=before_us, after_us=after_us, own=(own,) if isinstance(own, str) else own
            )
        if self._touched is None:
            raise PondageError(
                f"run.touched({', '.join(map(repr, columns))}): this run has no past",
                hint="in a test, give it one: Run(freshness_us=0, touched=F.col('day') == '2026-03-01')",
                code="NO_PAST",
            )
        return self._touched

    def following(self, tables: Mapping[str, DataFrame], *, everything: Column | None = None) -> None:
        """Give the tables themselves as their changes, unless a worker knows better. For trials without a past."""
        if isinstance(self._followed, Mapping):
            self._followed = {**tables, **self._followed}
            self._touched = everything if self._touched is None else self._touched

    @property
    def freshness(self) -> datetime:
        """Answer the moment (UTC) up to which this Run's result will be fresh.

        Reading it is recorded: a result that depends on the time is never reused for another Run.
        """
        self._read_freshness = True
        return _moment(self._freshness_us)

    @property
    def freshness_us(self) -> int:
        """Answer the same as microseconds since 1970. Recorded too."""
        self._read_freshness = True
        return self._freshness_us

    @property
    def previous_freshness(self) -> datetime | None:
        """Answer the freshness (UTC) of this Pond's last completed Run, None before the first. Recorded too."""
        self._read_freshness = True
        return None if self._previous_us is None else _moment(self._previous_us)

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """Answer the Ripple's declared `parameters=`, read-only."""
        return self._parameters

    @property
    def logger(self) -> logging.Logger:
        """Answer a logger whose lines reach `pondage logs`."""
        return self._logger

    @property
    def idempotency_key(self) -> str:
        """Answer a key that is equal across retries and crashes of the same work: give it to outside services."""
        return self._idempotency_key

    @property
    def read_freshness(self) -> bool:
        """Answer whether the Ripple has asked for a freshness so far. For the worker."""
        return self._read_freshness

    def secret(self, reference: str) -> str:
        """Answer a password or the like: a name of `pondage secret list`, `env:NAME` or `file:PATH`.

        Its value is kept out of logs and messages, and a new value does not make the Ripple run again. Raises
        `PondageError` (NO_SECRET) when there is none.
        """
        if self._secrets is None:
            raise PondageError(
                f"this run has no secrets, so not {reference}",
                hint='in a test, give it some: Run(freshness_us=0, secrets={"name": "value"})',
                code="NO_SECRET",
            )
        return self._secrets[reference]

    def position(self, name: str) -> object:
        """Answer up to where the last snapshot of this Ripple read something outside; None before the first."""
        found = None if self._positions is None else self._positions.position(name)
        return None if found is None else json.loads(found)

    def read_to(self, name: str, decide: Callable[[], object]) -> object:
        """Answer up to where this Run reads something outside, as `decide` says when it is first asked.

        Whoever tries this Run again, after a failure or a crash, gets the same answer, so it reads the same. The answer
        becomes the `position` of the next Run in the commit of this one. It must be something that JSON can hold.

        A chunk of a backfill reads nothing on: there it raises `PondageError` (NOT_IN_A_CHUNK).
        """
        if self._chunk is not None:
            raise PondageError(
                f"run.read_to({name!r}): a chunk of a backfill computes again what was read, and reads nothing on",
                hint="branch on `run.chunk`: when it is not None, read what these partitions are made of without it",
                code="NOT_IN_A_CHUNK",
            )
        found = self._read_to.get(name)
        if found is None and self._positions is not None:
            found = self._positions.decided(name)
        if found is None:
            found = json.dumps(decide(), sort_keys=True)
            found = found if self._positions is None else self._positions.decide(name, found)
        self._read_to[name] = found
        return json.loads(found)

    @property
    def positions(self) -> Mapping[str, str]:
        """Answer what this Run has read up to, as JSON. For the worker."""
        return MappingProxyType(self._read_to)

    @property
    def outside(self) -> Positions | None:
        """Answer where the worker keeps how far this Ripple has read; None in a test. For sources."""
        return self._positions

    def set_aside(self, rows: DataFrame) -> None:
        """Keep rows that cannot be part of the table in `TABLE__bad`, the reason in `_bad`. For sources."""
        self._set_aside.append(rows)

    @property
    def rows_aside(self) -> Sequence[DataFrame]:
        """Answer the rows that were set aside before they were read as rows of the table. For the worker."""
        return tuple(self._set_aside)

    def keep_list(self, name: str) -> None:
        """Say that a position speaks of this list beside the data. For sources."""
        self._lists[name] = None

    @property
    def lists(self) -> tuple[str, ...]:
        """Answer the lists that this Run's positions speak of. For the worker."""
        return tuple(self._lists)

    def exchange(self, name: str, files: Iterable[str]) -> None:
        """Say that this Run brings rows of whole files, and that older rows of these go. For sources."""
        self._exchanged[name] = frozenset(files)

    @property
    def exchanged(self) -> frozenset[str] | None:
        """Answer the files whose older rows go; None: what is returned is no rows of whole files. For the worker."""
        return frozenset().union(*self._exchanged.values()) if self._exchanged else None

    def leave(self, name: str, count: int) -> None:
        """Say that this Run leaves so much for the next one, which then begins at once. For sources."""
        self._left[name] = count

    @property
    def left(self) -> int:
        """Answer how much this Run leaves for the next one. For the worker."""
        return sum(self._left.values())

    def of_fused(self, parameters: Mapping[str, Scalar], logger: str) -> Run:
        """Answer the same Run as a Ripple sees it that is fused into this one. For the worker."""
        other = copy(self)
        other._parameters = MappingProxyType(dict(parameters))
        other._logger = logging.getLogger(logger)
        other._read_freshness = False
        return other

    def unchanged(self) -> NoReturn:
        """End the Ripple here: its last data is still right. Freshness advances, nothing is rewritten.

        Raises `Unchanged`, which the worker understands. Before the first published data there is nothing that could be
        unchanged: the worker then fails the Ripple and says so.
        """
        raise Unchanged("nothing changed since the last run")


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
