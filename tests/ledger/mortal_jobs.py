"""A durable host of jobs that dies at a chosen transaction, before or after its commit, and is started again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pondage.conform.control_durable import LedgerControlHost
from pondage.define.project.durability import Durability
from pondage.kernel.control import Effect, Event, JobPlan
from pondage.kernel.control.events import Settled, Start
from pondage.ledger.queue import processes
from pondage.ledger.tables.actors import environment
from pondage.ledger.upkeep import job_replay, reap
from tests.ledger.mortal import Died, MortalDriver

Answer = TypeVar("Answer")


class MortalControlHost(LedgerControlHost):
    """Whoever dies is reaped and replaced; what was not committed is done again."""

    def __init__(self, deaths: dict[int, bool]) -> None:
        super().__init__()
        # Many deaths hit the same long execution; its tries must neither end nor be delayed.
        self._ledger.durability = Durability(retry_delay_s=0, crash_budget=1_000, crash_delay_s=0)
        self.mortal = MortalDriver(self._ledger.driver)
        self.mortal.deaths = dict(deaths)
        self._ledger.driver = self.mortal  # type: ignore[assignment]
        self.died = 0

    def settle(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        self._clock.time = now
        for event in events:
            if isinstance(event, Settled):
                # Committed or not, asking again is right: a claim that is closed is not claimed again.
                self._survive(lambda event=event: self._commit(event), is_repeated=True)  # type: ignore[misc]
            else:
                self._survive(lambda event=event: self._write(event), is_repeated=False)  # type: ignore[misc]
        return self._advance()

    def _step(self) -> None:
        self._survive(super()._step, is_repeated=True)

    def _claim(self) -> None:
        self._survive(super()._claim, is_repeated=True)

    def _begin(self, plan: JobPlan, start: Start) -> str:
        return self._begun(lambda: super(MortalControlHost, self)._begin(plan, start))

    def _resume(self, plan: JobPlan, start: Start) -> str:
        return self._begun(lambda: super(MortalControlHost, self)._resume(plan, start))

    def _begun(self, action: Callable[[], str]) -> str:
        found = self._survive(action, is_repeated=False)
        if found is not None:
            return found
        with self._ledger.reading() as tx:
            row = tx.row("SELECT public_id FROM job_runs ORDER BY id DESC LIMIT 1")
        assert row is not None
        return str(row["public_id"])

    def _survive(self, action: Callable[[], Answer], *, is_repeated: bool) -> Answer | None:
        while True:
            try:
                return action()
            except Died as death:
                self._restart()
                if is_repeated or not death.is_committed:
                    continue
            return None

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

    def replayed(self) -> tuple[str, ...]:
        """The rows that the recorded history does not give."""
        with self._ledger.reading() as tx:
            identity = environment(tx, "conformance")
            assert identity is not None
            return job_replay.replay_runs(tx, self._ledger, identity).differences
