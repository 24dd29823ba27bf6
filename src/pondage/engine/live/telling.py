"""What a reactor tells the ledger beside its journal: carried over, published, made into jobs, in a thread of its own.

Each of these goes on when another cannot; what is stuck is said in the ledger, with the time since when.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from pondage.define.reactor.boundary import kept_text
from pondage.engine.live.handing import Handing
from pondage.engine.live.publishing import Publisher
from pondage.errors import LedgerError, PondageError
from pondage.ledger.commit import reactor_jobs, reactor_said
from pondage.ledger.commit.journal import Carrier, FileJournal
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import reactors
from pondage.ledger.tables.reactors import Lease, LedgerRow, ReactorRow

CARRY_AGAIN_S = 1.0
TIDY_EVERY_S = 1.0

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class Telling:
    """Tells the ledger for one reactor, as long as one host owns it. All methods are called on the loop."""

    def __init__(self, ledger: Ledger, row: ReactorRow, lease: Lease, handing: Handing) -> None:
        self.publisher: Publisher | None = None
        self.journal: FileJournal | None = None
        """Whose outbox is carried over; without one what is said waits in memory."""
        self.dead_fires: list[reactor_jobs.DeadFire] = []
        self._ledger = ledger
        self._name = row.name
        self._lease = lease
        self._handing = handing
        self._is_stuck = row.stuck is not None
        # What was cancelled goes on in its thread: only one behind the other are these safe.
        self._clerk = ThreadPoolExecutor(1, thread_name_prefix=f"clerk of {row.name}")
        self._carrier: Carrier | None = None
        self._said: list[LedgerRow] = []
        self._has_said = asyncio.Event()
        self._is_closing = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_closing(self) -> bool:
        """Answer whether it ends."""
        return self._is_closing

    def begin(self) -> None:
        """Tell from now on, first what a former life left."""
        self._has_said.set()
        self._task = asyncio.get_running_loop().create_task(self._go_on())

    def say(self, row: LedgerRow) -> None:
        """Tell the ledger something, of a reactor without a journal."""
        self._said.append(row)
        self._has_said.set()

    def look(self) -> None:
        """Look soon: something to be told is in the journal."""
        self._has_said.set()

    async def carry_said(self) -> None:
        """Bring over what was said, so that whoever reads the ledger next finds it. Raises LedgerError."""
        await self._by_clerk(self._carry_said)

    async def forget_results(self) -> None:
        """Publish what a former life in memory has left, and forget it: fires are counted anew. Raises LedgerError."""
        if self.publisher is not None:
            await self._by_clerk(self.publisher.publish)
            await self._by_clerk(self.publisher.forget)

    async def redrive_jobs(self, fire: int) -> bool:
        """Decide the jobs of a good fire once more; answer whether they could be."""

        def redrive() -> None:
            with self._ledger.transaction() as tx:
                reactor_jobs.try_again(tx, self._lease.actor, fire)
            self._start_jobs()

        await self._by_clerk(redrive)
        return all(each.fire != fire for each in self.dead_fires)

    async def close(self, *, is_lost: bool) -> None:
        """End, and tell what is left unless another owns the reactor."""
        # The carrying task first, so that the last carry below is alone; the journal's file stays open until then.
        if self._task is not None:
            self._is_closing = True
            self._has_said.set()
            await self._task
        if not is_lost:
            try:
                await self._by_clerk(self._tell)
            except Exception as error:  # noqa: BLE001 - the next owner finds it where it is, and tells it then
                _log.warning("what reactor %s says is left to its next owner: %s", self._name, error)
        if self._carrier is not None:
            await self._by_clerk(self._carrier.close)
        self._clerk.shutdown(wait=False)

    async def _go_on(self) -> None:
        while not self._is_closing:
            with suppress(TimeoutError):
                async with asyncio.timeout(TIDY_EVERY_S):
                    await self._has_said.wait()
            # Cleared before it is carried: what is said meanwhile sets it again, and the next turn carries that.
            is_said = self._has_said.is_set()
            self._has_said.clear()
            try:
                if is_said:
                    await self._by_clerk(self._tell)
                if self._carrier is not None:
                    await self._by_clerk(self._carrier.tidy)
            except Exception as error:  # noqa: BLE001 - said in the ledger, and tried again
                _log.warning("what reactor %s says waits", self._name, exc_info=error)
                if not self._is_closing:
                    self._has_said.set()
                    await asyncio.sleep(CARRY_AGAIN_S)

    def _tell(self) -> None:
        """Do everything that there is to do; raises the first error, when the others had their turn."""
        failed: list[tuple[str, Exception]] = []
        for item, act in (("said", self._carry_said), ("publication", self._publish), ("jobs", self._start_jobs)):
            try:
                act()
            except Exception as error:  # noqa: BLE001 - raised below
                failed.append((item, error))
        if failed:
            with suppress(LedgerError):
                self._say_stuck(*failed[0])
            raise failed[0][1]
        if self._is_stuck:
            with self._ledger.transaction() as tx:
                reactors.goes_on(tx, self._lease.actor)
            self._is_stuck = False

    def _say_stuck(self, item: str, error: Exception) -> None:
        if item == "publication" and self.publisher is not None:
            item = self.publisher.due() or item
        text = error.message if isinstance(error, PondageError) else f"{type(error).__name__}: {error}"
        self._is_stuck = True
        with self._ledger.transaction() as tx:
            if reactors.claimed(tx, token=self._lease.token) is not None:
                reactors.cannot_go_on(tx, self._lease, item, kept_text(text))

    def _carry_said(self) -> None:
        if self.journal is not None:
            if self._carrier is None:
                self._carrier = Carrier(self.journal.path, self._ledger, self._lease)
            self._carrier.carry_all()
        elif self._said:
            # The loop goes on appending while this thread writes: only what was copied is written, and only that goes.
            said = list(self._said)
            with self._ledger.transaction() as tx:
                reactor_said.take_rows(tx, self._lease, said)
            del self._said[: len(said)]

    def _publish(self) -> None:
        if self.publisher is not None:
            self.publisher.publish()

    def _start_jobs(self) -> None:
        if self._handing.has_jobs:
            reactor_jobs.start_due(self._ledger, self._lease)
            with self._ledger.reading() as tx:
                self.dead_fires = reactor_jobs.dead_fires(tx, self._lease.actor)

    async def _by_clerk(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._clerk, call)
