"""The deployments of an environment, newest first, each with the plan that it carried out; and what still waits."""

from __future__ import annotations

import msgspec

from pondage.define.values.names import pond_key
from pondage.ledger.database.driver import Transaction, number, number_or_none, text
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


def deployments(tx: Transaction, environment: str, *, limit: int = 20) -> DeploymentsView:
    """Answer the newest deployments; an environment that nobody deployed to has none."""
    found = actors.environment(tx, environment)
    rows = tx.rows(
        """SELECT project, archive, plan, restored, deployed_at FROM deployments
           WHERE environment = :environment ORDER BY id DESC LIMIT :limit""",
        environment=found,
        limit=limit,
    )
    ponds = tx.rows(
        "SELECT name, major, state FROM ponds WHERE environment = :environment AND removed_at IS NULL ORDER BY name",
        environment=found,
    )
    return DeploymentsView(
        environment=environment,
        at=tx.now,
        deployments=tuple(
            DeploymentView(
                project=text(row, "project"),
                archive=text(row, "archive"),
                deployed_at=number(row, "deployed_at"),
                is_rollback=number_or_none(row, "restored") is not None,
                plan=msgspec.Raw(text(row, "plan").encode()),
            )
            for row in rows
        ),
        waiting=tuple(
            pond_key(text(row, "name"), number(row, "major"))
            for row in ponds
            if msgspec.json.decode(text(row, "state"), type=_State).deploying is not None
        ),
    )
