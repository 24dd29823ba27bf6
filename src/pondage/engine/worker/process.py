"""A worker: a process with slots that claims work of one code digest, carries it out and commits it.

`python -m pondage.engine.worker.process` is started by a supervisor, which gives it a `WorkerConfig` through a pipe.
"""

from __future__ import annotations

import enum
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pondage import tracing
from pondage.engine.attempt.attempt import Attempt, log_path
from pondage.engine.attempt.executor import Executor
from pondage.engine.attempt.log import AttemptLog, route_output
from pondage.engine.process import identity
from pondage.engine.process.backoff import Backoff, jittered
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.heartbeat import Heartbeat
from pondage.engine.process.parent import ParentWatch
from pondage.engine.process.places import logs_directory
from pondage.engine.process.questions import NICENESS
from pondage.engine.process.signals import SignalWatch
from pondage.engine.process.spawn import receive
from pondage.engine.worker.patient_calls import Aside
from pondage.engine.worker.slots import Slots
from pondage.engine.worker.watch import PROGRESS_EVERY_S, Watch, close_unknown_claims
from pondage.errors import LedgerError
from pondage.ledger.commit import polling, work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.queue.claims import Queue
from pondage.ledger.upkeep import reap

RECONCILE_EVERY_BEATS = 3
COMMIT_PATIENCE_S = 10.0
QUEUES_KEPT_S = 1.0
"""How long a busy worker goes by the queues it knows: a deploy may have made new ones."""
HINTS_GATHERED_S = 0.01
"""How long hints gather while something runs here: a slot that is done claims for itself, and each commit is a hint."""

_log = logging.getLogger(__name__)


class Ending(enum.IntEnum):
    """How a worker is about to end. A later one overrides an earlier one, never the other way round."""

    NOT_YET = 0
    DRAIN = 1
    """Claim nothing more, wait for what runs, give back what takes too long."""
    RELEASE = 2
    """Give everything back at once: told twice, or the supervisor has died, or an attempt cannot be stopped."""
    CRASH = 3
    """The driver has died: everything here ends crashed."""
    FENCED = 4
    """The ledger takes us for dead, or soon will: touch nothing, stop the Spark work."""


class Worker:
    """`run` is called by the main thread and answers the exit code; all else may be called by any thread."""

    def __init__(
        self,
        config: WorkerConfig,
        ledger: Ledger,
        executor: Executor,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._executor = executor
        self._clock = clock
        self._ending = Ending.NOT_YET
        self._reason = ""
        self._lock = threading.Lock()
        self._claiming = threading.Lock()
        self._stirred = threading.Event()
        self._is_over = threading.Event()
        self._phase = ""
        self._queues: list[Queue] = []
        self._offer = config.engine.offer(config.code, mebibytes=config.engine.spark.mebibytes, role=config.role)
        self._polled_s = 0.0
        self._is_busy = False
        self._changes = ledger.driver.changes()
        self._logs = logs_directory(config.engine)
        # Who may read the data is its owner's choice; the logs in it are nobody's business.
        self._logs.parent.mkdir(parents=True, exist_ok=True)
        self._process = self._register()
        durability = ledger.durability
        self._heartbeat = Heartbeat(
            ledger,
            self._process,
            fence_after_s=durability.fence_after_s,
            state=self.state,
            on_lost=lambda reason: self.end(Ending.FENCED, reason),
        )
        self.slots = Slots(
            ledger,
            executor,
            process=self._process,
            size=config.engine.slots,
            claim_next=self._claim_next,
            on_end=self._on_end,
            on_fatal=lambda reason: self.end(Ending.CRASH, reason),
            is_fenced=lambda: self._ending is Ending.FENCED,
        )
        self._watch = Watch(
            ledger,
            executor,
            self.slots,
            process=self._process,
            cancel_grace_s=config.engine.cancel_grace_s,
            on_stuck=self._on_stuck,
            clock=clock,
        )

    @property
    def process(self) -> int:
        """Answer the ledger's id of this process."""
        return self._process

    def state(self) -> str:
        """Answer what this process is doing, as `pondage status` shows it."""
        if self._ending is not Ending.NOT_YET:
            return "draining"
        if self._phase:
            return self._phase
        running = len(self.slots.attempts)
        return f"busy {running}/{self._config.engine.slots}" if running else "idle"

    def drain(self) -> None:
        """Stop claiming and end when what runs is done; called again, give everything back at once."""
        self.end(Ending.RELEASE if self._ending is Ending.DRAIN else Ending.DRAIN, "asked to stop")

    def end(self, ending: Ending, reason: str) -> None:
        """End in this way, unless a stronger reason to end is there already."""
        with self._lock:
            if ending <= self._ending:
                return
            self._ending = ending
            self._reason = reason
        _log.info("ending (%s): %s", ending.name.lower(), reason)
        self._stir()

    def run(self) -> int:
        """Work until told to end, and answer the exit code: 0 when nothing was wrong with this process."""
        self._heartbeat.start()
        watcher = threading.Thread(target=self._watch_loop, name="watch", daemon=True)
        watcher.start()
        try:
            self._claim_until_told()
            return self._finish()
        finally:
            self._is_over.set()
            self._heartbeat.stop()
            watcher.join(timeout=5.0)
            self._executor.stop()

    def claim_one(self) -> bool:
        """Claim a piece of work and start it in a slot. False when there is none for us."""
        queues = self._queues_with_work(is_near=self._is_busy)
        with self._claiming:
            # Only now: a slot that was done may have claimed meanwhile what there was room for.
            attempt = self._claimed(self._open(queues))
        self._is_busy = attempt is not None
        if attempt is None:
            return False
        self.slots.start(attempt)
        return True

    def _claim_next(self) -> Attempt | None:
        """Claim for a slot that is done: what it committed has often made the next piece of work available.

        When something else is just being claimed that comes first, and whoever claims it goes on looking.
        """
        if self._ending is not Ending.NOT_YET or not self._claiming.acquire(blocking=False):
            return None
        try:
            return self._claimed(self._queues_with_work(is_near=True))
        except Exception:  # noqa: BLE001 - logged, and tried again by the thread that claims
            _log.exception("cannot claim")
            return None
        finally:
            self._claiming.release()

    def _claimed(self, queues: list[Queue]) -> Attempt | None:
        if not queues or not self.slots.has_room:
            return None
        token = self._ledger.ids.new("t")
        self.slots.expect(token)
        try:
            claimed = work.claim_work(
                self._ledger,
                process=self._process,
                queues=queues,
                token=token,
                is_alone=self.slots.is_quiet,
                give_up=lambda: self._ending is Ending.FENCED,
            )
            if claimed is None:
                return None
            log = AttemptLog(log_path(self._logs, claimed))
            attempt = Attempt(claimed, log, clock=self._clock, on_phase=self._on_phase)
            if claimed.claim.concurrency:
                attempt.go_on = lambda unpark: self._go_on(attempt, unpark)
            self.slots.admit(attempt)
            return attempt
        finally:
            self.slots.forget(token)

    def _queues_with_work(self, *, is_near: bool) -> list[Queue]:
        """Answer where to claim; empty when a look, which writes nothing, finds that there is nothing for us.

        After a claim or a commit that gave something there is probably more: then it is claimed without looking first.
        """
        now_s = self._clock()
        if is_near and now_s - self._polled_s < QUEUES_KEPT_S:
            return self._open(self._queues)
        found = polling.poll(self._ledger, self._offer, is_alone=self.slots.is_quiet)
        self._queues, self._polled_s = found.queues, now_s
        return self._open(found.queues) if found.has_work else []

    def _open(self, queues: list[Queue]) -> list[Queue]:
        """Answer those of which this process may run one more. Who waits for others may wait for just that one."""
        if not any(queue.concurrency for queue in queues):
            return queues
        return [
            queue for queue in queues if not queue.concurrency or self._running(queue.components) < queue.concurrency
        ]

    def _running(self, components: frozenset[str]) -> int:
        """Answer how many executions of any of these components run here, from whichever queue they came."""
        return sum(not components.isdisjoint(one.work.claim.components) for one in self.slots.running)

    def _go_on(self, attempt: Attempt, unpark: Callable[[], None]) -> bool:
        """Let an attempt go on that has waited for others, unless as many of its components as may run do."""
        claim = attempt.work.claim
        with self._claiming:
            if attempt.is_parked and self._running(claim.components) >= claim.concurrency:
                return False
            unpark()
            return True

    def _register(self) -> int:
        with self._ledger.transaction() as tx:
            return processes.register(
                tx,
                public_id=self._config.public_id,
                machine=identity.machine(),
                pid=os.getpid(),
                pid_started=identity.started(os.getpid()),
                role=self._config.role,
                slots=self._config.engine.slots,
                code=self._config.code,
                labels=" ".join(sorted(self._config.engine.labels)),
            )

    def _claim_until_told(self) -> None:
        backoff = Backoff()
        while self._ending is Ending.NOT_YET:
            try:
                if self.slots.has_room and self.claim_one():
                    continue
                backoff.succeeded()
                if self._changes.wait(jittered(self._ledger.durability.poll_s)) and not self.slots.is_empty:
                    self._stirred.wait(HINTS_GATHERED_S)
                self._stirred.clear()
            except Exception:  # noqa: BLE001 - logged, and tried again
                # Whatever it was, the same row may be there again at once: wait longer each time, never spin.
                _log.exception("cannot claim")
                self._stirred.wait(backoff.failed())
                self._stirred.clear()

    def _finish(self) -> int:
        if self._ending is Ending.DRAIN:
            self.slots.release_streams(self._reason)
            self._wait_for_slots()
        if self._ending is Ending.FENCED:
            for attempt in self.slots.attempts:
                self._executor.cancel(attempt.token)
            return 3
        if self._ending is Ending.CRASH:
            self._leave(self._reason)
            return 4
        self.slots.release_all(self._reason)
        self.slots.wait_written(COMMIT_PATIENCE_S)
        self._leave(self._reason)
        return 0

    def _wait_for_slots(self) -> None:
        limit_s, began_s = self._ledger.durability.drain_s, self._clock()
        while self._ending is Ending.DRAIN and not self.slots.is_empty:
            left_s = began_s + limit_s - self._clock()
            if left_s <= 0 and limit_s < self._ledger.durability.termination_grace_s:
                self.slots.release_repeatable(f"not done within {limit_s:g} s of draining")
                if all(not attempt.work.claim.is_once or attempt.is_settled for attempt in self.slots.attempts):
                    self.end(Ending.RELEASE, f"not done within {limit_s:g} s of draining")
                    return
                limit_s = self._ledger.durability.termination_grace_s
                continue
            if left_s <= 0:
                self.end(Ending.RELEASE, f"not done within {limit_s:g} s of draining")
                return
            self._stirred.wait(left_s)
            self._stirred.clear()

    def _leave(self, reason: str) -> None:
        """Tell the ledger that this process is no more. What it still holds ends crashed: nothing is left behind."""
        # First: a beat that finds itself declared dead takes that for an accident.
        self._heartbeat.stop()
        with self._ledger.reading() as tx:
            own = [row for row in processes.alive(tx) if row.id == self._process]
        for row in own:
            is_out_of_memory = self._ending is Ending.CRASH and self._executor.ran_out_of_memory()
            reap.reap_process(
                self._ledger,
                row,
                reason="Spark ran out of memory" if is_out_of_memory else reason,
                is_out_of_memory=is_out_of_memory,
            )

    def _watch_loop(self) -> None:
        looks_to_reconcile = max(
            1, round(RECONCILE_EVERY_BEATS * self._ledger.durability.heartbeat_s / PROGRESS_EVERY_S)
        )
        looks = 0
        while not self._is_over.wait(PROGRESS_EVERY_S):
            looks += 1
            try:
                if not self._executor.is_alive():
                    self.end(Ending.CRASH, "the Spark driver has died")
                    return
                self._watch.look()
                if looks % looks_to_reconcile == 0:
                    close_unknown_claims(self._ledger, self.slots, process=self._process)
            except LedgerError as error:
                _log.warning("cannot look after the attempts: %s", error)
            except Exception as error:  # noqa: BLE001 - logged, and this process ends because of it
                _log.exception("the watch of this worker is broken")
                self.end(Ending.CRASH, f"the watch of the worker is broken: {error}")
                return

    def _on_phase(self, phase: str) -> None:
        self._phase = phase if phase.startswith("starting spark") else ""
        self._heartbeat.poke()

    def _on_end(self) -> None:
        if self.slots.is_empty:
            self._phase = ""
        self._stir()

    def _on_stuck(self, reason: str) -> None:
        """End, to be rid of a thread that does not stop, as soon as nobody else's work is here: it is not to blame."""
        if all(attempt.is_stuck for attempt in self.slots.attempts):
            self.end(Ending.RELEASE, reason)

    def _stir(self) -> None:
        self._stirred.set()
        self._changes.wake()


def main() -> int:
    """Be a worker until told to end."""
    # Ctrl-C in a terminal reaches the whole group; only the supervisor answers it, by draining us. The JVM inherits
    # that it is ignored.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    config, pipe = receive(WorkerConfig)
    if config.role == "questions":
        os.nice(NICENESS)  # the JVM inherits it
    route_output()
    tracing.begin(config.role)
    if Path(config.engine.root).is_dir():
        os.chdir(config.engine.root)
    from pondage.engine.execute.spark_executor import SparkExecutor

    ledger = config.engine.open_ledger()
    worker = Worker(config, ledger, Aside(SparkExecutor(config, ledger)))
    parent = ParentWatch(config.parent, lambda: worker.end(Ending.RELEASE, "the supervisor has died"))

    def on_signal(number: int) -> None:
        del number
        if parent.is_gone():
            worker.end(Ending.RELEASE, "the supervisor has died")
        else:
            worker.drain()

    with SignalWatch((signal.SIGTERM,), on_signal):
        parent.start(pipe)
        code = worker.run()
    ledger.close()
    return code


if __name__ == "__main__":
    exit_code = main()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of authors may still run Python code that nothing can stop: they must not keep the process.
    os._exit(exit_code)
