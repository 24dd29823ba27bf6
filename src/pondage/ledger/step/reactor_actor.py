"""Reactors as actors of the ledger: their machine runs in a live host, which holds the lease, never here."""

from __future__ import annotations

from typing import NoReturn

from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step.actor import ActorKind, Happening
from pondage.ledger.tables.actors import ActorRow, SignalRow


class ReactorActor(ActorKind):
    """A reactor. Its signals are never due (`reactors.NEVER_DUE`): its owner reads them, and no step comes to it."""

    name = "reactor"

    def settle(
        self, tx: Transaction, ledger: Ledger, actor: ActorRow, signals: list[SignalRow], event: Happening | None
    ) -> NoReturn:
        """Refuse: whoever sends an event of a Pond or a job to a reactor has mistaken it for another actor."""
        del tx, ledger, event
        raise AssertionError(f"reactor {actor.key} was to be stepped in the ledger, by {len(signals)} signals")
