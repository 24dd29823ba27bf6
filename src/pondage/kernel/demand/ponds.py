"""How the machine asks its host for Ponds: lazily, and only for those that an event touches."""

from collections.abc import Sequence
from typing import Protocol

from pondage.define.values.week import Week, week_of
from pondage.kernel.demand.shape import PondKey, PondShape
from pondage.kernel.demand.state import PondState
from pondage.kernel.reading.profile import Profile


class Ponds(Protocol):
    """The host's Ponds. Within one step the same key gives the same state object, which the machine mutates."""

    def state(self, key: PondKey) -> PondState | None:
        """Give the state to advance in place, or None when the Pond is not deployed."""

    def shape(self, key: PondKey) -> PondShape | None:
        """Give the definition in force, or None when the Pond is not deployed."""

    def sinks(self, key: PondKey) -> Sequence[PondKey]:
        """Give the Ponds whose definition in force names `key` as a Source, even when `key` is not deployed."""

    def definition(self, key: PondKey, definition: str) -> PondShape | None:
        """Resolve the reference that a Deploy event carries; None when it is unknown (the event is then ignored)."""

    def profile(self, key: PondKey, trigger: str) -> Profile:
        """Give what a trigger that follows its readers has learned, to be changed in place."""

    def begin_profile(self, key: PondKey, trigger: str, profile: Profile) -> None:
        """Let this be what a new trigger has learned."""

    def week(self, tz: str) -> Week:
        """Give the wall clock of a zone."""

    def put(self, state: PondState, shape: PondShape) -> None:
        """Put this definition (`state.definition`) in force: `state`, `shape` and `sinks` answer by it from now on."""

    def remove(self, key: PondKey) -> None:
        """Forget the Pond; its Sinks stay known to `sinks`."""


class MemoryPonds:
    """Ponds in dictionaries: for the simulator and for tests."""

    def __init__(self) -> None:
        """Start without Ponds."""
        self.states: dict[PondKey, PondState] = {}
        self.shapes: dict[PondKey, PondShape] = {}
        self.definitions: dict[tuple[PondKey, str], PondShape] = {}
        self.profiles: dict[tuple[PondKey, str], Profile] = {}
        self._sinks: dict[PondKey, dict[PondKey, None]] = {}

    def define(self, shape: PondShape, definition: str = "1") -> None:
        """Make a definition known under a reference, so that a Deploy event can name it."""
        self.definitions[shape.key, definition] = shape

    def state(self, key: PondKey) -> PondState | None:
        """Give the state of a deployed Pond."""
        return self.states.get(key)

    def shape(self, key: PondKey) -> PondShape | None:
        """Give the definition in force."""
        return self.shapes.get(key)

    def sinks(self, key: PondKey) -> Sequence[PondKey]:
        """Give the Sinks in the order in which they were deployed."""
        return tuple(self._sinks.get(key, ()))

    def definition(self, key: PondKey, definition: str) -> PondShape | None:
        """Resolve a reference made known by `define`."""
        return self.definitions.get((key, definition))

    def profile(self, key: PondKey, trigger: str) -> Profile:
        """Give what a trigger has learned."""
        return self.profiles[key, trigger]

    def begin_profile(self, key: PondKey, trigger: str, profile: Profile) -> None:
        """Keep it, in place of what an earlier trigger of that name had learned."""
        self.profiles[key, trigger] = profile

    def week(self, tz: str) -> Week:
        """Give the wall clock of a zone."""
        return week_of(tz)

    def put(self, state: PondState, shape: PondShape) -> None:
        """Put a definition in force and keep the Sinks of its Sources right."""
        self._unlink(shape.key)
        self.states[shape.key] = state
        self.shapes[shape.key] = shape
        for source, _ in shape.sources:
            self._sinks.setdefault(source, {})[shape.key] = None

    def remove(self, key: PondKey) -> None:
        """Forget a Pond."""
        self._unlink(key)
        self.states.pop(key, None)
        self.shapes.pop(key, None)

    def _unlink(self, key: PondKey) -> None:
        former = self.shapes.get(key)
        for source, _ in former.sources if former else ():
            self._sinks.get(source, {}).pop(key, None)
