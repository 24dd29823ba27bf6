"""What the demand machine knows of a Pond's definition: its Sources, its Ripples, its windows, its retry budgets."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pondage.define.values.names import PondKey as PondKey

NEVER = -1
"""The freshness of something that never ran."""

NONE = -2
"""The freshness that nobody ever asked for; below NEVER, so that "fresher than nothing" is a request like any other."""


class Calendar(Protocol):
    """The windows of an Inlet as concrete half-open occurrences that never overlap."""

    def occurrence(self, now: int) -> tuple[int, int] | None:
        """Give the ``[start, end)`` that contains `now`, or None between windows."""

    def next_start(self, now: int) -> int | None:
        """Give the first start after `now`, or None when no window follows."""


class Occurrences:
    """A calendar that is a plain list of ``[start, end)``: scenarios and tests use it."""

    def __init__(self, occurrences: Iterable[tuple[int, int]]) -> None:
        """Keep the occurrences in time order; raises ValueError when one is empty or two overlap."""
        self._occurrences = sorted((start, end) for start, end in occurrences)
        self._starts = [start for start, _ in self._occurrences]
        for start, end in self._occurrences:
            if end <= start:
                raise ValueError(f"window [{start}, {end}) is empty")
        for (start, end), (following, _) in zip(self._occurrences, self._occurrences[1:], strict=False):
            if following < end:
                raise ValueError(f"window [{start}, {end}) overlaps the one that starts at {following}")

    def occurrence(self, now: int) -> tuple[int, int] | None:
        """Give the occurrence that contains `now`: its start is inclusive, its end exclusive."""
        at = bisect_right(self._starts, now) - 1
        if at >= 0 and now < self._occurrences[at][1]:
            return self._occurrences[at]
        return None

    def next_start(self, now: int) -> int | None:
        """Give the first start after `now`."""
        at = bisect_right(self._starts, now)
        return self._starts[at] if at < len(self._starts) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a failure is tried again: the Ripple at once, and the whole Run when its Sources have moved on."""

    immediately: int = 0
    on_change: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PondShape:
    """The checked definition of one Pond. Build it with `PondShape.of`, which derives the rest from the Ripples."""

    key: PondKey
    sources: tuple[tuple[PondKey, bool], ...]
    """Each Source and whether it is required (gating) or optional."""
    ripples: Mapping[str, tuple[str, ...]]
    """Each Ripple and its parent Ripples."""
    children: Mapping[str, tuple[str, ...]]
    roots: tuple[str, ...]
    leaves: tuple[str, ...]
    order: tuple[str, ...]
    """The Ripples, every parent before its children."""
    calendar: Calendar | None
    """The windows of an Inlet; None for a live Inlet and for every Pond with Sources."""
    retries: Retries
    required: frozenset[PondKey]
    """The Sources that block this Pond when they are blocked."""
    gating: frozenset[PondKey]
    """The Sources that targets are sent to and that set the pace: the required ones, or all where none is required."""
    must_agree: bool = False
    """Does it wait for Sources that stand on the same Runs of their common ancestors, instead of reading others?"""
    schedules: tuple[str, ...] = ()
    """The names of the Schedules that send it Pulses; their times are the host's."""
    feed_period: int | None = None
    """How often the reactor behind this Pond publishes (0: with each fire); None: it runs by demand, as Ponds do."""

    @property
    def is_fed(self) -> bool:
        """Is a reactor behind this Pond? Then it starts nothing itself: demand goes on to the reactor."""
        return self.feed_period is not None

    @property
    def is_inlet(self) -> bool:
        """Has this Pond no Sources, so that it mints freshness?"""
        return not self.sources

    @staticmethod
    def of(
        key: str,
        ripples: Mapping[str, Sequence[str]],
        *,
        sources: Mapping[str, bool] | None = None,
        calendar: Calendar | None = None,
        retries: Retries | None = None,
        must_agree: bool = False,
        schedules: Sequence[str] = (),
        feed_period: int | None = None,
    ) -> "PondShape":
        """Derive a shape from Ripples (name to parents) and Sources (key to "is it required").

        Raises ValueError when there is no Ripple, a parent is unknown, the Ripples form a cycle, the Pond is its own
        Source, a budget is negative, or a Pond with Sources has windows.
        """
        budgets = retries or Retries()
        if not ripples:
            raise ValueError(f"pond {key} has no ripple")
        if budgets.immediately < 0 or budgets.on_change < 0:
            raise ValueError(f"pond {key} has a negative retry budget")
        if sources and calendar is not None:
            raise ValueError(f"pond {key} has sources, so it cannot have windows: put them on its inlets")
        if sources and key in sources:
            raise ValueError(f"pond {key} is its own source")
        parents = {name: tuple(dict.fromkeys(given)) for name, given in ripples.items()}
        children: dict[str, list[str]] = {name: [] for name in parents}
        for name, given in parents.items():
            for parent in given:
                if parent not in parents:
                    raise ValueError(f"ripple {key}.{name} names an unknown parent {parent}")
                children[parent].append(name)
        bound = {PondKey(source): required for source, required in (sources or {}).items()}
        required = [source for source, is_required in bound.items() if is_required]
        return PondShape(
            key=PondKey(key),
            sources=tuple(bound.items()),
            ripples=parents,
            children={name: tuple(found) for name, found in children.items()},
            roots=tuple(name for name, given in parents.items() if not given),
            leaves=tuple(name for name, found in children.items() if not found),
            order=_topological(key, parents, children),
            calendar=calendar,
            retries=budgets,
            required=frozenset(required),
            gating=frozenset(required or bound),
            must_agree=must_agree and len(bound) > 1,
            schedules=tuple(schedules),
            feed_period=feed_period,
        )


def _topological(
    key: str, parents: Mapping[str, tuple[str, ...]], children: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    waiting = {name: len(given) for name, given in parents.items()}
    order = [name for name, count in waiting.items() if count == 0]
    for name in order:
        for child in children[name]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(parents):
        stuck = sorted(name for name, count in waiting.items() if count > 0)
        raise ValueError(f"the ripples of pond {key} form a cycle among {', '.join(stuck)}")
    return tuple(order)
