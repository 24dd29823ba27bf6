"""The ledger as the rest of the program holds it: a driver, a source of identities, and the durability settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from pondage.define.pond.definition import PondDefinition
from pondage.define.project.durability import Durability
from pondage.errors import LedgerError
from pondage.kernel.demand.shape import PondShape
from pondage.ledger.data import snapshots
from pondage.ledger.database.clock import Clock, HostClock
from pondage.ledger.database.driver import Driver, Transaction
from pondage.ledger.database.ids import Ids, RandomIds
from pondage.ledger.database.migrate import migrate
from pondage.ledger.queue import queues
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import actors, environments, job_plans
from pondage.ledger.tables.catchment_memory import KeptCatchments
from pondage.ledger.tables.job_plans import JobVersion
from pondage.ledger.tables.pond_shape import shape_of
from pondage.ledger.tables.read_leases import ReadLeases
from pondage.ledger.tables.read_log import ReadLog

Found = TypeVar("Found")


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
        self.kept = KeptCatchments()
        self.reads = ReadLog(self.transaction)
        self.leases = ReadLeases(
            self.transaction, every_s=self.durability.heartbeat_s, lasts_s=self.durability.reap_after_s
        )
        self._known: dict[tuple[str, object], object] = {}

    @classmethod
    def open(
        cls,
        url: str,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        durability: Durability | None = None,
        root: str | Path | None = None,
    ) -> Ledger:
        """Open the ledger at `sqlite:///path` or just `/path`, making or migrating its tables when needed.

        With a `root` no directory is made outside of it: a path that is mistyped must not become an empty ledger.
        Raises `LedgerError` when it cannot be opened or was made by a newer Pondage.
        """
        if root is not None:
            _refuse_new_directory(url, Path(root))
        driver = _driver(url, clock or HostClock(), durability or Durability())
        migrate(driver)
        return cls(driver, ids=ids, durability=durability)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction that writes."""
        with self.driver.transaction() as tx:
            yield tx
        self.kept.learn(tx)
        self._known.update(tx.seen)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that only reads, and sees one moment."""
        with self.driver.reading() as tx:
            yield tx
        self._known.update(tx.seen)

    def definition(self, tx: Transaction, identity: int) -> PondDefinition:
        """Answer a stored declaration. Definitions never change, so each is read once by a process."""
        return self._remembered(tx, ("definition", identity), lambda: actors.definition(tx, identity))

    def shape(self, tx: Transaction, identity: int) -> PondShape:
        """Answer what the demand machine needs to know of a stored declaration."""
        return self._remembered(tx, ("shape", identity), lambda: shape_of(self.definition(tx, identity)))

    def job(self, tx: Transaction, identity: int) -> JobVersion:
        """Answer a stored job with its look-ups."""
        return self._remembered(tx, ("job", identity), lambda: job_plans.load(tx, identity))

    def queue(self, tx: Transaction, key: QueueKey) -> int:
        """Answer the queue of work that needs this, making it the first time."""
        return self._remembered(tx, ("queue", key), lambda: queues.find(tx, key))

    def queue_of(self, tx: Transaction, definition: int) -> int:
        """Answer the queue of the Ripples of a stored declaration."""

        def find() -> int:
            declared = self.definition(tx, definition)
            labels = " ".join(sorted(declared.labels))
            return self.queue(tx, QueueKey(code=declared.archive, pool=declared.pool or "", labels=labels))

        return self._remembered(tx, ("queue of", definition), find)

    def dataset(self, tx: Transaction, *, pond: int, ripple: str) -> tuple[int, str]:
        """Answer id and public id of the dataset that a Ripple of a Pond writes, making it the first time."""
        key = "dataset", (pond, ripple)
        return self._remembered(
            tx, key, lambda: snapshots.dataset(tx, pond=pond, ripple=ripple, new_id=self.ids.new("d"))
        )

    def has_parent(self, tx: Transaction, environment: int) -> bool:
        """Answer whether an environment reads another one: that is decided when it is made, and never changes."""
        return self._remembered(tx, ("chain", environment), lambda: len(environments.chain(tx, environment))) > 1

    def _remembered(self, tx: Transaction, key: tuple[str, object], find: Callable[[], Found]) -> Found:
        # What this transaction wrote itself may still be undone: it is remembered with the transaction until then.
        found = self._known.get(key, tx.seen.get(key))
        if found is None:
            found = tx.seen[key] = find()
        return cast(Found, found)

    def close(self) -> None:
        """Write what was read, and give the connections back."""
        self.reads.close()
        self.leases.close()
        self.driver.close()


def _postgres(url: str, durability: Durability) -> Driver:
    try:
        from pondage.ledger.database.postgres import PostgresDriver
    except ImportError as error:
        raise LedgerError(
            "the driver for PostgreSQL is not installed", hint="pip install 'pondage[postgres]'", code="NO_DRIVER"
        ) from error
    return PostgresDriver(url, pause_s=durability.reap_after_s)


def _refuse_new_directory(url: str, root: Path) -> None:
    scheme, separator, rest = url.partition("://")
    if separator and scheme != "sqlite":
        return
    directory = Path(os.path.normpath("/" + (rest if separator else url).lstrip("/"))).parent
    if not directory.is_relative_to(root) and not directory.is_dir():
        raise LedgerError(
            f"there is no directory {directory} for the ledger",
            hint="correct `ledger` in pondage.toml, or make the directory: outside the project none is made",
            code="NO_LEDGER_DIRECTORY",
        )


def _driver(url: str, clock: Clock, durability: Durability) -> Driver:
    scheme, separator, rest = url.partition("://")
    path = rest if separator else url
    if (scheme == "sqlite" or not separator) and path.startswith("/"):
        from pondage.ledger.database.sqlite import SqliteDriver

        return SqliteDriver(Path(path), clock)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url, durability)
    raise LedgerError(
        f"the ledger address {url!r} is not understood",
        hint='write ledger = "sqlite:///path/to/ledger.db" or "postgresql://user@host/database"',
        code="BAD_LEDGER_URL",
    )
