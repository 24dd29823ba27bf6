"""Asks about simulations: what one begins with, and keeping it."""

from __future__ import annotations

from collections.abc import Sequence

from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.ledger.tables.history import this_person
from pondage.views.plans.saved_simulations import KeptSimulation, SavedLine, SavedSpan, keep
from pondage.views.plans.simulation import SimulationFacts
from pondage.views.plans.simulation import facts as read_facts


@asks("GET /v1/simulation-facts")
def facts(here: Session) -> SimulationFacts:
    """Ask what is deployed, which triggers stand, and how long Ripples took."""
    with here.ledger.reading() as tx:
        return read_facts(tx, here.ledger, here.environment)


@asks("POST /v1/simulations")
def save(
    here: Session,
    *,
    name: str,
    start: int,
    length_us: int,
    triggers: Sequence[str],
    spans: Sequence[SavedSpan],
    has_more: bool,
) -> SavedLine:
    """Keep a simulation."""
    kept = KeptSimulation(
        name=name, start=start, length_us=length_us, triggers=tuple(triggers), spans=tuple(spans), has_more=has_more
    )
    with here.ledger.transaction() as tx:
        return keep(tx, here.environment, kept, by=this_person())
