"""Secrets as they may be seen: their names, and never a value."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, secrets


class SecretsView(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the secrets of an environment."""

    secrets: tuple[str, ...]


def names(tx: Transaction, environment: str) -> SecretsView:
    """Answer the names of the secrets."""
    found = actors.environment(tx, environment)
    return SecretsView(secrets=() if found is None else tuple(each.name for each in secrets.names(tx, found)))
