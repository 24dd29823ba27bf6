"""What the durable hosts share: a ledger of one scenario on a fake clock, and a process that claims everything."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from pondage.ledger.commit import polling, work
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver, text
from pondage.ledger.database.migrate import migrate
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.kinds.kind import Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import advance

MadeLedger = TypeVar("MadeLedger", bound=Ledger)
MakeDriver = Callable[[FakeClock], Driver]


class LedgerPlace(Generic[MadeLedger]):
    """A ledger in a temporary directory."""

    def __init__(self, make_ledger: Callable[[Driver], MadeLedger], make_driver: MakeDriver | None = None) -> None:
        """`make_driver` gives another database than a file of our own."""
        self._folder = Path(tempfile.mkdtemp(prefix="pondage-conform-"))
        self._clock = FakeClock()
        # The file is thrown away at the end: it need not survive a power cut.
        file = self._folder / "ledger.db"
        driver = make_driver(self._clock) if make_driver else SqliteDriver(file, self._clock, synchronous="OFF")
        migrate(driver)
        self._ledger = make_ledger(driver)

    def close(self) -> None:
        """Close the ledger and remove its file."""
        self._ledger.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class WorkedPlace(LedgerPlace[MadeLedger]):
    """The same with one process, which claims what is claimable and tells what was decided."""

    def __init__(self, make_ledger: Callable[[Driver], MadeLedger], make_driver: MakeDriver | None = None) -> None:
        super().__init__(make_ledger, make_driver)
        self._process = self._register()
        self._seen = 0

    def next_timer(self) -> int | None:
        """Give the time of the earliest timer row."""
        with self._ledger.reading() as tx:
            return advance.next_due(tx)

    def _register(self) -> int:
        with self._ledger.transaction() as tx:
            return processes.register(
                tx, public_id=self._ledger.ids.new("p"), machine="virtual", pid=1, pid_started=1, role="worker", slots=1
            )

    def _decided_steps(self) -> Iterator[str]:
        """Answer the effects of each step since the last call, from the audit trail."""
        with self._ledger.reading() as tx:
            failed = tx.row("SELECT error FROM advancements WHERE error IS NOT NULL")
            assert failed is None, text(failed, "error")
            rows = tx.rows(
                "SELECT id, effects FROM advancements WHERE id > :seen ORDER BY id", tuple[int, str], seen=self._seen
            )
        for self._seen, effects in rows:
            yield effects

    def _claimed(self, code: str) -> Iterator[Work]:
        """Claim one piece of work after the other, until nothing is left."""
        queues = polling.queues_for(self._ledger, code=code)
        while queues:
            token = self._ledger.ids.new("t")
            held = work.claim_work(self._ledger, process=self._process, queues=queues, token=token, is_alone=True)
            if held is None:
                return
            yield held
