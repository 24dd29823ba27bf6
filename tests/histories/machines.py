"""Simulated workers and supervisors: the shipped store operations and services, in the order the engine calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol

import msgspec

from pondage.define.project.durability import Durability
from pondage.engine.process.heartbeat import Heartbeat
from pondage.engine.services.outbox import Outbox, PublishOrder
from pondage.engine.services.reaper import Reaper
from pondage.engine.services.timer import Timer
from pondage.engine.worker.watch import close_unknown_claims
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes
from pondage.ledger.queue.claims import Queue
from pondage.ledger.tables.history import OutboxRow
from pondage.ledger.upkeep import leases, reap, retention
from pondage.work.failure import Failure
from pondage.work.snapshot import SnapshotContent
from tests.histories.driver import Database, FaultyDriver
from tests.histories.scheduler import SECOND, Process, Scheduler
from tests.ledger.harness import content

MACHINE = "m"


class SimulatedIdentity:
    """Which simulated process runs: what `/proc` says of real ones."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def machine(self) -> str:
        return MACHINE

    def started(self, pid: int) -> int:
        return pid

    def is_running(self, pid: int, pid_started: int) -> bool:
        found = self._scheduler.processes.get(pid)
        return found is not None and pid == pid_started and not found.is_dead


class Outside:
    """What leaves the ledger: files of executions, what was told to their holders, what outside readers see."""

    def __init__(self) -> None:
        self.files: dict[str, bool] = {}
        """Whether what a token wrote is complete."""
        self.told: dict[str, tuple[str, bool]] = {}
        """For each token the outcome that its holder wanted, and whether it was told that this holds."""
        self.shown: dict[int, tuple[int, str]] = {}
        """The Run that outside readers see, for each Pond, with its order: an older one never replaces a newer one."""


class Cast(Protocol):
    """What a simulated process needs of the history that it is in."""

    scheduler: Scheduler
    database: Database
    durability: Durability
    outside: Outside
    fails: Callable[[str], bool]
    """Whether the author's code raises this time."""
    takes_s: Callable[[str], float]

    def ids(self) -> SeededIds:
        """Answer a new source of identities."""


class Member(Process):
    """A simulated process with a ledger of its own."""

    def __init__(self, cast: Cast, name: str, *, weight: float = 1.0, is_mortal: bool = True) -> None:
        super().__init__(cast.scheduler, name, weight=weight, is_mortal=is_mortal)
        self.cast = cast
        driver = FaultyDriver(cast.database.connect(cast.scheduler.clock), self)
        self.ledger = Ledger(driver, ids=cast.ids(), durability=cast.durability)
        self.id = 0

    def die(self, code: int = -9) -> None:
        super().die(code)
        self.ledger.close()

    def register(self, role: str) -> None:
        try:
            with self.ledger.transaction() as tx:
                self.id = processes.register(
                    tx, public_id=self.public_id, machine=MACHINE, pid=self.pid, pid_started=self.pid, role=role
                )
        except LedgerUnavailable:
            # The real one ends with an error; its row, if it was written, is that of a dead process.
            self.end(1)

    @property
    def public_id(self) -> str:
        return f"p{self.pid}"

    def end(self, code: int) -> None:
        """Leave, for good."""
        self.die(code)
        self.scheduler.pause()

    def beating(self, on_lost: Callable[[str], None]) -> Callable[[], None]:
        """Answer the body of a thread that beats."""
        durability = self.ledger.durability
        heartbeat = Heartbeat(
            self.ledger,
            self.id,
            fence_after_s=durability.reap_after_s - durability.child_margin_s,
            state=lambda: "",
            on_lost=on_lost,
            clock=lambda: self.scheduler.clock.beat() / SECOND,
        )

        def body() -> None:
            while True:
                heartbeat.beat()
                self.scheduler.sleep(durability.heartbeat_s * self.scheduler.random.uniform(0.9, 1.0))

        return body


class Worker(Member):
    """Claims, works, commits; gives everything back when it is drained."""

    def __init__(self, cast: Cast, name: str, *, slots: int, weight: float = 1.0) -> None:
        super().__init__(cast, name, weight=weight)
        self._slots = slots
        self._attempts: dict[str, Work] = {}
        self._pending: set[str] = set()
        self._settled: set[str] = set()
        self._is_fenced = False
        self.is_draining = False
        self.spawn("main", self._main)

    def known_tokens(self) -> set[str]:
        """Answer every token that this process holds or is about to (what `engine.slots.Slots` answers)."""
        return self._pending | self._attempts.keys()

    def _main(self) -> None:
        self.register("worker")
        self.spawn("heartbeat", self.beating(self._on_lost))
        self.spawn("watch", self._watch)
        while not self.is_draining and not self._is_fenced:
            try:
                if not self._has_room() or not self._claim():
                    self.scheduler.sleep(self.scheduler.random.uniform(0, 2 * self.ledger.durability.poll_s))
            except LedgerUnavailable:
                self.scheduler.sleep(self.scheduler.random.uniform(0, 2))
        if self._is_fenced:
            self.end(3)
        self._leave()

    def _on_lost(self, _reason: str) -> None:
        self._is_fenced = True

    def _has_room(self) -> bool:
        return len(self._attempts) < self._slots and not any(held.claim.is_isolated for held in self._attempts.values())

    def _queues(self) -> list[Queue]:
        with self.ledger.reading() as tx:
            codes = sorted({str(row["code"]) for row in tx.rows("SELECT code FROM queues")})
        found = {queue.id: queue for code in codes for queue in polling.queues_for(self.ledger, code=code)}
        return [found[identity] for identity in sorted(found)]

    def _claim(self) -> bool:
        queues = self._queues()
        token = self.ledger.ids.new("t")
        self._pending.add(token)
        try:
            held = work.claim_work(
                self.ledger, process=self.id, queues=queues, token=token, is_alone=not self._attempts,
                give_up=self._gives_up,
            )  # fmt: skip
            if held is None:
                return False
            self._attempts[token] = held
            self.spawn(f"slot {token}", lambda: self._attempt(held))
            return True
        finally:
            self._pending.discard(token)

    def _gives_up(self) -> bool:
        return self._is_fenced

    def _attempt(self, held: Work) -> None:
        token, node = held.claim.token, held.claim.node
        outside = self.cast.outside
        try:
            outside.files[token] = False
            self.scheduler.sleep(self.cast.takes_s(node))
            is_failing = self.cast.fails(node)
            if not is_failing:
                outside.files[token] = True
            if token in self._settled:
                return
            self._settled.add(token)
            is_ours = self._commit(held, is_failing=is_failing)
            outside.told[token] = ("failed" if is_failing else "ok", is_ours)
            if is_failing or not is_ours:
                outside.files.pop(token, None)
        except LedgerUnavailable:
            pass  # only a fenced process gives up on a commit; what it held is taken back by a reaper
        finally:
            self._attempts.pop(token, None)

    def _commit(self, held: Work, *, is_failing: bool) -> bool:
        if is_failing:
            failure = Failure(code="BOOM", message="the author's code raised")
            return guarded.commit(self.ledger, held, Failed(failure), process=self.id, give_up=self._gives_up)
        written: SnapshotContent = content(held)
        return guarded.commit(self.ledger, held, Written(written), process=self.id, give_up=self._gives_up)

    def _watch(self) -> None:
        looks = 0
        while True:
            self.scheduler.sleep(self.ledger.durability.heartbeat_s / 2)
            looks += 1
            try:
                self._look()
                if looks % 3 == 0:
                    close_unknown_claims(self.ledger, self, process=self.id)  # type: ignore[arg-type]
            except LedgerUnavailable:
                pass

    def _look(self) -> None:
        if not self._attempts:
            return
        with self.ledger.reading() as tx:
            held = executions.open_tokens(tx, self.id)
        for token, one in list(self._attempts.items()):
            if token not in held:
                continue
            if one.claim.timeout_s is not None:
                with self.ledger.transaction() as tx:
                    leases.extend(
                        tx, execution=one.claim.execution, token=token, for_us=int(one.claim.timeout_s * SECOND)
                    )

    def _leave(self) -> None:
        for token, held in list(self._attempts.items()):
            if token not in self._settled:
                self._settled.add(token)
                try:
                    guarded.release(self.ledger, held, reason="drained", give_up=self._gives_up)
                except LedgerUnavailable:
                    self.end(3)
        try:
            with self.ledger.reading() as tx:
                own = [row for row in processes.alive(tx) if row.id == self.id]
            for row in own:
                reap.reap_process(self.ledger, row, reason="drained")
        except LedgerUnavailable:
            self.end(1)
        self.end(0)


class _SimulatedOutbox(Outbox):
    """Shows Runs to outside readers that are made up."""

    def __init__(self, ledger: Ledger, outside: Outside) -> None:
        super().__init__(ledger, "/warehouse")
        self._outside = outside

    def _act(self, row: OutboxRow) -> None:
        if row.kind != "publish":
            return  # told to nobody in this world
        order = msgspec.json.decode(row.payload, type=PublishOrder)
        with self._ledger.reading() as tx:
            published = retention.published(tx, order.pond)
        if published is not None:
            shown = self._outside.shown.get(order.pond, (0, ""))
            self._outside.shown[order.pond] = max(shown, (published.order, published.run))


class Supervisor(Member):
    """Keeps workers, buries those that ended, and runs the maintenance services."""

    def __init__(self, cast: Cast, name: str, *, workers: int, slots: int, weight: float = 1.0) -> None:
        super().__init__(cast, name, weight=weight)
        self._wanted = workers
        self._slots = slots
        self._started = 0
        self.children: list[Worker] = []
        self._is_lost = False
        self.spawn("main", self._main)

    def die(self, code: int = -9) -> None:
        super().die(code)
        # Workers end with their supervisor, unless they are frozen: those find out when they come back.
        for child in self.children:
            child.is_draining = True

    def _main(self) -> None:
        self.register("supervisor")
        self.spawn("heartbeat", self.beating(self._on_lost))
        self.spawn("services", self._services)
        while not self._is_lost:
            with contextlib.suppress(LedgerUnavailable):
                self._bury()
            while len(self.children) < self._wanted:
                self._started += 1
                name = f"{self.name}.worker{self._started}"
                weight = self.scheduler.random.choice([1.0, 1.0, 1.0, 0.1])
                self.children.append(Worker(self.cast, name, slots=self._slots, weight=weight))
            self.scheduler.sleep(self.scheduler.random.uniform(0, 6))
        self.end(3)

    def _on_lost(self, _reason: str) -> None:
        self._is_lost = True

    def _bury(self) -> None:
        for child in list(self.children):
            if not child.is_dead:
                continue
            with self.ledger.reading() as tx:
                row = next((row for row in processes.alive(tx) if row.public_id == child.public_id), None)
            if row is not None:
                reap.reap_process(self.ledger, row, reason="it ended", reaper=self.id)
            self.children.remove(child)

    def _services(self) -> None:
        services = [
            Timer(self.ledger, process=self.id),
            Reaper(self.ledger, process=self.id),
            _SimulatedOutbox(self.ledger, self.cast.outside),
        ]
        while True:
            for service in services:
                with contextlib.suppress(LedgerUnavailable):
                    service.run_once()
            with contextlib.suppress(LedgerUnavailable):
                leases.expire(self.ledger, process=self.id)
            self.scheduler.sleep(self.scheduler.random.uniform(0.5, 1.5) * self.ledger.durability.poll_s)
