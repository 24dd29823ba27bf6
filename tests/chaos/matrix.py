"""The fault matrix: what goes wrong in a run, and what must hold for that fault beside the invariants of all."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pondage.kernel.demand.events import Clear, Kill, Pulse
from pondage.ledger import health, processes
from tests.chaos.arena import CHAINS, PONDS, Arena, Machine, NotDone
from tests.services.postgres import PostgresServer

BOTH = ("sqlite", "postgres")
SERVER_ONLY = ("postgres",)
Play = Callable[[Arena], None]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One row of the matrix."""

    row: str
    name: str
    play: Play
    databases: tuple[str, ...] = BOTH
    arena: dict[str, object] = field(default_factory=dict)
    is_control: bool = False
    may_fail: bool = False
    """Whether Runs may end failed or killed: the fault is the author's, the operator's or the disk's."""


@dataclass(kw_only=True)
class Result:
    """How one run of one fault ended."""

    fault: Fault
    database: str
    seed: int
    seconds: float
    steps: int = 0
    reaps: int = 0
    fenced: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        return not self.lost and not self.doubled


def run(fault: Fault, database: str, server: PostgresServer | None, seed: int, folder: Path | None = None) -> Result:
    """Run one fault once, and look at what is left."""
    with tempfile.TemporaryDirectory(prefix="pondage-chaos-") as made:
        arena = Arena((folder or Path(made)) / "arena", database, server, seed=seed, **fault.arena)  # type: ignore[arg-type]
        result = Result(fault=fault, database=database, seed=seed, seconds=0.0)
        began = time.monotonic()
        try:
            fault.play(arena)
            arena.wait_quiet()
            arena.wait("files that nobody published were collected", lambda: not arena.orphans())
        except NotDone as error:
            result.lost.append(str(error))
        except AssertionError as error:
            result.lost.append(f"{fault.name}: {error}")
        finally:
            for found in arena.violations():
                is_doubled = "successful executions" in found or "published" in found
                if is_doubled and " 0 successful" not in found:
                    result.doubled.append(found)
                elif not (fault.may_fail and ("run failed" in found or "successful executions" in found)):
                    result.lost.append(found)
            result.steps = arena.done()
            if result.steps < 3 * CHAINS and not fault.is_control:
                result.lost.append(f"only {result.steps} steps were done: that proves nothing")
            result.reaps = len(arena.noted("reaped"))
            result.fenced = len(arena.noted("fenced"))
            result.seconds = time.monotonic() - began
            if not result.is_sound:
                _keep_logs(arena, result)
            arena.close()
    return result


def _keep_logs(arena: Arena, result: Result) -> None:
    """Say what the processes said, before it is thrown away."""
    for machine in arena.machines:
        files = [machine.folder / "output.log", *sorted((machine.folder / ".pondage" / "logs").glob("*.log"))]
        for file in files:
            if file.exists() and (text := file.read_text(errors="replace").strip()):
                result.lost.append(f"--- {machine.name} {file.name}: …{text[-1500:]}")


# ------------------------------------------------------------------------------------------------- the faults


def nothing(arena: Arena) -> None:
    """Three machines claim from the same queues and nobody disturbs them."""
    arena.add(3)
    for _ in range(3):
        arena.ask()
        arena.wait_quiet()
    assert not arena.noted("reaped"), "somebody was reaped though nothing happened"
    assert arena.done() == 3 * 3 * CHAINS, f"{arena.done()} executions for {3 * CHAINS} Runs of three Ponds"


def _killed_at(point: str) -> Play:
    def play(arena: Arena) -> None:
        pipe, mark = arena.folder / "checkpoint.pipe", arena.folder / "checkpoint.mark"
        os.mkfifo(pipe)
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        given = {"PONDAGE_CHAOS_POINT": point, "PONDAGE_CHAOS_PIPE": str(pipe), "PONDAGE_CHAOS_MARK": str(mark)}
        os.environ.update(given)
        try:
            arena.add()
        finally:
            for name in given:
                del os.environ[name]
        arena.ask()
        found: list[bytes] = []

        def is_reached() -> bool:
            try:
                found.append(os.read(reading, 100))
            except BlockingIOError:
                return False
            return bool(found[-1])

        arena.wait(f"{point} was reached", is_reached)
        os.close(reading)
        os.kill(int(found[-1]), signal.SIGKILL)
        arena.ask()

    return play


def random_kills(arena: Arena) -> None:
    """A worker is killed every few tenths of a second."""
    arena.add(2)
    arena.ask()
    for _ in range(6):
        arena.wait("there is a worker", lambda: bool(arena.worker_pids()))
        time.sleep(arena.random.uniform(0.05, 0.5))
        for pid in arena.worker_pids()[:1]:
            os.kill(pid, signal.SIGKILL)
        arena.ask()


def supervisor_killed(arena: Arena) -> None:
    """The supervisor dies alone: its workers give everything back, and the next one goes on."""
    (machine,) = arena.add()
    arena.ask()
    arena.wait_done(1)
    machine.kill()
    arena.ask()
    arena.add()


def all_killed(arena: Arena) -> None:
    """Everything dies at once, several times, as in a power cut."""
    for _ in range(3):
        (machine,) = arena.add()
        arena.ask()
        before = arena.done()
        arena.wait_done(before + arena.random.randint(1, 3))
        machine.kill_group()
    arena.add()


def stopped_and_continued(arena: Arena) -> None:
    """A worker is frozen for longer than the threshold, is reaped, and goes on as if nothing had happened."""
    arena.add(2)
    arena.ask()
    arena.wait_done(1)
    pid, owner = _freeze(arena)
    arena.ask()
    silent_s = arena.project.durability.reap_after_s * 1.6
    stopped_at = time.monotonic()
    arena.wait("the frozen process was taken for dead", lambda: not any(row.pid == pid for row in arena.alive()))
    time.sleep(max(0.0, silent_s - (time.monotonic() - stopped_at)))
    for each in (pid, owner):
        os.kill(each, signal.SIGCONT)
    arena.ask()


def _freeze(arena: Arena) -> tuple[int, int]:
    """Stop a worker that holds work, and its supervisor, which would kill a silent child; answer both.

    Who is stopped inside a transaction of SQLite keeps its lock, and everybody waits until it is continued or killed:
    nothing is lost, but nothing can be seen either. So a moment is chosen at which it holds none.
    """
    found: list[tuple[int, int]] = []

    def is_frozen() -> bool:
        for pid in _busy(arena)[:1]:
            owner = next((each for each in arena.machines if pid in each.workers()), None)
            if owner is None or owner.process is None:
                return False
            for each in (owner.process.pid, pid):
                os.kill(each, signal.SIGSTOP)
            if arena.can_write() and pid in _busy(arena):
                found.append((pid, owner.process.pid))
                return True
            for each in (pid, owner.process.pid):
                os.kill(each, signal.SIGCONT)
        return False

    arena.wait("a worker with work is frozen", is_frozen)
    return found[-1]


def _busy(arena: Arena) -> list[int]:
    with arena.ledger.reading() as tx:
        rows = tx.rows(
            """SELECT p.pid AS pid FROM executions e JOIN processes p ON p.id = e.process
               WHERE e.completed_at IS NULL AND p.dead_at IS NULL"""
        )
    running = set(arena.worker_pids())
    return [int(str(row["pid"])) for row in rows if int(str(row["pid"])) in running]


def zombie_commits(arena: Arena, **more: object) -> None:
    """A worker falls silent before it publishes, is taken for dead, and publishes after somebody else has."""
    arena.add(2, zombie=str(arena.folder / "zombie"), **more)
    arena.ask()
    arena.reached("zombie")
    arena.wait("its commit was answered", lambda: bool(arena.noted("fenced")) or _is_doubled(arena))
    arena.ask()
    arena.wait_quiet()


def _is_doubled(arena: Arena) -> bool:
    with arena.ledger.reading() as tx:
        return bool(
            tx.rows("SELECT dispatch FROM executions WHERE outcome = 'ok' GROUP BY dispatch HAVING count(*) > 1")
        )


def server_restarted(arena: Arena) -> None:
    """The database server is stopped as by a power cut, twice, under load; nobody is reaped for that."""
    assert arena.server is not None
    arena.add(2)
    arena.ask()
    arena.wait_done(1)
    for _ in range(2):
        arena.server.stop()
        time.sleep(arena.random.uniform(0.1, 0.8))
        arena.server.start()
        arena.ask()
    arena.wait_quiet()
    assert not arena.noted("reaped"), f"reaped for an outage of the server: {arena.noted('reaped')}"


def answers_lost(arena: Arena) -> None:
    """Connections are cut before the database saw a transaction, and after it committed one: often a claim."""
    arena.add(2, loses={"before": 0.05, "after": 0.05, "claims": 0.3})
    for _ in range(3):
        arena.ask()
        arena.wait_done(arena.done() + 2)


def disk_full(arena: Arena) -> None:
    """No file can grow for a while: data, and on SQLite the ledger, too. Nothing half-written is published."""
    machines = arena.add(2)
    arena.ask()
    arena.wait_done(1)
    arena.wait("there are workers", lambda: len(arena.worker_pids()) >= 2)
    for machine in machines:
        machine.limit_files(16 * 1024)
    arena.ask()
    time.sleep(1.0)
    for machine in machines:
        machine.limit_files(-1)
    _clear_all(arena)


def _clear_all(arena: Arena) -> None:
    """What failed is looked at by somebody and asked for again, until every Pond is fresh."""
    arena.wait_quiet()
    before = arena.count("SELECT 1 FROM runs WHERE state = 'completed'")
    for kind in ("inlet", "middle", "outlet"):
        for number in range(CHAINS):
            arena.send(Clear(pond=f"{kind}_{number}@1"))
    arena.ask()
    arena.wait_quiet()
    assert arena.count("SELECT 1 FROM runs WHERE state = 'completed'") >= before + CHAINS, "it did not go on"


def clock_stepped(arena: Arena) -> None:
    """The wall clock of the host is set two hours ahead, another one, and back a little: nobody dies of it."""
    clock = arena.folder / "clock"
    clock.write_text("0")
    arena.add(2, clock=str(clock))
    arena.ask()
    arena.wait_done(1)
    for offset_s in (7200, 10_800):
        clock.write_text(str(offset_s))
        arena.ask()
        arena.wait_done(arena.done() + 2)
    clock.write_text("10798")
    arena.wait("nothing runs", lambda: not _busy(arena))
    assert not arena.noted("reaped"), f"reaped for a clock: {arena.noted('reaped')}"


def clocks_apart(arena: Arena) -> None:
    """The machines disagree about the time by hours; the server's counts."""
    for number, offset_s in enumerate((7200, -7200)):
        clock = arena.folder / f"clock{number}"
        clock.write_text(str(offset_s))
        arena.add(1, clock=str(clock))
    for _ in range(3):
        arena.ask()
        arena.wait_quiet()
    assert not arena.noted("reaped"), f"reaped for a clock: {arena.noted('reaped')}"


def rolling_deploy(arena: Arena) -> None:
    """New code under load, machines restarted one after the other: released, never crashed."""
    machines = arena.add(2)
    arena.ask()
    arena.wait_done(1)
    for number, machine in enumerate(machines):
        arena.project = arena.write(0.05 + number / 100)
        arena.deploy()
        arena.ask()
        assert machine.drain() == 0
        machine.start()
        arena.ask()
    arena.wait_quiet()
    assert arena.count("SELECT 1 FROM executions WHERE outcome = 'crashed'") == 0, "a restart counted as a crash"


POISON = (
    PONDS
    + """
@pond
def poison(spark) -> object:
    import ctypes, os
    time.sleep(0.1)
    kind = random.randrange(3)
    if kind == 0:
        os._exit(9)
    if kind == 1:
        os.kill(os.getpid(), 9)  # what the kernel does to whoever takes the most memory
    ctypes.string_at(0)
"""
)


def poison(arena: Arena) -> None:
    """A step that takes its process down, again and again, beside innocent ones."""
    arena.add(1)
    arena.ask()
    arena.send(Pulse(pond="poison@1"))
    for _ in range(3):
        arena.ask()
        time.sleep(arena.random.uniform(0.1, 0.4))
    arena.wait_quiet()
    with arena.ledger.reading() as tx:
        (run,) = tx.rows("SELECT r.error AS error FROM runs r JOIN ponds p ON p.id = r.pond WHERE p.name = 'poison'")
        blamed = tx.rows("SELECT node FROM dispatches WHERE crashes > 0 AND node <> 'poison'")
        failed = tx.rows("SELECT node FROM dispatches WHERE outcome = 'failed' AND node <> 'poison'")
    assert "CRASHES_EXHAUSTED" in str(run["error"]), f"the poison ended with {run['error']}"
    assert not failed, f"innocent steps failed: {failed}"
    # A neighbour that happened to run alone when somebody killed the process may carry a crash; none may carry two.
    assert len(blamed) <= 1, f"innocent steps were blamed: {blamed}"


def slow_beats(arena: Arena) -> None:
    """Heartbeats arrive late, but within the threshold."""
    arena.add(2, slow_beats_s=0.8)
    for _ in range(3):
        arena.ask()
        arena.wait_quiet()
    assert not arena.noted("reaped"), f"reaped while it beat: {arena.noted('reaped')}"


STARVING = (
    PONDS
    + """
@pond
def starving(spark) -> object:
    import os, re
    try:
        os.close(os.open("{mark}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return [1]
    # Within one call into C no other thread runs, so nobody beats: it takes minutes.
    re.match("(a+)+b", "a" * 40)
    return [1]
"""
)


def starved_beats(arena: Arena) -> None:
    """The author's code keeps the interpreter to itself: the process is replaced and the work done by another."""
    arena.add(1)
    arena.ask()
    arena.wait_quiet()
    arena.send(Pulse(pond="starving@1"))
    arena.wait("the silent one was replaced", lambda: bool(arena.noted("reaped")))
    arena.wait_quiet()
    with arena.ledger.reading() as tx:
        outcomes = [
            str(row["outcome"])
            for row in tx.rows(
                """SELECT e.outcome AS outcome FROM executions e JOIN dispatches d ON d.id = e.dispatch
                   WHERE d.node = 'starving' ORDER BY e.id"""
            )
        ]
    assert outcomes == ["crashed", "ok"], f"it ended with {outcomes}"


RAISING = (
    PONDS
    + """
@pond
def raising(spark) -> object:
    raise ValueError("the author's fault")

@pond
def unserialisable(spark) -> object:
    return [object()]

@pond(timeout="1s")
def endless(spark) -> object:
    while True:
        time.sleep(0.05)
"""
)


def author_errors(arena: Arena) -> None:
    """The author's code raises, returns nonsense, or does not end: it fails with its reason and crashes nobody."""
    arena.add(1)
    arena.ask()
    for name in ("raising", "unserialisable", "endless"):
        arena.send(Pulse(pond=f"{name}@1"))
    arena.wait_quiet()
    with arena.ledger.reading() as tx:
        errors = {
            str(row["name"]): str(row["error"])
            for row in tx.rows("SELECT p.name AS name, r.error AS error FROM runs r JOIN ponds p ON p.id = r.pond")
        }
    assert "the author's fault" in errors["raising"], errors["raising"]
    assert "TYPEERROR" in errors["unserialisable"], errors["unserialisable"]
    assert "TIMEOUT" in errors["endless"], errors["endless"]
    # Only the thread that cannot be stopped costs its process, and that is released: nobody is blamed.
    assert arena.count("SELECT 1 FROM dispatches WHERE crashes > 0") == 0, "an error of the author counted as a crash"


def partitioned(arena: Arena) -> None:
    """One machine loses the network for longer than the threshold, keeps its files, and comes back."""
    cut = Machine(arena, "cut", {})
    proxy = cut.behind_proxy()
    arena.machines.append(cut)
    cut.start()
    arena.ask()
    arena.wait_done(1)
    arena.wait("it holds something", lambda: bool(_busy(arena)))
    proxy.cut()
    arena.add(1)
    arena.ask()
    gone = {row.id for row in arena.alive() if row.pid in set(cut.pids())}
    arena.wait("it was taken for dead", lambda: not gone & {row.id for row in arena.alive()})
    proxy.heal()
    arena.ask()


def partitioned_and_late(arena: Arena) -> None:
    """A machine without a network does not notice it, and publishes when it is back: only the fence is left."""
    cut = Machine(arena, "cut", {"late": {"mark": str(arena.folder / "late"), "until": str(arena.folder / "healed")}})
    proxy = cut.behind_proxy()
    arena.machines.append(cut)
    cut.start()
    arena.ask()
    arena.reached("late")
    proxy.cut()
    gone = {row.id for row in arena.alive() if row.pid in set(cut.pids())}
    arena.add(1)
    arena.wait("it was taken for dead", lambda: not gone & {row.id for row in arena.alive()})
    # Its work is done elsewhere before it comes back.
    arena.wait_quiet()
    before = arena.done()
    assert not arena.noted("fenced"), "it was never late"
    (arena.folder / "healed").touch()
    proxy.heal()
    arena.wait("its late commit was fenced", lambda: bool(arena.noted("fenced")))
    assert arena.done() == before, "the late commit counted"
    arena.ask()


def connections_cut(arena: Arena) -> None:
    """The server ends every connection, again and again, in the middle of whatever they do."""
    assert arena.server is not None
    arena.add(2)
    arena.ask()
    for _ in range(5):
        arena.wait_done(arena.done() + 1)
        arena.server.end_connections(arena.url)
        arena.ask()


def operators_race(arena: Arena) -> None:
    """Somebody kills, clears and asks while workers commit, and workers die."""
    arena.add(2)
    arena.ask()
    for _ in range(12):
        key = f"{arena.random.choice(['inlet', 'middle', 'outlet'])}_{arena.random.randrange(CHAINS)}@1"
        arena.send(Kill(pond=key))
        if arena.random.random() < 0.3:
            for pid in arena.worker_pids()[:1]:
                os.kill(pid, signal.SIGKILL)
        arena.send(Clear(pond=key))
        arena.ask()
        time.sleep(arena.random.uniform(0, 0.2))
    _clear_all(arena)


def forged_pid(arena: Arena) -> None:
    """A dead process whose pid was given out again holds a claim: it is found dead, and nobody takes it for alive."""
    from pondage.engine import identity

    arena.ask()
    with arena.ledger.transaction() as tx:
        # Our own pid runs, but it did not start then.
        forged = processes.register(
            tx, public_id="pforged", machine=identity.machine(), pid=os.getpid(), pid_started=1, role="worker", slots=1
        )
    from pondage.ledger import work

    with arena.ledger.reading() as tx:
        codes = [str(row["code"]) for row in tx.rows("SELECT code FROM queues")]
    queues = [queue for code in codes for queue in work.queues_for(arena.ledger, code=code)]
    assert work.claim_work(arena.ledger, process=forged, queues=queues, token="tforged", is_alone=True) is not None
    arena.add(1)
    arena.wait("the forged one is dead", lambda: all(row.public_id != "pforged" for row in arena.alive()))


def foreign_writes(arena: Arena) -> None:
    """Somebody wrote into the ledger by hand: the damage is named, and goes no further."""
    arena.add(1)
    arena.ask()
    arena.wait_quiet()
    with arena.ledger.transaction() as tx:
        dead = processes.register(tx, public_id="pdead", machine="m", pid=1, pid_started=1, role="worker", slots=1)
        tx.change("UPDATE processes SET dead_at = :now WHERE id = :id", id=dead)
        row = tx.row("SELECT max(id) AS id FROM dispatches")
        assert row is not None
        tx.change("UPDATE dispatches SET outcome = NULL WHERE id = :id", id=int(str(row["id"])))
        tx.change(
            """INSERT INTO executions (dispatch, token, process, epoch, is_isolated, created_at, claimed_at)
               VALUES (:dispatch, 'tleaked', :process, 9, 0, :now, :now)""",
            dispatch=int(str(row["id"])),
            process=dead,
        )
    with arena.ledger.reading() as tx:
        leaked = health.leaked_claims(tx)
    assert leaked, "the leaked claim is not found"
    with arena.ledger.transaction() as tx:
        tx.change("DELETE FROM executions WHERE token = 'tleaked'")
        tx.change("UPDATE dispatches SET outcome = 'ok' WHERE outcome IS NULL")
    arena.ask()


POINTS = ("before_claim", "after_claim", "in_attempt", "after_write_before_commit", "after_commit")
FAULTS = [
    Fault(row="8", name="three claimers", play=nothing),
    *(Fault(row="1" if point != "after_write_before_commit" else "1, 16", name=f"kill {point}", play=_killed_at(point))
      for point in POINTS),
    Fault(row="1", name="random kills", play=random_kills),
    Fault(row="2", name="supervisor killed", play=supervisor_killed),
    Fault(row="2", name="all killed", play=all_killed),
    Fault(row="3", name="frozen and back", play=stopped_and_continued, arena={"work_s": 0.4}),
    Fault(row="3", name="zombie commits", play=zombie_commits),
    Fault(row="4", name="server restarted", play=server_restarted, databases=SERVER_ONLY,
          arena={"reap_after_s": 15}),
    Fault(row="4", name="connections cut", play=connections_cut, databases=SERVER_ONLY, arena={"reap_after_s": 15}),
    Fault(row="5", name="answers lost", play=answers_lost),
    Fault(row="6", name="disk full", play=disk_full, may_fail=True),
    Fault(row="7", name="clock stepped", play=clock_stepped),
    Fault(row="7", name="clocks apart", play=clocks_apart, databases=SERVER_ONLY),
    Fault(row="9", name="rolling deploy", play=rolling_deploy),
    Fault(row="10", name="poison", play=poison, may_fail=True, arena={"crash_budget": 1, "ponds": POISON}),
    Fault(row="11", name="slow heartbeats", play=slow_beats, arena={"reap_after_s": 6}),
    Fault(row="11", name="starved heartbeats", play=starved_beats, arena={"ponds": STARVING}),
    Fault(row="13", name="author's errors", play=author_errors, may_fail=True, arena={"ponds": RAISING}),
    Fault(row="15", name="partitioned", play=partitioned, databases=SERVER_ONLY, arena={"work_s": 0.4}),
    Fault(row="15", name="partitioned and late", play=partitioned_and_late, databases=SERVER_ONLY),
    Fault(row="17", name="operators race", play=operators_race, may_fail=True),
    Fault(row="18", name="pid given again", play=forged_pid),
    Fault(row="19", name="foreign writes", play=foreign_writes),
]  # fmt: skip


# ----------------------------------------------------------------------------------------------- the controls


def control_without_fence(arena: Arena) -> None:
    zombie_commits(arena, controls=["fence"])


def control_without_look_up(arena: Arena) -> None:
    arena.add(1, controls=["look-up"], loses={"before": 0.0, "after": 0.0, "claims": 1.0})
    arena.ask()
    arena.wait_quiet(patience_s=5.0)


def control_without_reaper(arena: Arena) -> None:
    (machine,) = arena.add(1, controls=["reaper"])
    arena.ask()
    arena.wait("somebody works", lambda: bool(_busy(arena)))
    machine.kill_group()
    arena.add(1, controls=["reaper"])
    arena.wait_quiet(patience_s=5.0)


CONTROLS = [
    Fault(row="3", name="no fence", is_control=True, play=control_without_fence),
    Fault(row="5", name="no look-up", is_control=True, play=control_without_look_up),
    Fault(row="1", name="no reaper", is_control=True, play=control_without_reaper, arena={"work_s": 1.5}),
]
