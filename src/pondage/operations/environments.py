"""Environments: which there are, what one reads from another, and taking one away."""

from __future__ import annotations

from pondage.ledger.act import removal
from pondage.ledger.act.removal import RemovedEnvironment
from pondage.operations.operation import Context, Level, Request, operation
from pondage.operations.ponds import NameRequest
from pondage.views.installation.environments import (
    EnvironmentDetailView,
    EnvironmentsView,
    all_environments,
    environment,
)


@operation("GET /v1/environments", Level.READ, Request)
def env_list(context: Context, _: Request) -> EnvironmentsView:
    """The environments that the token is bound to."""
    with context.ledger.reading() as tx:
        return all_environments(tx)


@operation("GET /v1/environments/{name}", Level.READ, NameRequest)
def env_show(context: Context, asked: NameRequest) -> EnvironmentDetailView:
    """Where each Pond of one is read from."""
    with context.ledger.reading() as tx:
        return environment(tx, asked.name)


@operation("DELETE /v1/environments/{name}", Level.ADMIN, NameRequest)
def env_remove(context: Context, asked: NameRequest) -> RemovedEnvironment:
    """Take an environment away, with the data that no other one shows."""
    return removal.remove(context.ledger, asked.name, by=context.by)
