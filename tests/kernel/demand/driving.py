"""A small host for tests that go step by step: events in, effects out, and reports made from what was started."""

from collections.abc import Sequence

from pondage.kernel.demand import Effect, Event, Gate, MemoryPonds, PondKey, PondShape, PondState, explain, step
from pondage.kernel.demand.effects import StartRipple
from pondage.kernel.demand.events import Deploy, Done, Fail


class Driver:
    """Steps a few Ponds by hand."""

    def __init__(self, *shapes: PondShape) -> None:
        self.ponds = MemoryPonds()
        self.now = 0
        self.effects: Sequence[Effect] = ()
        for shape in shapes:
            self.ponds.define(shape)
        self.give(*(Deploy(pond=shape.key, definition="1") for shape in shapes))

    def give(self, *events: Event, at: int | None = None) -> Sequence[Effect]:
        self.now = self.now if at is None else at
        self.effects = step(self.ponds, events, self.now).effects
        return self.effects

    def done(self, place: str, at: int | None = None, **more: bool) -> Sequence[Effect]:
        return self.give(self.report(place, **more), at=at)

    def fail(self, place: str, at: int | None = None) -> Sequence[Effect]:
        pond, ripple = place.split(".")
        attempt = self.state(pond).ripples[ripple].attempt
        return self.give(Fail(pond=PondKey(pond), ripple=ripple, attempt=attempt), at=at)

    def report(self, place: str, **more: bool) -> Done:
        pond, ripple = place.split(".")
        attempt = self.state(pond).ripples[ripple].attempt
        return Done(pond=PondKey(pond), ripple=ripple, attempt=attempt, **more)

    def deploy(self, shape: PondShape, reference: str, at: int | None = None) -> Sequence[Effect]:
        self.ponds.define(shape, reference)
        return self.give(Deploy(pond=shape.key, definition=reference), at=at)

    def state(self, pond: str) -> PondState:
        return self.ponds.states[PondKey(pond)]

    def explain(self, pond: str) -> list[Gate]:
        return explain(self.ponds, PondKey(pond), self.now)

    def kinds(self) -> list[str]:
        return [type(effect).__name__ for effect in self.effects]

    def started(self) -> list[tuple[str, int]]:
        return [
            (f"{effect.pond}.{effect.ripple}", effect.freshness)
            for effect in self.effects
            if isinstance(effect, StartRipple)
        ]
