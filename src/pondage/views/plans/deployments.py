"""The deployments of an environment, newest first, each with the plan that it carried out; and what still waits."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables import actors


class DeploymentView(msgspec.Struct, frozen=True, kw_only=True):
    """One deployment; `is_rollback` when it brought an older one back."""

    project: str
    archive: str
    deployed_at: int
    is_rollback: bool
    plan: msgspec.Raw


class DeploymentsView(msgspec.Struct, frozen=True, kw_only=True):
    """Deployments, and the Ponds whose newest definition waits for a Run of the one before."""

    environment: str
    at: int
    deployments: tuple[DeploymentView, ...]
    waiting: tuple[str, ...]


class _State(msgspec.Struct):
    deploying: str | None = None


class _Deployed(msgspec.Struct, frozen=True, kw_only=True):
    project: str
    archive: str
    deployed_at: int
    is_rollback: bool
    plan: str


def deployments(tx: Transaction, environment: str, *, limit: int = 20) -> DeploymentsView:
    """Answer the newest deployments; an environment that nobody deployed to has none."""
    found = actors.environment(tx, environment)
    rows = tx.rows(
        """SELECT project, archive, plan, restored IS NOT NULL AS is_rollback, deployed_at FROM deployments
           WHERE environment = :environment ORDER BY id DESC LIMIT :limit""",
        _Deployed,
        environment=found,
        limit=limit,
    )
    ponds = tx.rows(
        """SELECT name || '@' || major AS key, state FROM ponds
           WHERE environment = :environment AND removed_at IS NULL ORDER BY name""",
        tuple[str, _State],
        environment=found,
    )
    return DeploymentsView(
        environment=environment,
        at=tx.now,
        deployments=tuple(of_row(DeploymentView, row, plan=msgspec.Raw(row.plan.encode())) for row in rows),
        waiting=tuple(key for key, state in ponds if state.deploying is not None),
    )
