"""The supervisor of one machine: keeps the workers that the waiting work needs, and runs the maintenance services.

`python -m pondage.engine.supervise.supervisor` is started by a command that needs one for a while; `pondage dev`
runs one itself.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import get_args

import msgspec

from pondage.engine.process import identity
from pondage.engine.process.backoff import Backoff, jittered
from pondage.engine.process.config import EngineConfig, SupervisorConfig, WorkerConfig
from pondage.engine.process.heartbeat import Heartbeat
from pondage.engine.process.parent import ParentWatch
from pondage.engine.process.questions import for_questions
from pondage.engine.process.signals import SignalWatch
from pondage.engine.process.spawn import receive
from pondage.engine.services.maintenance import Maintenance
from pondage.engine.services.remote_queries import RemoteQueries
from pondage.engine.supervise.children import (
    IDLE_S,
    Child,
    Decision,
    Restarts,
    RetireWorker,
    StartWorker,
    decide,
    hold_words,
)
from pondage.engine.supervise.live_keeper import LiveKeeper
from pondage.engine.supervise.own_children import ChildProcess, OwnWorker, ended, kill_silent, start_process
from pondage.engine.supervise.upkeep import upkeep
from pondage.errors import LedgerError
from pondage.ledger.database.patience import persist
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes, queues
from pondage.ledger.queue.queues import Role
from pondage.ledger.upkeep import reap, retention
from pondage.spark.jvm.settings import machine_mebibytes

BREATH_S = 0.02
LOOK_S = 0.5
"""How often whoever waits to come back looks whether it was told to end."""
LOST = 3
"""The exit code of a supervisor that was taken for dead, or could have been."""
MOST_FOR_QUESTIONS = 2
"""Processes for questions on one machine: one, and one with an author's code, for rows that break his own rules."""
KILL_AFTER_S = 10.0
"""How much longer than its own drain a worker may take to end before it is killed."""

_log = logging.getLogger(__name__)


class Supervisor:
    """`run` is called by the main thread, `drain` by any. Two on one ledger do not disturb each other."""

    def __init__(
        self,
        config: EngineConfig,
        ledger: Ledger,
        *,
        start_worker: Callable[[WorkerConfig], ChildProcess] | None = None,
        is_standing: bool = True,
        has_live: bool = False,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] = _log.info,
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._start_worker = start_worker or start_process
        self._clock = clock
        self._say = say
        self._children: dict[str, OwnWorker] = {}
        self._live = LiveKeeper(config, ledger, say=say) if has_live else None
        self._restarts: dict[Role, Restarts] = {role: Restarts() for role in get_args(Role)}
        self._requests = 0
        self._is_lost = False
        self._offer = config.offer("", mebibytes=machine_mebibytes())
        self._paused = threading.Event()
        self._lock = threading.Lock()
        self._changes = ledger.driver.changes()
        self._process = self._register(is_standing)
        durability = ledger.durability
        self._heartbeat = Heartbeat(
            ledger,
            self._process,
            fence_after_s=durability.fence_after_s,
            state=self.state,
            on_lost=self._on_lost,
        )
        # In threads of their own: whoever waits for a file system keeps nobody from being found dead.
        self._maintenance = [
            Maintenance(services, ledger.driver.changes()) for services in upkeep(config, ledger, process=self._process)
        ]

    @property
    def children(self) -> list[OwnWorker]:
        """Answer the workers of this supervisor."""
        return list(self._children.values())

    def state(self) -> str:
        """Answer what this process is doing, as `pondage status` shows it."""
        workers = sum(child.role == "worker" for child in self.children)
        return "draining" if self._requests else f"{workers} workers"

    def drain(self) -> None:
        """Ask the workers to end and end with the last one; called again, everything is given back at once."""
        with self._lock:
            self._requests += 1
        self.wake()

    def wake(self) -> None:
        """Look at once, for example because a child has ended."""
        self._changes.wake()

    def run(self, until: Callable[[], bool] = lambda: False) -> int:
        """Supervise until asked to drain, or until `until` answers True; answer the exit code."""
        self._heartbeat.start()
        for maintenance in self._maintenance:
            maintenance.start()
        backoff = Backoff()
        try:
            while not self._requests and not self._is_lost and not until():
                try:
                    self.tick()
                    backoff.succeeded()
                    self._changes.wait(jittered(self._ledger.durability.poll_s))
                    # Under load somebody commits every few milliseconds; starting workers is not that urgent.
                    self._paused.wait(BREATH_S)
                except Exception:  # noqa: BLE001 - logged; the workers go on, and so must we
                    _log.exception("cannot look after the workers")
                    self._paused.wait(backoff.failed())
            return self._finish()
        finally:
            for maintenance in self._maintenance:
                maintenance.stop()
            self._heartbeat.stop()
            self._kill_children()

    def tick(self) -> None:
        """Look once: bury children that ended, replace silent ones, start and retire what the waiting work needs."""
        self.bury()
        if self._live is not None:
            self._live.tick(reaper=self._process)
        with self._ledger.reading() as tx:
            rows = {row.public_id: row for row in processes.alive(tx)}
            held = {
                public_id: len(executions.held_by(tx, rows[public_id].id))
                for public_id in self._children
                if public_id in rows
            }
            newest = retention.newest_archive(tx)
            needs = queues.needs(tx, self._offer, newest=newest)
            beat = tx.beat
        kill_silent(
            self.children,
            {public_id: beat - row.heartbeat_at for public_id, row in rows.items()},
            limit_s=self._ledger.durability.fence_after_s,
            now_s=self._clock(),
            tell=lambda child, what: self._say(f"worker {child.public_id} {what}"),
        )
        asked = self._config.questions
        for role in get_args(Role):
            is_worker = role == "worker"
            decisions = decide(
                # A child that has not registered holds nothing, but it is about to: it is not idle.
                [self._as_child(each, held.get(each.public_id, 1)) for each in self.children if each.role == role],
                [need for need in needs if need.role == role],
                limit=self._config.workers if is_worker else MOST_FOR_QUESTIONS,
                slots=self._config.slots if is_worker else asked.slots,
                # What is asked of data needs no author's code, so none is loaded in advance.
                newest=newest if is_worker else "",
                held_back=self._restarts[role].held_back(self._clock()),
                idle_after_s=IDLE_S if is_worker else asked.idle_s,
            )
            self._carry_out(decisions, role)

    def _carry_out(self, decisions: list[Decision], role: Role) -> None:
        for decision in decisions:
            match decision:
                case StartWorker():
                    self._start(decision, role)
                case RetireWorker(public_id=public_id, reason=reason):
                    self._say(f"worker {public_id} ends: {reason}")
                    self._children[public_id].is_ending = True
                    self._children[public_id].process.terminate()

    def bury(self) -> None:
        """Take back at once what children held that have ended: nobody else can know it sooner."""
        for child in self.children:
            code = child.process.poll()
            if code is None:
                continue
            reason = ended(code)
            reaped = reap.bury(
                self._ledger, public_id=child.public_id, role=child.role, reason=reason, reaper=self._process
            )
            if reaped is not None:
                self._say(f"worker {child.public_id} {reason}; it held {reaped.executions}")
                RemoteQueries(self._config.spark.remote).end(reaped.tokens)
            with self._ledger.reading() as tx:
                # Not only what it held until now: one whose driver died has said itself what that was.
                held = 0 if child.is_ending else executions.crashed_in(tx, child.public_id)
            # Only now: when the ledger did not answer, the next look tries again.
            del self._children[child.public_id]
            if not child.is_ending:
                now_s = self._clock()
                died = self._restarts[child.role].died
                hold_s = died(child.code, lived_s=now_s - child.started_s, now_s=now_s, held=held)
                if hold_s > 0:
                    self._say(hold_words(f"workers for {_what(child.role, child.code)}", hold_s))

    def _register(self, is_standing: bool) -> int:
        with self._ledger.transaction() as tx:
            return processes.register(
                tx,
                public_id=self._ledger.ids.new("p"),
                machine=identity.machine(),
                pid=os.getpid(),
                pid_started=identity.started(os.getpid()),
                role="supervisor",
                # One that a command started for itself ends with it, so no other command may rely on it.
                labels="" if is_standing else "attached",
            )

    def _as_child(self, child: OwnWorker, held: int) -> Child:
        now_s = self._clock()
        if held:
            child.busy_s = now_s
        return Child(
            public_id=child.public_id,
            code=child.code,
            held=held,
            is_ending=child.is_ending,
            mebibytes=child.mebibytes,
            is_extra=child.is_extra or child.role == "questions",
            idle_s=now_s - child.busy_s,
        )

    def _start(self, wanted: StartWorker, role: Role) -> None:
        public_id = self._ledger.ids.new("p")
        if role == "questions":
            engine = for_questions(self._config)
        else:
            engine = msgspec.structs.replace(self._config, spark=self._config.spark.sized(wanted.mebibytes))
        config = WorkerConfig(engine=engine, public_id=public_id, code=wanted.code, parent=os.getpid(), role=role)
        now_s = self._clock()
        self._children[public_id] = OwnWorker(
            process=self._start_worker(config),
            public_id=public_id,
            code=wanted.code,
            started_s=now_s,
            mebibytes=engine.spark.mebibytes,
            is_extra=wanted.is_extra,
            busy_s=now_s,
            role=role,
        )
        self._say(f"worker {public_id} started for {_what(role, wanted.code)}: {wanted.reason}")

    def _finish(self) -> int:
        """Ask every worker to end, wait for them, and take back what they held."""
        for child in self.children:
            child.is_ending = True
            child.process.terminate()
        live = self._live
        if live is not None:
            live.terminate()
        told = 1
        deadline_s = self._clock() + self._ledger.durability.drain_s + KILL_AFTER_S
        while (self._children or (live is not None and live.children)) and not self._is_lost:
            if self._requests > told:
                told = self._requests
                deadline_s = min(deadline_s, self._clock() + KILL_AFTER_S)
                for child in self.children:
                    child.process.terminate()
            if self._clock() >= deadline_s and (told > 1 or not self._may_wait_on(deadline_s)):
                self._kill_children()
            self._changes.wait(0.2)
            try:
                self.bury()
                if live is not None:
                    live.bury(reaper=self._process)
            except LedgerError as error:
                _log.warning("cannot take back what workers held: %s", error)
        if self._is_lost:
            return LOST
        self._say_goodbye()
        return 0

    def _say_goodbye(self) -> None:
        """Tell the ledger that this supervisor is no more; nothing is left of the machine then."""
        # First: a beat that finds itself declared dead takes that for an accident.
        self._heartbeat.stop()
        give_up_s = self._clock() + KILL_AFTER_S

        def leave() -> None:
            with self._ledger.transaction() as tx:
                processes.leave(tx, self._process)

        persist(leave, give_up=lambda: self._clock() >= give_up_s)

    def _may_wait_on(self, deadline_s: float) -> bool:
        """Answer whether somebody here still runs what may run only once, and has time left for it."""
        durability = self._ledger.durability
        if self._clock() >= deadline_s - durability.drain_s + durability.termination_grace_s:
            return False
        with self._ledger.reading() as tx:
            holders = executions.once_holders(tx)
        return any(child.public_id in holders for child in self.children)

    def _kill_children(self) -> None:
        for child in self.children:
            child.process.kill()
        if self._live is not None:
            self._live.kill()

    def _on_lost(self, reason: str) -> None:
        self._say(f"this supervisor must stop: {reason}")
        self._is_lost = True
        self.wake()


def _what(role: Role, code: str) -> str:
    return "questions" if role == "questions" else f"code {code[:12] or '(none)'}"


def supervise(
    make: Callable[[], Supervisor],
    *,
    until: Callable[[], bool],
    on_start: Callable[[], None] = lambda: None,
    on_drain: Callable[[int], None] = lambda _: None,
) -> int:
    """Make a supervisor and run it in the main thread; answer its exit code.

    SIGTERM, SIGINT and SIGHUP drain it, `on_drain(n)` is told the n-th time. They are answered before the supervisor is
    known to anybody: whoever learns from the ledger or from `on_start` that it runs may end it.
    """
    lock = threading.Lock()
    made: list[Supervisor] = []
    asked = told = 0

    def pass_on() -> None:
        nonlocal told
        with lock:
            while made and told < asked:
                told += 1
                made[0].drain()

    def on_signal(number: int) -> None:
        nonlocal asked
        if number == signal.SIGCHLD:
            for supervisor in made:
                supervisor.wake()
            return
        asked += 1
        try:
            on_drain(asked)
        finally:
            # Whatever becomes of the words: who asked is obeyed.
            pass_on()

    with SignalWatch((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD), on_signal):
        made.append(make())
        on_start()
        pass_on()
        return made[0].run(until)


def come_back(
    serve: Callable[[], int],
    *,
    is_over: Callable[[], bool],
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Serve again, under a new identity, whenever a supervisor was lost, as soon as the ledger answers.

    One that is lost again and again waits longer each time, and says so: settings may let none of them live.

    A machine that was suspended or cut off has stopped its work, because others may do it now; it is not broken. Answer
    the exit code of the supervisor that was not lost, or of the last one when `is_over`.
    """
    restarts = Restarts()
    started_s = clock()
    code = serve()
    while code == LOST and not is_over():
        now_s = clock()
        hold_s = restarts.died("", lived_s=now_s - started_s, now_s=now_s)
        say("others may do the work of this machine now; coming back when the ledger answers")
        if hold_s > 0:
            say(hold_words("supervisors of this machine", hold_s))
        while (left_s := now_s + hold_s - clock()) > 0 and not is_over():
            pause(min(left_s, LOOK_S))
        started_s = clock()
        # Not when it can be read: a full disk can. Coming back takes a row of our own, so that is what is tried.
        code = LOST if is_over() else persist(serve, give_up=is_over)
    return code


def main() -> int:
    """Be the supervisor of a command that started us, until it says so or dies."""
    config, pipe = receive(SupervisorConfig)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    ledger = config.engine.open_ledger()
    over = threading.Event()
    made: list[Supervisor] = []

    def make() -> Supervisor:
        made[:] = [Supervisor(config.engine, ledger, is_standing=False)]
        return made[0]

    def end() -> None:
        over.set()
        for supervisor in made:
            supervisor.drain()

    def is_over() -> bool:
        return over.is_set() or os.getppid() != config.parent

    def serve() -> int:
        return supervise(make, until=is_over, on_drain=lambda _: over.set())

    ParentWatch(config.parent, end).start(pipe)
    # The command waits for what somebody must do: a machine that slept for a while does it afterwards.
    code = come_back(serve, is_over=is_over, say=_log.info)
    ledger.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
