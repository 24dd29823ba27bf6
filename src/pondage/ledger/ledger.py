"""The ledger as the rest of the program holds it: a driver, a source of identities, and the durability settings."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from pondage.define.definition import PondDefinition
from pondage.define.durability import Durability
from pondage.errors import LedgerError
from pondage.kernel.demand.shape import PondShape
from pondage.ledger import actors
from pondage.ledger.clock import Clock, HostClock
from pondage.ledger.driver import Driver, Transaction
from pondage.ledger.ids import Ids, RandomIds
from pondage.ledger.migrate import migrate
from pondage.ledger.shape import shape_of


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
        if not self.durability.can_miss_two_beats:
            raise LedgerError(
                f"heartbeat_s = {self.durability.heartbeat_s:g} is too slow for "
                f"reap_after_s = {self.durability.reap_after_s:g}",
                hint="choose 3 × heartbeat_s < reap_after_s, so that two lost beats kill nobody",
                code="BAD_DURABILITY",
            )
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
