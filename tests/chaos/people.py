"""Faults that people make: deploys under load, code that kills or fails, operators, writes by hand."""

from __future__ import annotations

import os
import signal
import time

from pondage.kernel.demand.events import Clear, Kill, Pulse
from pondage.ledger.commit import polling
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import health
from tests.chaos.arena import CHAINS, PONDS, Arena, sent
from tests.chaos.outages import clear_all


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
    # On a busy machine a silence of a second may have more reasons: then it was replaced more than once.
    assert (set(outcomes[:-1]), outcomes[-1:]) == ({"crashed"}, ["ok"]), f"it ended with {outcomes}"


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


def operators_race(arena: Arena) -> None:
    """Somebody kills, clears and asks while workers commit, and workers die."""
    arena.add(2)
    arena.ask()
    for _ in range(12):
        key = f"{arena.random.choice(['inlet', 'middle', 'outlet'])}_{arena.random.randrange(CHAINS)}@1"
        arena.send(Kill(pond=key))
        if arena.random.random() < 0.3:
            for pid in arena.worker_pids()[:1]:
                sent(pid, signal.SIGKILL)
        arena.send(Clear(pond=key))
        arena.ask()
        time.sleep(arena.random.uniform(0, 0.2))
    clear_all(arena)


def forged_pid(arena: Arena) -> None:
    """A dead process whose pid was given out again holds a claim: it is found dead, and nobody takes it for alive."""
    from pondage.engine.process import identity

    arena.ask()
    with arena.ledger.transaction() as tx:
        # Our own pid runs, but it did not start then.
        forged = processes.register(
            tx, public_id="pforged", machine=identity.machine(), pid=os.getpid(), pid_started=1, role="worker", slots=1
        )
    from pondage.ledger.commit import work

    with arena.ledger.reading() as tx:
        codes = [str(row["code"]) for row in tx.rows("SELECT code FROM queues")]
    queues = [queue for code in codes for queue in polling.queues_for(arena.ledger, code=code)]
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
