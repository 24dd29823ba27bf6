"""Secrets as they may be seen: their names, and never a value."""

from __future__ import annotations

import msgspec

from pondage.errors import NotFound
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, history, secrets
from pondage.ledger.tables.history import Caller


class SecretsView(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the secrets of an environment."""

    secrets: tuple[str, ...]


class KeptSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was stored; `is_new`: there was none of its name."""

    name: str
    is_new: bool


class GoneSecret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was deleted."""

    name: str


def names(tx: Transaction, environment: str) -> SecretsView:
    """Answer the names of the secrets."""
    found = actors.environment(tx, environment)
    return SecretsView(secrets=() if found is None else tuple(each.name for each in secrets.names(tx, found)))


def put(tx: Transaction, environment: str, name: str, sealed: bytes, *, by: Caller) -> KeptSecret:
    """Store what was sealed, in place of the one before, with an audit row."""
    found = actors.environment(tx, environment, is_created=True)
    assert found is not None
    is_new = secrets.put(tx, environment=found, name=name, sealed=sealed)
    history.audit(tx, by, environment=found, verb="secret set", target=name)
    return KeptSecret(name=name, is_new=is_new)


def remove(tx: Transaction, environment: str, name: str, *, by: Caller) -> GoneSecret:
    """Delete a secret, with an audit row; raises `NotFound`."""
    found = actors.environment(tx, environment)
    if found is None or not secrets.remove(tx, environment=found, name=name):
        raise NotFound(f"there is no secret {name} in the environment {environment}", hint="see: pondage secret list")
    history.audit(tx, by, environment=found, verb="secret remove", target=name)
    return GoneSecret(name=name)
