"""Asks about flows: trees that run. A flow is a run of a job, so it starts and goes on as one."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pondage.cli.client.desk import asks, fetches
from pondage.cli.client.session import Session
from pondage.ledger.act import flow_constants, flows
from pondage.ledger.tables.history import this_person
from pondage.views.jobs.flows import FlowDetail, FlowsView, StoredConstant, flow_run, list_flows

LOOK_AGAIN_S = 2.0


class CleanedUp(msgspec.Struct, frozen=True, kw_only=True):
    """How many tables between nodes go."""

    tables: int


@asks("POST /v1/flows/constants")
def store(here: Session, *, data: bytes) -> StoredConstant:
    """Keep a constant."""
    return StoredConstant(ref=flow_constants.store(here.ledger, here.environment, data, by=this_person()))


@asks("GET /v1/flows")
def newest(here: Session, *, name: str | None, limit: int) -> FlowsView:
    """Ask for the newest flows."""
    with here.ledger.reading() as tx:
        return list_flows(tx, here.ledger, here.environment, name=name, limit=limit)


@asks("GET /v1/flows/{run}")
def flow(here: Session, *, run: str) -> FlowDetail:
    """Ask for a flow in full."""
    with here.ledger.reading() as tx:
        return flow_run(tx, here.ledger, here.environment, run)


@asks("POST /v1/flows/{run}/stop")
def stop(here: Session, *, run: str, node: str | None) -> FlowDetail:
    """Ask a node, or all of a flow, to end."""
    flows.stop(here.ledger, here.environment, run, node, by=this_person())
    return flow.here(here, run=run)


@asks("POST /v1/flows/{run}/cleanup")
def clean_up(here: Session, *, run: str) -> CleanedUp:
    """Let what is between the nodes go."""
    return CleanedUp(tables=flows.clean_up(here.ledger, here.environment, run, by=this_person()))


@fetches("/v1/flows/{run}/extracts/{name}")
def extract(here: Session, *, run: str, name: str, offset: int, wait: bool) -> Iterator[bytes]:
    """Fetch an output as bytes; at the head it waits until the output has ended."""
    from pondage.connect.extraction import extracted
    from pondage.ledger.act import extracts

    with here.ledger.reading() as tx:
        one = extracts.find(tx, here.ledger, here.environment, run, name)
    changes = here.ledger.driver.changes()
    try:
        yield from extracted(
            here.ledger, one, offset=offset, wait=(lambda: _again(changes.wait(LOOK_AGAIN_S))) if wait else None
        )
    finally:
        changes.close()


def _again(_has_changed: bool) -> None:
    """Look again, whether something has changed or not."""
