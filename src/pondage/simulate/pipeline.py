"""A pipeline to be simulated: Ponds, how long each Ripple takes, and what follows from that alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pondage.kernel.demand import PondKey, PondShape
from pondage.simulate.drive import Execution, Workers, jittered

Place = tuple[PondKey, str]
"""A Ripple of a Pond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a Ripple takes: `base` in microseconds, varied uniformly by `spread` (0.1 is ten per cent)."""

    base: int
    spread: float = 0.0
    origin: str = "given"
    """Where it comes from: `given`, `history`, or `default`."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Ponds with their timings. A Source that is not among the Ponds counts as not deployed."""

    shapes: Sequence[PondShape]
    timings: Mapping[Place, Timing]
    seed: int = 1
    failing: Mapping[Place, frozenset[int]] = field(default_factory=dict)
    """The executions of a Ripple that fail, counted from 1."""

    @cached_property
    def by_key(self) -> dict[PondKey, PondShape]:
        """The Ponds by their key."""
        return {shape.key: shape for shape in self.shapes}

    @cached_property
    def outlets(self) -> list[PondKey]:
        """The Ponds that no other reads, by name."""
        read = {source for shape in self.shapes for source, _ in shape.sources}
        return sorted(key for key in self.by_key if key not in read)

    @cached_property
    def order(self) -> list[PondKey]:
        """The Ponds, every Source before its Sinks; raises ValueError when they form a cycle."""
        waiting = {key: sum(source in self.by_key for source, _ in shape.sources) for key, shape in self.by_key.items()}
        order = sorted(key for key, count in waiting.items() if count == 0)
        for key in order:
            for sink in self.sinks.get(key, ()):
                waiting[sink] -= 1
                if waiting[sink] == 0:
                    order.append(sink)
        if len(order) < len(self.shapes):
            raise ValueError("the Ponds form a cycle")
        return order

    @cached_property
    def sinks(self) -> dict[PondKey, list[PondKey]]:
        """Who reads each Pond."""
        found: dict[PondKey, list[PondKey]] = {}
        for shape in self.shapes:
            for source, _ in shape.sources:
                found.setdefault(source, []).append(shape.key)
        return found

    @cached_property
    def leads(self) -> dict[PondKey, int]:
        """The longest way from an Inlet through each Pond, when nothing ever waits."""
        found: dict[PondKey, int] = {}
        for key in self.order:
            shape = self.by_key[key]
            before = max((found[source] for source in shape.gating if source in found), default=0)
            found[key] = before + self._own_path(shape)
        return found

    @cached_property
    def bottleneck(self) -> Place:
        """The slowest Ripple."""
        return max(self.places, key=lambda place: (self.timings[place].base, place))

    @property
    def places(self) -> Iterator[Place]:
        """Every Ripple of every Pond."""
        return ((shape.key, ripple) for shape in self.shapes for ripple in shape.ripples)

    def period(self, outlet: PondKey) -> int:
        """The slowest Ripple on the way to a Pond: no rhythm can be faster."""
        return max(self.timings[key, ripple].base for key in self.above(outlet) for ripple in self.by_key[key].ripples)

    def ideal(self, outlet: PondKey) -> int:
        """The mean staleness that cannot be beaten: the whole way, and half of the slowest step."""
        return self.leads[outlet] + self.period(outlet) // 2

    def above(self, outlet: PondKey) -> list[PondKey]:
        """The Pond itself and everything that it waits for. Optional Sources set no pace."""
        found: dict[PondKey, None] = {outlet: None}
        queue = [outlet]
        for key in queue:
            for source in sorted(self.by_key[key].gating):
                if source in self.by_key and source not in found:
                    found[source] = None
                    queue.append(source)
        return list(found)

    def workers(self) -> Workers:
        """Virtual workers: the same seed gives each execution the same duration, whatever the policy."""
        takes: dict[Place, Callable[[Execution], int]] = {
            place: jittered({place: timing.base}, timing.spread, self.seed) for place, timing in self.timings.items()
        }
        return Workers(
            takes=lambda execution: takes[execution.pond, execution.ripple](execution),
            fails=lambda execution: execution.count in self.failing.get((execution.pond, execution.ripple), ()),
        )

    def _own_path(self, shape: PondShape) -> int:
        longest: dict[str, int] = {}
        for name in shape.order:
            before = max((longest[parent] for parent in shape.ripples[name]), default=0)
            longest[name] = before + self.timings[shape.key, name].base
        return max(longest.values())
