"""What a reaction scenario needs of a host; and the virtual host: a journal in a list, commits that take time."""

from collections.abc import Callable
from typing import Protocol

from pondage.kernel.reaction import (
    AnyRecord,
    Effect,
    Event,
    Full,
    ReactorShape,
    State,
    is_derivable,
    new_state,
    next_deadline,
    recover,
    redeclare,
    step,
)
from pondage.kernel.reaction.effects import CancelFire, Log, StartFire
from pondage.kernel.reaction.events import Begin, Tick
from pondage.kernel.reaction.look import look
from pondage.kernel.reaction.redeclare import changed_kinds

Perform = Callable[[Effect], None]
Later = Callable[[int, Callable[[int], None]], None]
"""Call this function at that time, after everything that was to be called at the same time before."""


class ReactorHost(Protocol):
    """One reactor whose clock and world are played by a simulation. Effects are handed out when rule H1 allows it."""

    def begin(self, now: int) -> None:
        """Begin a life: recover from the journal and start."""

    def feed(self, event: Event | list[object], now: int) -> None:
        """Step the machine with one event."""

    def tick(self, now: int) -> None:
        """Let timers that are due run."""

    def next_timer(self) -> int | None:
        """Give the time of the machine's next deadline; None while the process is down."""

    def crash(self) -> None:
        """Die: what is not committed is lost."""

    def redeclare(self, shape: ReactorShape) -> None:
        """While down: the next life has another declaration (one that changes a source's kind is not taken)."""

    def offset(self, source: str) -> int | None:
        """Give how far a source was read."""

    def look(self) -> dict[str, object]:
        """Give the state as GetState answers it."""

    def close(self) -> None:
        """Release whatever the host holds."""


MakeReactorHost = Callable[[ReactorShape, Perform, Later, int], ReactorHost]
"""A host for this reactor; the last argument is how long a group commit takes."""


class VirtualReactorHost:
    """Steps the reaction machine in virtual time, with the output rule (H1) and planned starts that run ahead (H2)."""

    def __init__(self, shape: ReactorShape, perform: Perform, later: Later, commit_takes: int) -> None:
        self.shape = shape
        self.journal: list[AnyRecord] = []
        self.state: State | None = None
        self._perform = perform
        self._later = later
        self._commit_takes = commit_takes
        self._pending: list[AnyRecord] = []
        self._held: list[Effect] = []
        self._life = 0

    def begin(self, now: int) -> None:
        """Begin a life from the journal; without one it begins from nothing."""
        self._life += 1
        self.state = new_state(self.shape, recover(self.shape, self.journal))
        self.feed(Begin(), now)

    def feed(self, event: Event | list[object], now: int) -> None:
        """Step, then perform or hold each effect."""
        if self.state is None:
            return
        for effect in self.advance(self.state, event, now):
            if type(effect) is Log:
                self._write(effect.record, now)
            elif self._may_perform(effect):
                self._perform(effect)
            else:
                self._held.append(effect)

    def advance(self, state: State, event: Event | list[object], now: int) -> list[Effect]:
        """Call the machine; a place for tests to look at each step."""
        return step(state, event, now)

    def tick(self, now: int) -> None:
        """Feed a tick."""
        self.feed(Tick(), now)

    def next_timer(self) -> int | None:
        """Give the machine's next deadline."""
        return None if self.state is None else next_deadline(self.state)

    def crash(self) -> None:
        """Lose everything that is not in the journal."""
        self._life += 1
        self.state = None
        self._pending, self._held = [], []

    def redeclare(self, shape: ReactorShape) -> None:
        """Fold the journal under the declaration it was written under, and begin a new one with the full state."""
        if changed_kinds(self.shape, shape):
            return
        self.journal = [Full(redeclare(self.shape, recover(self.shape, self.journal), shape).facts)]
        self.shape = shape

    def offset(self, source: str) -> int | None:
        """Give how far a source was read."""
        return None if self.state is None else self.state.facts.sources[source].offset

    def look(self) -> dict[str, object]:
        """Give the state, or what the next life would begin with."""
        return look(self.state or new_state(self.shape, recover(self.shape, self.journal)))

    def close(self) -> None:
        """Hold nothing, release nothing."""

    def _write(self, record: AnyRecord, now: int) -> None:
        if self._commit_takes == 0:
            self.journal.append(record)
            return
        if not self._pending:
            life = self._life
            self._later(now + self._commit_takes, lambda _: self._commit(life))
        self._pending.append(record)

    def _commit(self, life: int) -> None:
        if life != self._life:
            return
        self.journal += self._pending
        held, self._pending, self._held = self._held, [], []
        for effect in held:
            self._perform(effect)

    def _may_perform(self, effect: Effect) -> bool:
        if not self._pending:
            return True
        if type(effect) is not StartFire or not effect.is_early:
            return False
        if any(isinstance(held, (StartFire, CancelFire)) for held in self._held):
            return False
        return all(is_derivable(record) for record in self._pending)
