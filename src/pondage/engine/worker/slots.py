"""The slots of a worker: attempts in threads, each from its claim to its guarded commit."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

import msgspec

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import (
    Answered,
    Compacted,
    Crashed,
    Executor,
    GraphEnded,
    Result,
    Same,
    StreamEnded,
    Written,
)
from pondage.engine.attempt.log import bound
from pondage.ledger.commit import reactor_results
from pondage.ledger.commit import work as ledger_work
from pondage.ledger.commit.component_results import commit_component
from pondage.ledger.commit.work import Failure
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.patience import persist
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import reap
from pondage.tracing import span
from pondage.work.component import ComponentResult

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
        return self._release([each for each in self.attempts if each.work.stream is not None], reason)

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
            if attempt.settle():
                attempt.log.write("INFO", f"given back: {reason}")
                self._executor.cancel(attempt.token)
                released += ledger_work.release(self._ledger, attempt.work, give_up=self._is_fenced)
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
            ledger_work.commit_failed(
                self._ledger, attempt.work, failure, process=self._process, give_up=self._is_fenced
            )
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
            attempt.is_written.set()
            attempt.log.close()
            with self._lock:
                self._attempts.pop(attempt.token, None)
        following = self._claim_next()
        if following is None:
            self._on_end()
        return following

    def _carry_out(self, attempt: Attempt) -> None:
        result = self._result(attempt)
        if result is None:
            self._release([attempt], "the ledger did not answer a question while it ran")
            self._executor.discard(attempt)
            return
        if _is_lost(result) or (_is_failure(result) and not self._executor.is_alive()):
            # Not the author's fault and not ours to judge: every attempt in this process ends crashed, by its reaper.
            attempt.log.write("ERROR", "the Spark driver has died")
            self._on_fatal("the Spark driver has died")
            return
        if not attempt.settle():
            self._executor.discard(attempt)
        elif not self._commit(attempt, result):
            # Fenced: somebody else has closed it. There is nothing the author could do, so nobody is told.
            attempt.log.write("INFO", "this attempt was taken away meanwhile; its result is thrown away")
            self._executor.discard(attempt)

    def _result(self, attempt: Attempt) -> Result | Failure | None:
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
                return failure

    def _commit(self, attempt: Attempt, result: Result | Failure) -> bool:
        ledger, work = self._ledger, msgspec.structs.replace(attempt.work, summary=attempt.summary)
        match result:
            case Written(content=content):
                attempt.log.add("INFO", f"wrote {content.rows:,} rows, {content.bytes:,} bytes")
                return ledger_work.commit_written(ledger, work, content, process=self._process, give_up=self._is_fenced)
            case Compacted(content=content):
                return ledger_work.commit_compacted(
                    ledger, work, content, process=self._process, give_up=self._is_fenced
                )
            case Same():
                return ledger_work.commit_unchanged(ledger, work, process=self._process, give_up=self._is_fenced)
            case Answered(result=answer):
                return ledger_work.commit_query(ledger, work, answer, process=self._process, give_up=self._is_fenced)
            case ComponentResult(members=members) if (lacking := _lacking(result)) is not None and (
                is_ours := ledger_work.enlarge(ledger, work, reason=lacking, give_up=self._is_fenced)
            ) is not None:
                attempt.log.write("ERROR", f"{lacking}; it is run again with more memory")
                self._executor.discard(attempt)
                return is_ours
            case ComponentResult(members=members):
                if any(member.raises is not None for member in members):
                    self._executor.discard(attempt)
                for member in members:
                    for port, content in member.outputs.items():
                        attempt.log.write("INFO", f"{member.instance}.{port}: {content.rows:,} rows")
                return commit_component(ledger, work, result, process=self._process, give_up=self._is_fenced)
            case GraphEnded(rows=rows):
                return reactor_results.commit_graph(ledger, work, rows, process=self._process, give_up=self._is_fenced)
            case StreamEnded():
                return reactor_results.commit_stream(ledger, work, process=self._process, give_up=self._is_fenced)
            case Crashed(reason=reason):
                attempt.log.write("ERROR", reason)
                return persist(
                    lambda: reap.crash(ledger, process=self._process, token=attempt.token, reason=reason),
                    give_up=self._is_fenced,
                )
            case Failure():
                # Rows that break a rule stay until a vacuum: somebody will want to see them.
                if not isinstance(result, ledger_work.RuleFailure):
                    self._executor.discard(attempt)
                return ledger_work.commit_failed(ledger, work, result, process=self._process, give_up=self._is_fenced)


def _lacking(result: ComponentResult) -> str | None:
    """Answer what a member said that ran out of memory, or None."""
    return next((member.raises for member in result.members if member.code == "OUT_OF_MEMORY"), None)


def _is_lost(result: Result | Failure) -> bool:
    return isinstance(result, Failure) and result.code == "SPARK_LOST"


def _is_failure(result: Result | Failure) -> bool:
    """Answer whether something failed: of a component whose driver has died nobody knows what it would have done."""
    if isinstance(result, ComponentResult):
        return any(member.raises is not None for member in result.members)
    return isinstance(result, Failure)


def _traits(attempt: Attempt) -> dict[str, str | int]:
    claim = attempt.work.claim
    return {"node": claim.node, "dispatch": claim.dispatch, "epoch": claim.epoch}
