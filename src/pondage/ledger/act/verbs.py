"""What an operator does to a Pond: a signal to its actor, which is advanced at once."""

from __future__ import annotations

from pondage.define.pond.definition import PondDefinition
from pondage.errors import NotFound, PondageError
from pondage.kernel.demand.events import Clear, Event, Tide, Wake, Wave
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.step.actor import put_event
from pondage.ledger.tables import actors, history
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.history import Caller


def send(ledger: Ledger, environment: str, event: Event, *, detail: str = "", by: Caller | None = None) -> None:
    """Tell a Pond something (Tap, Pulse, Clear, …) and settle what follows, in one transaction, with an audit row.

    Raises `NotFound` when the Pond is not deployed.
    """
    with ledger.transaction() as tx:
        identity = environment_id(tx, environment)
        row = actors.pond(tx, identity, event.pond)
        if row is None:
            raise NotFound(f"there is no Pond {event.pond} in environment {environment}", hint="pondage status")
        _refuse_on_fed(ledger.definition(tx, row.definition), event)
        if isinstance(event, Clear):
            # A halted actor reads no signals, so its halt is taken away directly.
            actors.unhalt(tx, row.actor)
        verb = type(event).__name__.lower()
        put_event(tx, actor=row.actor, event=event)
        history.audit(tx, by, environment=identity, verb=verb, target=event.pond, detail=detail)
        advance.inline(tx, ledger, row.actor, process=None)


def _refuse_on_fed(definition: PondDefinition, event: Event) -> None:
    if definition.feed is not None and isinstance(event, Wave | Tide | Wake):
        raise PondageError(
            f"{event.pond} is published by the reactor {definition.feed.reactor}, which runs by itself",
            hint="put the Wave or Tide on a Pond that reads it",
            code="FED_POND",
        )
