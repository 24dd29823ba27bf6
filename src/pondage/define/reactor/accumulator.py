"""Accumulators as an author declares them: a name, a type of boundary, a kind, and hooks."""

from __future__ import annotations

import types
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from pondage.define.pond.ripple import Source
from pondage.define.reactor.boundary import BoundaryType, SnapshotRef, check_patterns
from pondage.define.reactor.reaction import AccumulatorDeclaration
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller
from pondage.errors import DefinitionError

T = TypeVar("T")
Hook = TypeVar("Hook", bound=Callable[..., object])


class Arrived(msgspec.Struct, frozen=True):
    """An event of a source that has more to say than an offset.

    Offsets count inside `lane`: a partition, or one message that is known by its id. `settle` is called on the loop:
    with None when the event was taken in for good, else with the reason why it was not.
    """

    event: object
    offset: int
    lane: str | None = None
    settle: Callable[[str | None], None] | None = None


Events = AsyncIterator[tuple[int, object] | Arrived | None]
"""Events with their offsets. None is no event: the source answers, and has nothing now."""


class StreamSource(Protocol):
    """A replayable source: hands out (offset, raw event) after an offset, from the beginning when it is None."""

    def read(self, after: int | None) -> Events:
        """Read events in the order of their offsets; ends or raises OSError when the connection is lost.

        With an attribute `says_connected` that is true it counts as connected from its first answer on, else at once.
        """


@runtime_checkable
class LanedSource(Protocol):
    """A replayable source of several lanes, each with offsets of its own: the partitions of a topic."""

    def read_lanes(self, after: Mapping[str, int]) -> Events:
        """Read events, in each lane in the order of their offsets and behind the given one."""


class Hooks(msgspec.Struct):
    """The author's functions of one accumulator; each may be plain or async."""

    init: Callable[[int | None], object] | None = None
    process: Callable[[object], object] | None = None
    poll: Callable[[], object] | Callable[[], Awaitable[object]] | None = None
    flush: Callable[[list[object]], object] | None = None
    query: Callable[..., object] | None = None
    gather: Callable[..., object] | None = None

    @property
    def given(self) -> list[Callable[..., object]]:
        """Answer those that the author has declared."""
        return [hook for hook in msgspec.structs.astuple(self) if hook is not None]


class AnyAccumulator:
    """An accumulator whose type of boundary does not matter: what a reactor and a host need of it."""

    place: str
    name: str
    hooks: Hooks
    source: StreamSource | LanedSource | None
    declaration: AccumulatorDeclaration

    def check(self, value: object) -> object:
        """Give a value as the boundary's type; raises InvalidBoundary."""
        raise NotImplementedError

    def decode(self, text: bytes) -> object:
        """Give what a JSON text says as the boundary's type; raises InvalidBoundary."""
        raise NotImplementedError

    def described(self) -> str:
        """Give the boundary's type as a text: equal texts mean that values of one fit the other."""
        raise NotImplementedError


class Accumulator(AnyAccumulator, Generic[T]):
    """Something that brings in boundaries of one type: `Accumulator("book", Book)` takes what is pushed.

    `stream` reads a replayable source, `polling` asks again and again, `batch` collects items, `state` keeps the last
    ones, `pond` hears of a Pond's Runs. Every kind but `pond` also accepts pushes. `policy` says what a push meets when
    `capacity` boundaries wait (Sequential only): ``block``, ``reject`` or ``drop_oldest``. A source that is silent for
    `stale_after` degrades its reactor; an `optional` one never holds a WhenAll up.
    """

    def __init__(
        self,
        name: str,
        boundary: type[T],
        *,
        policy: str = "block",
        capacity: int = 1024,
        stale_after: str | None = None,
        optional: bool = False,
    ) -> None:
        self.place = place_of_caller()
        checked_name(name, what="accumulator", place=self.place)
        _check_type(boundary, name, self.place)
        self.name = name
        self.boundary = BoundaryType(boundary)
        self.hooks = Hooks()
        self.source: StreamSource | LanedSource | None = None
        silence = None if stale_after is None else parsed_duration(stale_after, what="stale_after", place=self.place)
        self.declaration = AccumulatorDeclaration(
            name=name, policy=policy, capacity=capacity, stale_after=silence, optional=optional
        )

    @classmethod
    def stream(
        cls, name: str, boundary: type[T], *, source: StreamSource | LanedSource, **options: object
    ) -> Accumulator[T]:
        """Read a replayable source; the offset and the boundary become durable together."""
        made = cls(name, boundary, **options)  # type: ignore[arg-type]
        made.source = source
        return made._with(kind="stream")

    @classmethod
    def spark(cls, name: str, boundary: type[T], *, every: str | None = None, **options: object) -> Accumulator[T]:
        """Read a Spark Structured Streaming query on a worker; each micro-batch gives one boundary, exactly once.

        The `query` hook gives the streaming DataFrame, `gather` makes the boundary of the rows of a micro-batch.
        """
        made = cls(name, boundary, **options)  # type: ignore[arg-type]
        interval = None if every is None else parsed_duration(every, what="every", place=made.place)
        return made._with(kind="stream", is_spark=True, interval=interval)

    @classmethod
    def polling(cls, name: str, boundary: type[T], *, every: str, **options: object) -> Accumulator[T]:
        """Call the `poll` hook on a fixed grid; None means nothing new."""
        made = cls(name, boundary, **options)  # type: ignore[arg-type]
        return made._with(kind="polling", interval=parsed_duration(every, what="every", place=made.place))

    @classmethod
    def batch(
        cls,
        name: str,
        item: type[T],
        *,
        size: int | None = None,
        every: str | None = None,
        reduce: Callable[[list[T]], object] | None = None,
        flush_on_fire: bool = False,
        **options: object,
    ) -> Accumulator[T]:
        """Collect items and emit them as one boundary: by number, by time since the first, after a good fire."""
        made = cls(name, item, **options)  # type: ignore[arg-type]
        made.hooks.flush = reduce  # type: ignore[assignment]
        interval = None if every is None else parsed_duration(every, what="every", place=made.place)
        return made._with(kind="batch", size=size, interval=interval, flush_on_fire=flush_on_fire)

    @classmethod
    def state(cls, name: str, item: type[T], *, window: int = -1, **options: object) -> Accumulator[T]:
        """Keep the last `window` items (all when negative) and emit them as a list with each new one."""
        made = cls(name, item, **options)  # type: ignore[arg-type]
        return made._with(kind="state", window=window)

    @classmethod
    def pond(cls, name: str, source: Source, **options: object) -> Accumulator[SnapshotRef]:
        """Hear of a Pond's published Runs: the boundary is a `SnapshotRef`."""
        made: Accumulator[SnapshotRef] = Accumulator(name, SnapshotRef, **options)  # type: ignore[arg-type]
        minimum = source.definition.minimum
        text = None if minimum is None else ">=" + ".".join(str(part) for part in minimum)
        return made._with(kind="pond", pond=source.name, minimum=text, optional=not source.definition.required)

    def check(self, value: object) -> T:
        """Give a value as the boundary's type; raises InvalidBoundary."""
        return self.boundary.check(value)

    def decode(self, text: bytes) -> T:
        """Give what a JSON text says as the boundary's type; raises InvalidBoundary."""
        return self.boundary.decode(text)

    def described(self) -> str:
        """Give the boundary's type as a text: equal texts mean that values of one fit the other."""
        return self.boundary.described()

    def init(self, function: Hook) -> Hook:
        """Call this with the checkpoint (the last offset, or None) whenever the accumulator starts."""
        self.hooks.init = function
        return function

    def process(self, function: Hook) -> Hook:
        """Call this with each raw event; it gives a boundary, or None: then only the offset moves."""
        self.hooks.process = function
        return function

    def poll(self, function: Hook) -> Hook:
        """Call this on each tick of the grid; it gives a boundary, or None."""
        if self.declaration.kind != "polling":
            self._refuse("poll", "Accumulator.polling(..., every=)")
        self.hooks.poll = function
        return function

    def flush(self, function: Hook) -> Hook:
        """Make the boundary of a batch with this, from the list of its items."""
        if self.declaration.kind != "batch":
            self._refuse("flush", "Accumulator.batch(...)")
        self.hooks.flush = function
        return function

    def query(self, function: Hook) -> Hook:
        """Call this with `spark` on a worker; it gives the streaming DataFrame."""
        if not self.declaration.is_spark:
            self._refuse("query", "Accumulator.spark(...)")
        self.hooks.query = function
        return function

    def gather(self, function: Hook) -> Hook:
        """Make the boundary of a micro-batch with this, from `rows` and, when it is named, the number `batch`.

        None is no boundary. After a crash it may be called again for the same batch, with the same rows.
        """
        if not self.declaration.is_spark:
            self._refuse("gather", "Accumulator.spark(...)")
        self.hooks.gather = function
        return function

    def _with(self, **changes: object) -> Accumulator[T]:
        self.declaration = msgspec.structs.replace(self.declaration, **changes)
        return self

    def _refuse(self, hook: str, instead: str) -> None:
        raise DefinitionError(
            f"accumulator {self.name} is a {self.declaration.kind} and has no {hook}",
            hint=f"declare it with {instead}",
            place=self.place,
            code="HOOK_UNUSED",
        )

    def __repr__(self) -> str:
        return f"Accumulator({self.name!r}, {self.declaration.kind})"


def _check_type(boundary: object, name: str, place: str) -> None:
    if not isinstance(boundary, (type, types.GenericAlias, types.UnionType)) and typing.get_origin(boundary) is None:
        raise DefinitionError(
            f"the boundary of accumulator {name} is {boundary!r}, not a type",
            hint="give a dataclass or a msgspec.Struct",
            place=place,
            code="BAD_BOUNDARY",
        )
    check_patterns(boundary, f"the boundary of accumulator {name}", place)
