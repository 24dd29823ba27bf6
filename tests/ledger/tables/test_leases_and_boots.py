"""A lease of before the machine was restarted: only the clock of SQLite knows of boots; PostgreSQL is not asked."""

from __future__ import annotations

from pondage.ledger.tables import read_leases
from tests.ledger.harness import World
from tests.ledger.tables.test_read_leases import doomed, old  # noqa: F401 - a fixture


def test_a_lease_of_another_boot_is_dead(old: World) -> None:  # noqa: F811
    with old.ledger.leases.reading([min(doomed(old))]):
        old.clock.boot = "another"
        with old.ledger.reading() as tx:
            assert read_leases.leased(tx) == set()
            assert read_leases.has_dead(tx)
