"""Asks about components and types, and about the queues of components."""

from __future__ import annotations

from pondage.cli.client.desk import asks
from pondage.cli.client.session import Session
from pondage.ledger.act import rebinding
from pondage.ledger.tables import actors
from pondage.ledger.tables.history import Caller, this_person
from pondage.ledger.upkeep import retention
from pondage.views.jobs import components as views
from pondage.views.jobs.components import KnownComponent, KnownType
from pondage.views.jobs.queues import QueuesView, Rebound, component_queues


@asks("GET /v1/components")
def components(here: Session) -> list[KnownComponent]:
    """Ask for the library, and what projects have deployed for trees."""
    with here.ledger.reading() as tx:
        return views.components(tx, here.environment)


@asks("GET /v1/types")
def types(here: Session) -> list[KnownType]:
    """Ask for the types that are built in, and those of projects."""
    with here.ledger.reading() as tx:
        return views.types(tx, here.environment, here.project.types)


@asks("GET /v1/components/queues")
def queues(here: Session, *, is_all: bool) -> QueuesView:
    """Ask what waits for which code."""
    with here.ledger.reading() as tx:
        return component_queues(tx, is_all=is_all)


@asks("POST /v1/components/queues/{queue}/rebind")
def rebind(here: Session, *, queue: int, to: str | None, note: str) -> Rebound:
    """Let another code serve a queue."""
    with here.ledger.transaction() as tx:
        environment = actors.environment(tx, here.environment, is_created=True)
        assert environment is not None
        code = retention.archive_like(tx, to) if to else retention.newest_archive(tx)
        rebinding.rebind(here.ledger, tx, queue, to=code, environment=environment, by=Caller(this_person().who, note))
    return Rebound(queue=queue, served_by=code)
