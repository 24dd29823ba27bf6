"""Watching the attempts of a worker: progress that people see, timeouts, what was taken away, what nobody knows of."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Executor
from pondage.engine.attempt.progress import progress_text
from pondage.engine.worker.slots import Slots
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.upkeep import leases, reap
from pondage.work.failure import Failure
from pondage.work.progress import JobProgress

PROGRESS_EVERY_S = 0.5
LOOK_EVERY_S = 1.0
TIMEOUT_SLACK_S = 2.0
"""How much longer than the timeout the ledger waits: a worker that can ends the attempt itself, with the place."""

_log = logging.getLogger(__name__)


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Until when, by this process's clock, an attempt is well, and what it fails of when nothing changes."""

    until_s: float
    reason: leases.Reason


def lease_of(attempt: Attempt, default_s: float | None) -> Lease | None:
    """Answer the lease that an attempt should have; None while its author's time does not count, or has no limit.

    `default_s` is the progress lease of the project, for Ripples without one of their own.
    """
    from_s, timeout_s = attempt.timed_from_s, attempt.work.claim.timeout_s
    found: list[Lease] = []
    if attempt.healthy_until_s is not None:
        found.append(Lease(until_s=attempt.healthy_until_s, reason="HEALTH"))
    if from_s is None:
        return found[0] if found else None
    if timeout_s is not None:
        found.append(Lease(until_s=from_s + timeout_s + TIMEOUT_SLACK_S, reason="TIMEOUT"))
    lease_s = attempt.work.task.progress_lease_s(default_s)
    if lease_s is not None:
        found.append(Lease(until_s=max(from_s, attempt.progressed_s) + lease_s, reason="NO_PROGRESS"))
    return min(found, key=lambda each: each.until_s, default=None)


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
        self._leases: dict[str, Lease] = {}

    def look(self) -> None:
        """Look once; called about twice a second. Raises `LedgerUnavailable`: then the next look catches up."""
        now_s = self._clock()
        watched = [each for each in self._slots.attempts if now_s - each.began_s >= PROGRESS_EVERY_S]
        is_time = now_s - self._looked_s >= LOOK_EVERY_S
        if watched and is_time:
            self._looked_s = now_s
            self._find_taken_away(watched, now_s)
        known = {each.token for each in watched}
        self._leases = {token: lease for token, lease in self._leases.items() if token in known}
        for attempt in watched:
            progress = self._executor.progress(attempt.token)
            _count_time(attempt, progress, now_s)
            self._check_timeout(attempt, now_s)
            if attempt.taken_away is None:
                self._write(attempt, progress_text(attempt.phase, progress), now_s)
            elif is_time:
                self._stop(attempt, now_s)

    def _find_taken_away(self, watched: list[Attempt], now_s: float) -> None:
        """Ask the ledger what it thinks we hold: a kill closes the execution there, and tells nobody else."""
        with self._ledger.reading() as tx:
            held = executions.open_tokens(tx, self._process)
            stopped = executions.stopped_tokens(tx, self._process)
        for attempt in watched:
            if attempt.token in stopped:
                attempt.ask_to_stop()
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
                place=attempt.work.task.declared_at,
            ),
        )

    def _write(self, attempt: Attempt, progress: str, now_s: float) -> None:
        """Write progress that people have not seen and a lease that has moved, in one transaction, or nothing."""
        if progress != attempt.written_progress:
            attempt.progressed_s = now_s
        lease = lease_of(attempt, self._ledger.durability.progress_lease_s)
        is_same_lease = lease == self._leases.get(attempt.token)
        if progress == attempt.written_progress and is_same_lease:
            return
        claim = attempt.work.claim
        with self._ledger.transaction() as tx:
            is_ours = executions.put_progress(tx, execution=claim.execution, token=claim.token, progress=progress)
            if not is_same_lease:
                for_us = None if lease is None else max(0, int((lease.until_s - now_s) * 1e6))
                reason: leases.Reason = "TIMEOUT" if lease is None else lease.reason
                leases.extend(tx, execution=claim.execution, token=claim.token, for_us=for_us, reason=reason)
        attempt.written_progress = progress
        if lease is None:
            self._leases.pop(attempt.token, None)
        else:
            self._leases[attempt.token] = lease
        if not is_ours and not attempt.is_settled:
            attempt.take_away("it was cancelled or given to another process", now_s)

    def _stop(self, attempt: Attempt, now_s: float) -> None:
        # Again each second: a cancel stops the jobs of the moment, not the attempt's next one.
        self._executor.cancel(attempt.token)
        assert attempt.taken_away_s is not None
        if now_s - attempt.taken_away_s >= self._cancel_grace_s:
            _log.warning("attempt %s does not stop", attempt.token)
            attempt.is_stuck = True
            self._on_stuck(f"{attempt.work.claim.node} did not stop within {self._cancel_grace_s:g} s")


def _count_time(attempt: Attempt, progress: JobProgress, now_s: float) -> None:
    """Do not count the time of a question as long as others leave it no thread; at most as long again as it may run."""
    timeout_s = attempt.work.claim.timeout_s
    if timeout_s is None or not progress.jobs or not attempt.work.task.waits_for_room:
        return
    if progress.tasks_begun or now_s - attempt.began_s >= timeout_s:
        if attempt.timed_from_s is None:
            attempt.start_timeout()
    elif attempt.timed_from_s is not None:
        attempt.hold_timeout()


def close_unknown_claims(ledger: Ledger, slots: Slots, *, process: int) -> int:
    """Give back claims whose answer was lost for good: nobody else can, because this process goes on beating.

    The ledger is read first and our own tokens afterwards. A token is noted before its claim and dropped after its
    commit, so one that is in the ledger's answer and not in ours is either lost or closed by now; closing is guarded.
    Answer how many were given back.
    """
    with ledger.reading() as tx:
        held = executions.open_tokens(tx, process)
    unknown = held - slots.known_tokens()
    if not unknown:
        return 0
    closed = reap.abandon(ledger, process=process, tokens=sorted(unknown))
    _log.warning("gave back %d claims that nobody here knew of", closed)
    return closed
