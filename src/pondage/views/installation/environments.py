"""Environments: which is above which, what each has of its own, and where the rest is read from."""

from __future__ import annotations

import msgspec

from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.environments import EnvironmentRow


class EnvironmentView(msgspec.Struct, frozen=True, kw_only=True):
    """One environment. `own` counts its Ponds, `bytes` the data that was written in it and is retained."""

    name: str
    parent: str | None
    own: int
    borrowed: int
    bytes: int


class EnvironmentsView(msgspec.Struct, frozen=True, kw_only=True):
    """Every environment, by name."""

    environments: tuple[EnvironmentView, ...]


class ReadPondView(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond as readers of an environment find it. `is_own`: it is deployed there; `run` is what they see."""

    key: str
    is_own: bool
    read_from: str
    run: str | None


class EnvironmentDetailView(msgspec.Struct, frozen=True, kw_only=True):
    """One environment, and where each Pond that can be read in it comes from."""

    environment: EnvironmentView
    ponds: tuple[ReadPondView, ...]


def all_environments(tx: Transaction) -> EnvironmentsView:
    """Answer every environment."""
    rows = environments.rows(tx)
    return EnvironmentsView(environments=tuple(_view(tx, row, rows) for row in rows))


def environment(tx: Transaction, name: str) -> EnvironmentDetailView:
    """Answer one environment; raises `NotFound`."""
    found = environments.find(tx, name)
    own = {row.key for row in actors.ponds(tx, found.id) if row.borrows is None}
    return EnvironmentDetailView(
        environment=_view(tx, found, environments.rows(tx)),
        ponds=tuple(
            ReadPondView(
                key=each.row.key,
                is_own=each.row.key in own,
                read_from=each.environment,
                run=_current(tx, each.row.id),
            )
            for each in environments.readable(tx, found.id)
        ),
    )


def _view(tx: Transaction, row: EnvironmentRow, known: list[EnvironmentRow]) -> EnvironmentView:
    ponds = actors.ponds(tx, row.id)
    size = tx.one(
        """SELECT CAST(coalesce(sum(s.bytes), 0) AS BIGINT) FROM snapshots s JOIN datasets d ON d.id = s.dataset
           JOIN ponds p ON p.id = d.pond WHERE p.environment = :id AND s.tombstoned_at IS NULL""",
        int,
        id=row.id,
    )
    return EnvironmentView(
        name=row.name,
        parent=next((each.name for each in known if each.id == row.parent), None),
        own=sum(each.borrows is None for each in ponds),
        borrowed=sum(each.borrows is not None for each in ponds),
        bytes=size,
    )


def _current(tx: Transaction, pond: int) -> str | None:
    run = snapshots.current_run(tx, pond)
    return None if run is None else tx.row("SELECT public_id FROM runs WHERE id = :id", str, id=run)
