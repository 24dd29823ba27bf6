"""A durable host that dies at a chosen transaction, before or after its commit, and is started again at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pondage.conform.demand_durable import LedgerHost
from pondage.define.project.durability import Durability
from pondage.kernel.demand import Effect, PondShape
from pondage.kernel.demand.events import Report, Verb
from pondage.ledger.database.driver import Driver, Transaction
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap


class Died(BaseException):
    """The process is gone. It is no Exception: no code of ours may catch it."""

    def __init__(self, *, is_committed: bool) -> None:
        self.is_committed = is_committed


class MortalDriver:
    """Passes everything on, and dies where it is told to: at the n-th transaction, on either side of the commit."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.seen = 0
        self.deaths: dict[int, bool] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._driver, name)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        self.seen += 1
        is_committed = self.deaths.pop(self.seen, None)
        with self._driver.transaction() as tx:
            yield tx
            if is_committed is False:
                raise Died(is_committed=False)
        if is_committed:
            raise Died(is_committed=True)


class MortalHost(LedgerHost):
    """The durable host under deaths: whoever dies is reaped and replaced, and what was not committed is done again."""

    def __init__(self, deaths: dict[int, bool]) -> None:
        super().__init__()
        # Many deaths hit the same long execution; its tries must neither end nor be delayed.
        self._ledger.durability = Durability(retry_delay_s=0, crash_budget=1_000, crash_delay_s=0)
        self.mortal = MortalDriver(self._ledger.driver)
        self.mortal.deaths = dict(deaths)
        self._ledger.driver = self.mortal  # type: ignore[assignment]
        self.died = 0

    def settle(self, now: int, reports: Sequence[Report], actions: Sequence[Verb]) -> Sequence[Effect]:
        self._clock.time = now
        for report in reports:
            # Committed or not, asking again is right: a claim that is closed is not claimed again.
            self._survive(lambda report=report: self._commit(report), is_repeated=True)  # type: ignore[misc]
        self._survive(lambda: self._write(actions), is_repeated=False)
        return self._advance()

    def _step(self) -> None:
        self._survive(super()._step, is_repeated=True)

    def _claim(self) -> None:
        self._survive(super()._claim, is_repeated=True)

    def _deploy(self, shapes: Sequence[PondShape]) -> None:
        self._survive(lambda: super(MortalHost, self)._deploy(shapes), is_repeated=False)

    def _survive(self, action: Callable[[], None], *, is_repeated: bool) -> None:
        while True:
            try:
                action()
            except Died as death:
                self._restart()
                if is_repeated or not death.is_committed:
                    continue
            return

    def _restart(self) -> None:
        self.died += 1
        while True:
            try:
                with self._ledger.reading() as tx:
                    dead = processes.alive(tx)
                for row in dead:
                    reap.reap_process(self._ledger, row, reason="killed")
                self._process = self._register()
                self._held.clear()
                super()._claim()
            except Died:
                self.died += 1
                continue
            return
