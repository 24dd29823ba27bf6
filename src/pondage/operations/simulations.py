"""Simulations: what one begins with, and keeping one to look at it beside what really happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from pondage.errors import NotFound
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables import actors, history
from pondage.operations.operation import Context, Level, Moment, NotedRequest, Request, operation
from pondage.views.plans.saved_simulations import (
    KIND,
    MOST_SPANS,
    KeptSimulation,
    SavedLine,
    SavedSimulation,
    SavedSimulations,
    SavedSpan,
    saved,
    saved_one,
)
from pondage.views.plans.simulation import SimulationFacts, facts

LARGEST = 2 * 1024 * 1024


class SimulationSaveRequest(NotedRequest, frozen=True, kw_only=True):
    """A simulation that was played elsewhere, to be looked at beside what really happens."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    start: Moment
    length_us: Moment
    triggers: Annotated[Sequence[Annotated[str, msgspec.Meta(max_length=500)]], msgspec.Meta(max_length=1_000)] = ()
    spans: Annotated[Sequence[SavedSpan], msgspec.Meta(max_length=MOST_SPANS)] = ()
    has_more: bool = False


class SimulationRequest(Request, frozen=True, kw_only=True):
    """A kept simulation by its id."""

    simulation: str


@operation("GET /v1/simulation-facts", Level.READ, Request)
def simulation_facts(context: Context, _: Request) -> SimulationFacts:
    """What a simulation begins with: definitions, standing triggers and recorded durations."""
    with context.ledger.reading() as tx:
        return facts(tx, context.ledger, context.environment)


@operation("POST /v1/simulations", Level.OPERATE, SimulationSaveRequest, status=201)
def simulation_save(context: Context, asked: SimulationSaveRequest) -> SavedLine:
    """Keep a simulation that was played elsewhere."""
    kept = of_row(KeptSimulation, asked, triggers=tuple(asked.triggers), spans=tuple(asked.spans))
    with context.ledger.transaction() as tx:
        environment = actors.environment(tx, context.environment)
        if environment is None:
            raise NotFound("nothing is deployed here", hint="pondage deploy", code="NO_ENVIRONMENT")
        history.record(tx, environment=environment, kind=KIND, payload=kept)
        context.audit(tx, "simulate", kept.name)
        return saved(tx, context.environment).simulations[0]


@operation("GET /v1/simulations", Level.READ, Request)
def simulation_list(context: Context, _: Request) -> SavedSimulations:
    """Simulations that were kept with `pondage simulate --save`, newest first."""
    with context.ledger.reading() as tx:
        return saved(tx, context.environment)


@operation("GET /v1/simulations/{simulation}", Level.READ, SimulationRequest)
def simulation_show(context: Context, asked: SimulationRequest) -> SavedSimulation:
    """A kept simulation with its Runs."""
    with context.ledger.reading() as tx:
        return saved_one(tx, context.environment, asked.simulation)
