"""Watching the attempts of a worker: progress that people see, timeouts, and attempts that were taken away."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from pondage.engine.attempt import Attempt
from pondage.engine.executor import Executor
from pondage.engine.slots import Slots
from pondage.ledger import executions
from pondage.ledger.ledger import Ledger
from pondage.ledger.work import Failure

PROGRESS_EVERY_S = 0.5
LOOK_EVERY_S = 1.0

_log = logging.getLogger(__name__)


class ProgressText(msgspec.Struct, frozen=True, kw_only=True):
    """What `executions.progress` holds."""

    phase: str
    jobs: int
    stages: int
    tasks_done: int
    tasks_all: int


class Watch:
    """Looks at every attempt a few times a second. A quick attempt is over before its first look and costs nothing."""

    def __init__(
        self,
        ledger: Ledger,
        executor: Executor,
        slots: Slots,
        *,
        process: int,
        cancel_grace_s: float,
        on_stuck: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._executor = executor
        self._slots = slots
        self._process = process
        self._cancel_grace_s = cancel_grace_s
        self._on_stuck = on_stuck
        self._clock = clock
        self._looked_s = clock()

    def look(self) -> None:
        """Look once; called about twice a second. Raises `LedgerUnavailable`: then the next look catches up."""
        now_s = self._clock()
        watched = [each for each in self._slots.attempts if now_s - each.began_s >= PROGRESS_EVERY_S]
        is_time = now_s - self._looked_s >= LOOK_EVERY_S
        if watched and is_time:
            self._looked_s = now_s
            self._find_taken_away(watched, now_s)
        for attempt in watched:
            self._check_timeout(attempt, now_s)
            if attempt.taken_away is None:
                self._write_progress(attempt, now_s)
            elif is_time:
                self._stop(attempt, now_s)

    def _find_taken_away(self, watched: list[Attempt], now_s: float) -> None:
        """Ask the ledger what it thinks we hold: a kill closes the execution there, and tells nobody else."""
        with self._ledger.reading() as tx:
            held = executions.open_tokens(tx, self._process)
        for attempt in watched:
            if attempt.token not in held and not attempt.is_settled:
                attempt.take_away("it was cancelled or given to another process", now_s)

    def _check_timeout(self, attempt: Attempt, now_s: float) -> None:
        timeout_s, from_s = attempt.work.claim.timeout_s, attempt.timed_from_s
        if timeout_s is None or from_s is None or attempt.taken_away is not None or now_s - from_s < timeout_s:
            return
        attempt.take_away(f"it ran longer than {timeout_s:g} s", now_s)
        self._slots.fail(
            attempt,
            Failure(
                code="TIMEOUT",
                message=f"{attempt.work.claim.node} ran longer than its timeout of {timeout_s:g} s",
                place=None if attempt.work.ripple is None else attempt.work.ripple.definition.place or None,
            ),
        )

    def _write_progress(self, attempt: Attempt, now_s: float) -> None:
        jobs = self._executor.progress(attempt.token)
        text = msgspec.json.encode(
            ProgressText(
                phase=attempt.phase, jobs=jobs.jobs, stages=jobs.stages,
                tasks_done=jobs.tasks_done, tasks_all=jobs.tasks_all,
            )
        ).decode()  # fmt: skip
        if text == attempt.written_progress:
            return
        claim = attempt.work.claim
        with self._ledger.transaction() as tx:
            is_ours = executions.put_progress(tx, execution=claim.execution, token=claim.token, progress=text)
        attempt.written_progress = text
        if not is_ours and not attempt.is_settled:
            attempt.take_away("it was cancelled or given to another process", now_s)

    def _stop(self, attempt: Attempt, now_s: float) -> None:
        # Again each second: a cancel stops the jobs of the moment, not the attempt's next one.
        self._executor.cancel(attempt.token)
        assert attempt.taken_away_s is not None
        if now_s - attempt.taken_away_s >= self._cancel_grace_s:
            _log.warning("attempt %s does not stop", attempt.token)
            self._on_stuck(f"{attempt.work.claim.node} did not stop within {self._cancel_grace_s:g} s")
