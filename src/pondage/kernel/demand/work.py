"""The working memory of one step: the Ponds that were loaded, the signals under way, what changed, what was decided."""

from collections import deque
from collections.abc import Iterable

from pondage.kernel.demand.effects import Effect
from pondage.kernel.demand.ponds import Ponds
from pondage.kernel.demand.shape import PondKey, PondShape
from pondage.kernel.demand.signals import Demand, Fact
from pondage.kernel.demand.state import PondState
from pondage.kernel.reading.profile import Profile


class Pond:
    """A Pond as a step sees it: its state, its shape, and the Ripples that may have become startable."""

    __slots__ = ("candidates", "key", "shape", "state")

    def __init__(self, state: PondState, shape: PondShape) -> None:
        self.key = shape.key
        self.state = state
        self.shape = shape
        self.candidates: dict[str, None] = {}


class Work:
    """Everything under way in one step. Handlers get it with the Pond they are about, and touch no other Pond."""

    __slots__ = (
        "_loaded",
        "_queue",
        "_ready",
        "agreed",
        "changed",
        "demands",
        "effects",
        "facts",
        "now",
        "ponds",
        "profiled",
        "slept",
        "touched",
    )

    def __init__(self, ponds: Ponds, now: int) -> None:
        self.ponds = ponds
        self.now = now
        self.facts: deque[tuple[PondKey, Fact]] = deque()
        self.demands: deque[tuple[PondKey, Demand]] = deque()
        self._ready: set[PondKey] = set()
        self._queue: deque[PondKey] = deque()
        self.touched: dict[PondKey, None] = {}
        self.changed: dict[PondKey, None] = {}
        self.profiled: dict[tuple[PondKey, str], None] = {}
        """The triggers whose profile was looked at, and may have changed."""
        self.agreed: dict[PondKey, int] = {}
        """Ponds whose Sources were found to agree, for a Run at this freshness."""
        self.slept: set[tuple[PondKey, int]] = set()
        self.effects: list[Effect] = []
        self._loaded: dict[PondKey, Pond | None] = {}

    def load(self, key: PondKey) -> Pond | None:
        """Give a Pond, asking the host at most once in a step; None when it is not deployed."""
        try:
            return self._loaded[key]
        except KeyError:
            state, shape = self.ponds.state(key), self.ponds.shape(key)
            pond = Pond(state, shape) if state is not None and shape is not None else None
            self._loaded[key] = pond
            return pond

    def keep(self, pond: Pond) -> None:
        """Remember a Pond that this step deployed."""
        self._loaded[pond.key] = pond
        self.change(pond)

    def forget(self, key: PondKey) -> None:
        """Forget a Pond that this step removed: nothing reaches it and nothing of it is written any more."""
        self._loaded[key] = None
        self._ready.discard(key)
        self.touched.pop(key, None)
        self.changed.pop(key, None)

    def profile(self, pond: Pond, trigger: str) -> Profile:
        """Give what a trigger has learned, to be changed in place; the host writes it."""
        self.profiled[pond.key, trigger] = None
        return self.ponds.profile(pond.key, trigger)

    def learn(self, pond: Pond, trigger: str, profile: Profile) -> None:
        """Begin with a new profile."""
        self.profiled[pond.key, trigger] = None
        self.ponds.begin_profile(pond.key, trigger, profile)

    def unfollow(self, pond: Pond, triggers: Iterable[str]) -> None:
        """Let these triggers follow nobody any more; what they have learned is forgotten."""
        for trigger in list(triggers):
            if pond.state.following.pop(trigger, None) is not None:
                self.profiled[pond.key, trigger] = None

    def look(self, pond: Pond) -> None:
        """Have the Pond looked at again before the step ends: can it start, is its Tide due?"""
        self.touched[pond.key] = None
        if pond.key not in self._ready:
            self._ready.add(pond.key)
            self._queue.append(pond.key)

    def next_ready(self) -> Pond | None:
        """Give the next Pond to look at, each once however often it was named; None when there is none."""
        while self._queue:
            key = self._queue.popleft()
            if key in self._ready:
                self._ready.remove(key)
                pond = self.load(key)
                if pond is not None:
                    return pond
        return None

    def change(self, pond: Pond) -> None:
        """Say that the Pond's state changed: it is looked at again, and the host writes it."""
        self.changed[pond.key] = None
        self.look(pond)

    def emit(self, effect: Effect) -> None:
        """Add a decision for the host."""
        self.effects.append(effect)

    def send_up(self, source: PondKey, demand: Demand) -> None:
        """Send demand to a Source; it is lost when the Source is not deployed (the Pond asks again when it appears)."""
        self.demands.append((source, demand))

    def send_down(self, pond: Pond, fact: Fact) -> None:
        """Tell every Sink."""
        for sink in self.ponds.sinks(pond.key):
            self.facts.append((sink, fact))
