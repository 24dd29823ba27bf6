"""The slots of a worker: attempts in threads, each from its claim to its guarded commit."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

import msgspec

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Crashed, Executor, Result
from pondage.engine.attempt.log import bound
from pondage.ledger.commit import guarded
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.patience import persist
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Ending
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import reap
from pondage.tracing import span
from pondage.work.failure import Failure

CLAIMS_PER_BREATH = 100

_log = logging.getLogger(__name__)


class Lane(threading.Thread):
    """A thread that runs one attempt after the other: it keeps its connection to the ledger.

    `run` answers what to run next, so that a chain of work needs no other thread; None when there is nothing.
    """

    def __init__(self, run: Callable[[Attempt], Attempt | None], rest: Callable[[Lane], None]) -> None:
        # A daemon: Python code cannot be stopped, and a process that was drained must be able to end.
        super().__init__(daemon=True)
        self._run_one = run
        self._rest = rest
        self._given: queue.SimpleQueue[Attempt] = queue.SimpleQueue()

    def take(self, attempt: Attempt) -> None:
        """Run this attempt next; only when there is nothing else to do."""
        self.name = f"slot {attempt.token}"
        self._given.put(attempt)
        if not self.is_alive():
            self.start()

    def run(self) -> None:
        """Run what is given, for as long as the process lives."""
        while True:
            following = self._run_one(self._given.get())
            while following is not None:
                self.name = f"slot {following.token}"
                following = self._run_one(following)
            self.name = "idle slot"
            self._rest(self)


class Slots:
    """Runs attempts side by side, at most `size`, and knows which tokens this process has or is about to have.

    `claim_next` is asked by a slot that is done for what it shall run next, already admitted. `on_end` is called when
    there is nothing, `on_fatal(reason)` when this process must not go on: its driver has died, or a commit failed in a
    way that nobody foresaw.
    """

    def __init__(
        self,
        ledger: Ledger,
        executor: Executor,
        *,
        process: int,
        size: int,
        claim_next: Callable[[], Attempt | None],
        on_end: Callable[[], None],
        on_fatal: Callable[[str], None],
        is_fenced: Callable[[], bool],
    ) -> None:
        self._ledger = ledger
        self._executor = executor
        self._process = process
        self._size = size
        self._claim_next = claim_next
        self._on_end = on_end
        self._on_fatal = on_fatal
        self._is_fenced = is_fenced
        self._lock = threading.Lock()
        self._attempts: dict[str, Attempt] = {}
        self._pending: set[str] = set()
        self._since_empty = 0
        self._idle: list[Lane] = []

    @property
    def attempts(self) -> list[Attempt]:
        """Answer what runs now."""
        with self._lock:
            return list(self._attempts.values())

    @property
    def is_empty(self) -> bool:
        """Answer whether nothing is here at all."""
        return not self._attempts

    @property
    def is_quiet(self) -> bool:
        """Answer whether nothing runs: only then may isolated work be claimed. Who waits for others does not run."""
        return not self.running

    @property
    def running(self) -> list[Attempt]:
        """Answer those that need their slot: all but those that wait for others."""
        return [each for each in self.attempts if not each.is_parked]

    @property
    def has_room(self) -> bool:
        """Answer whether one more may be claimed. Work that is isolated (it was near a crash) runs alone.

        Now and then the slots run empty on purpose: under a steady load isolated work would never find them so.
        """
        attempts = self.running
        # Two threads may write this at once. What is lost is one count, and the pause comes a claim later.
        if not attempts:
            self._since_empty = 0
        is_breathing = self._since_empty >= CLAIMS_PER_BREATH
        return (
            len(attempts) < self._size
            and not is_breathing
            and not any(each.work.claim.is_isolated for each in attempts)
        )

    def expect(self, token: str) -> None:
        """Note a token before the claim, so that its row is never taken for one that nobody knows."""
        with self._lock:
            self._pending.add(token)

    def forget(self, token: str) -> None:
        """Drop a token whose claim gave nothing."""
        with self._lock:
            self._pending.discard(token)

    def known_tokens(self) -> set[str]:
        """Answer every token that this process holds or is about to."""
        with self._lock:
            return self._pending | self._attempts.keys()

    def admit(self, attempt: Attempt) -> None:
        """Count an attempt among those that run here."""
        # Both under one lock: at no moment is the token in neither, or the watch would take its claim for a lost one.
        with self._lock:
            self._attempts[attempt.token] = attempt
            self._pending.discard(attempt.token)
            self._since_empty += 1

    def start(self, attempt: Attempt) -> None:
        """Run an admitted attempt in a thread that has nothing else to do, or in a new one."""
        with self._lock:
            lane = self._idle.pop() if self._idle else Lane(self._run, self._rest)
        lane.take(attempt)

    def _rest(self, lane: Lane) -> None:
        with self._lock:
            self._idle.append(lane)

    def release_streams(self, reason: str) -> int:
        """Give back the streams, which never end by themselves: another worker reads on."""
        return self._release([each for each in self.attempts if each.work.task.is_endless], reason)

    def release_all(self, reason: str) -> int:
        """Give back everything that runs; it will be run again elsewhere and counts against nothing.

        What may run only once cannot be: it fails.
        """
        released = self.release_repeatable(reason)
        for attempt in self.attempts:
            self.fail(attempt, Failure(code="TERMINATED", message=f"its worker ended before it did: {reason}"))
        return released

    def release_repeatable(self, reason: str) -> int:
        """Give back everything that may run again."""
        return self._release([each for each in self.attempts if not each.work.claim.is_once], reason)

    def _release(self, attempts: list[Attempt], reason: str) -> int:
        released = 0
        for attempt in attempts:
            # Its thread may just have a result: then one of the two writes it, never both.
            if attempt.settle():
                attempt.log.write("INFO", f"given back: {reason}")
                self._executor.cancel(attempt.token)
                released += guarded.release(self._ledger, attempt.work, give_up=self._is_fenced)
                attempt.is_written.set()
        return released

    def wait_written(self, timeout_s: float) -> None:
        """Wait until no outcome is being written any more: a process must not end in the middle of a commit."""
        deadline_s = time.monotonic() + timeout_s
        for attempt in self.attempts:
            if attempt.is_settled:
                attempt.is_written.wait(max(0.0, deadline_s - time.monotonic()))

    def fail(self, attempt: Attempt, failure: Failure) -> None:
        """End an attempt from outside, because of its time for example. Does nothing when it has just ended."""
        if attempt.settle():
            attempt.log.write("ERROR", f"{failure.code}: {failure.message}")
            self._commit(attempt, Failed(failure))
            attempt.is_written.set()

    def _run(self, attempt: Attempt) -> Attempt | None:
        try:
            self._carry_out(attempt)
        except LedgerUnavailable as error:
            # Only a fenced process gives up on a commit; what it held is taken back by a reaper.
            _log.warning("attempt %s was not committed: %s", attempt.token, error)
        except Exception as error:  # noqa: BLE001 - logged, and this process ends because of it
            _log.exception("attempt %s could not be ended", attempt.token)
            self._on_fatal(f"an attempt could not be ended: {error}")
        finally:
            # In this order: whoever waits for the outcome finds it written, and the token is known until it is.
            attempt.is_written.set()
            attempt.log.close()
            with self._lock:
                self._attempts.pop(attempt.token, None)
        # Only now there is room. The commit has made the next piece of a chain available: this thread takes it itself,
        # with the connection that it has, before anybody else is woken.
        following = self._claim_next()
        if following is None:
            self._on_end()
        return following

    def _carry_out(self, attempt: Attempt) -> None:
        """Execute an attempt and commit what it gave, unless somebody else ends it first."""
        result = self._result(attempt)
        if result is None:
            self._release([attempt], "the ledger did not answer a question while it ran")
            self._executor.discard(attempt)
            return
        if isinstance(result, Ending) and self._is_drivers_fault(result):
            # Not the author's fault and not ours to judge: every attempt in this process ends crashed, by its reaper.
            attempt.log.write("ERROR", "the Spark driver has died")
            self._on_fatal("the Spark driver has died")
            return
        # From here on it is ours alone: a timeout, a drain and this thread all ask, and the first one ends it.
        if not attempt.settle():
            self._executor.discard(attempt)
        elif not self._end(attempt, result):
            # Fenced: somebody else has closed it. There is nothing the author could do, so nobody is told.
            attempt.log.write("INFO", "this attempt was taken away meanwhile; its result is thrown away")
            self._executor.discard(attempt)

    def _result(self, attempt: Attempt) -> Result | None:
        """Answer how it ended; None when only the ledger was away, which is nobody's fault: it may run again."""
        with bound(attempt.log):
            try:
                with span("execution", **_traits(attempt)):
                    return self._executor.execute(attempt)
            except BaseException as error:  # noqa: BLE001 - recorded; an author's sys.exit() is a failure like any other
                if isinstance(error, LedgerUnavailable) and not attempt.work.claim.is_once:
                    return None
                failure = self._executor.failure(error)
                if attempt.taken_away is None:
                    attempt.log.write("ERROR", f"{failure.code}: {failure.message}")
                return Failed(failure)

    def _is_drivers_fault(self, ending: Ending) -> bool:
        """Answer whether nobody knows what the work would have done: its driver was lost on the way."""
        if isinstance(ending, Failed) and ending.failure.code == "SPARK_LOST":
            return True
        return ending.is_failure and not self._executor.is_alive()

    def _end(self, attempt: Attempt, result: Result) -> bool:
        """Write how an attempt that is ours to end has ended. False means fenced."""
        if isinstance(result, Crashed):
            reason = result.reason
            attempt.log.write("ERROR", reason)
            return persist(
                lambda: reap.crash(self._ledger, process=self._process, token=attempt.token, reason=reason),
                give_up=self._is_fenced,
            )
        lacked = result.lacked_memory
        if lacked is not None:
            is_ours = guarded.enlarge(self._ledger, attempt.work, reason=lacked, give_up=self._is_fenced)
            if is_ours is not None:
                attempt.log.write("ERROR", f"{lacked}; it is run again with more memory")
                self._executor.discard(attempt)
                return is_ours
        if result.line is not None:
            attempt.log.add("INFO", result.line)
        if not result.keeps_files:
            self._executor.discard(attempt)
        return self._commit(attempt, result)

    def _commit(self, attempt: Attempt, ending: Ending) -> bool:
        work = msgspec.structs.replace(attempt.work, summary=attempt.summary)
        return guarded.commit(self._ledger, work, ending, process=self._process, give_up=self._is_fenced)


def _traits(attempt: Attempt) -> dict[str, str | int]:
    claim = attempt.work.claim
    return {"node": claim.node, "dispatch": claim.dispatch, "epoch": claim.epoch}
