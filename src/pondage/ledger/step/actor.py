"""What every kind of actor has: events that wait as signals, what it takes in of them, and its step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

import msgspec

from pondage.kernel.control import Event as ControlEvent
from pondage.kernel.demand.events import Event
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.tables.actors import ActorRow, SignalRow

Happening = Event | ControlEvent
"""What can happen to an actor: an event of the machine that it is."""


class Settled(Protocol):
    """What one advancement did: for the audit trail, and for replaying it."""

    @property
    def rounds(self) -> Sequence[object]:
        """Answer the events of each step of the machine."""

    @property
    def touched(self) -> Sequence[object]:
        """Answer what was changed."""

    @property
    def effects(self) -> Sequence[object]:
        """Answer what the machine decided."""


class ActorKind(ABC):
    """A kind of actor. `advance` locks one, hands it what is due, and writes down what it did."""

    name: ClassVar[str]
    """As `actors.kind` holds it."""

    def taken_in(
        self, tx: Transaction, actor: ActorRow, signals: list[SignalRow], event: Happening | None
    ) -> tuple[list[SignalRow], Happening | None]:
        """Answer what the next step takes in of what is due: all of it, unless something must come first."""
        del tx, actor
        return signals, event

    @abstractmethod
    def settle(
        self, tx: Transaction, ledger: Ledger, actor: ActorRow, signals: list[SignalRow], event: Happening | None
    ) -> tuple[Settled, list[int]]:
        """Step a locked actor; answer what that did, and the other actors that were told something."""

    def is_open(self, tx: Transaction, actor: int) -> bool:
        """Answer whether a step was left half done, so that the next one must follow at once."""
        del tx, actor
        return False


def put_event(tx: Transaction, *, actor: int, event: Happening, delay_us: int = 0) -> None:
    """Write something that happened to a Pond or to a run of a job as a signal to its actor."""
    actors.put_signal(
        tx,
        actor=actor,
        kind=type(event).__name__.lower(),
        pond=None if isinstance(event, ControlEvent) else event.pond,
        payload=msgspec.json.encode(event).decode(),
        delay_us=delay_us,
    )
