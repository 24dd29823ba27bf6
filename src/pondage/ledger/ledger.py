"""The ledger as the rest of the program holds it: a driver, a source of identities, and the durability settings."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from pondage.define.definition import PondDefinition
from pondage.errors import LedgerError
from pondage.kernel.demand.shape import PondShape
from pondage.ledger import actors
from pondage.ledger.clock import Clock, HostClock
from pondage.ledger.driver import Driver, Transaction
from pondage.ledger.ids import Ids, RandomIds
from pondage.ledger.migrate import migrate
from pondage.ledger.shape import shape_of


class Durability(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How patient the ledger is: `[durability]` of the project file. Seconds, budgets, counts."""

    heartbeat_s: float = 5.0
    probe_s: float = 1.0
    reap_after_s: float = 60.0
    child_margin_s: float = 10.0
    retry_delay_s: float = 10.0
    crash_budget: int = 10
    advance_retries: int = 10
    poll_s: float = 1.0
    drain_s: float = 30.0
    keep_runs: int = 5
    retention_days: float = 30.0

    def __post_init__(self) -> None:
        if 3 * self.heartbeat_s >= self.reap_after_s:
            raise LedgerError(
                f"heartbeat_s = {self.heartbeat_s:g} is too slow for reap_after_s = {self.reap_after_s:g}",
                hint="choose 3 × heartbeat_s < reap_after_s, so that two lost beats kill nobody",
                code="BAD_DURABILITY",
            )


class Ledger:
    """An open ledger. Several processes may hold one each on the same database."""

    def __init__(
        self,
        driver: Driver,
        *,
        ids: Ids | None = None,
        durability: Durability | None = None,
        is_reusing: bool = True,
        is_advancing: bool = True,
    ) -> None:
        """`is_advancing` is False only for a host that commits the reports of one instant before it steps once."""
        self.driver = driver
        self.ids = ids or RandomIds()
        self.durability = durability or Durability()
        self.is_reusing = is_reusing
        self.is_advancing = is_advancing
        self._definitions: dict[int, PondDefinition] = {}
        self._shapes: dict[int, PondShape] = {}

    @classmethod
    def open(
        cls, url: str, *, clock: Clock | None = None, ids: Ids | None = None, durability: Durability | None = None
    ) -> Ledger:
        """Open the ledger at `sqlite:///path` or just `/path`, making or migrating its tables when needed.

        Raises `LedgerError` when it cannot be opened or was made by a newer Pondage.
        """
        driver = _driver(url, clock or HostClock())
        migrate(driver)
        return cls(driver, ids=ids, durability=durability)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that writes."""
        return self.driver.transaction()

    def reading(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that only reads, and sees one moment."""
        return self.driver.reading()

    def definition(self, tx: Transaction, identity: int) -> PondDefinition:
        """Answer a stored declaration. Definitions never change, so each is read once by a process."""
        found = self._definitions.get(identity)
        if found is None:
            found = self._definitions[identity] = actors.definition(tx, identity)
        return found

    def shape(self, tx: Transaction, identity: int) -> PondShape:
        """Answer what the demand machine needs to know of a stored declaration."""
        found = self._shapes.get(identity)
        if found is None:
            found = self._shapes[identity] = shape_of(self.definition(tx, identity))
        return found

    def close(self) -> None:
        """Give the connections back."""
        self.driver.close()


def _postgres(url: str) -> Driver:
    try:
        from pondage.ledger.postgres import PostgresDriver
    except ImportError as error:
        raise LedgerError(
            "the driver for PostgreSQL is not installed", hint="pip install 'pondage[postgres]'", code="NO_DRIVER"
        ) from error
    return PostgresDriver(url)


def _driver(url: str, clock: Clock) -> Driver:
    scheme, separator, rest = url.partition("://")
    path = rest if separator else url
    if (scheme == "sqlite" or not separator) and path.startswith("/"):
        from pondage.ledger.sqlite import SqliteDriver

        return SqliteDriver(Path(path), clock)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url)
    raise LedgerError(
        f"the ledger address {url!r} is not understood",
        hint='write ledger = "sqlite:///path/to/ledger.db"',
        code="BAD_LEDGER_URL",
    )
