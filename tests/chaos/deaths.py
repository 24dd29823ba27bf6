"""Faults of processes: they are killed, frozen, or go on though they were taken for dead."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from tests.chaos.arena import CHAINS, Arena, sent
from tests.chaos.running import Play


def nothing(arena: Arena) -> None:
    """Three machines claim from the same queues and nobody disturbs them."""
    arena.add(3)
    for _ in range(3):
        arena.ask()
        arena.wait_quiet()
    assert not arena.noted("reaped"), "somebody was reaped though nothing happened"
    assert arena.done() == 3 * 3 * CHAINS, f"{arena.done()} executions for {3 * CHAINS} Runs of three Ponds"


def killed_at(point: str) -> Play:
    def play(arena: Arena) -> None:
        killed_when_reached(arena, point, arena.ask)
        arena.ask()

    return play


def killed_when_reached(arena: Arena, point: str, begin: Callable[[], object]) -> None:
    """Let a machine come to a checkpoint, and kill the process that is there."""
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
    begin()
    found: list[bytes] = []

    def is_reached() -> bool:
        try:
            found.append(os.read(reading, 100))
        except BlockingIOError:
            return False
        return bool(found[-1])

    arena.wait(f"{point} was reached", is_reached)
    os.close(reading)
    sent(int(found[-1]), signal.SIGKILL)


def random_kills(arena: Arena) -> None:
    """A worker is killed every few tenths of a second."""
    arena.add(2)
    arena.ask()
    for _ in range(6):
        arena.wait("there is a worker that has registered", lambda: bool(_registered(arena)))
        time.sleep(arena.random.uniform(0.05, 0.5))
        for pid in (_registered(arena) or arena.worker_pids())[:1]:
            sent(pid, signal.SIGKILL)
        arena.ask()


def _registered(arena: Arena) -> list[int]:
    known = {row.pid for row in arena.alive() if row.role == "worker"}
    return [pid for pid in arena.worker_pids() if pid in known]


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
        arena.ask_and_wait(arena.random.randint(1, 3))
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
        sent(each, signal.SIGCONT)
    arena.ask()


def _freeze(arena: Arena) -> tuple[int, int]:
    """Stop a worker that holds work, and its supervisor, which would kill a silent child; answer both.

    Who is stopped inside a transaction of SQLite keeps its lock, and everybody waits until it is continued or killed:
    nothing is lost, but nothing can be seen either. So a moment is chosen at which it holds none.
    """
    found: list[tuple[int, int]] = []

    def is_frozen() -> bool:
        for pid in busy(arena)[:1]:
            owner = next((each for each in arena.machines if pid in each.workers()), None)
            if owner is None or owner.process is None:
                return False
            for each in (owner.process.pid, pid):
                sent(each, signal.SIGSTOP)
            if arena.can_write() and pid in busy(arena):
                found.append((pid, owner.process.pid))
                return True
            for each in (pid, owner.process.pid):
                sent(each, signal.SIGCONT)
        ask_when_quiet(arena)
        return False

    arena.wait("a worker with work is frozen", is_frozen)
    return found[-1]


def ask_when_quiet(arena: Arena) -> None:
    """Ask again when everything was done before somebody looked: who waits for a busy worker needs one."""
    if arena.is_quiet():
        arena.ask()


def is_busy(arena: Arena) -> bool:
    """Answer whether somebody holds work; there is always some for who asks again."""
    if busy(arena):
        return True
    ask_when_quiet(arena)
    return False


def busy(arena: Arena) -> list[int]:
    with arena.ledger.reading() as tx:
        rows = tx.rows(
            """SELECT p.pid AS pid FROM executions e JOIN processes p ON p.id = e.process
               WHERE e.completed_at IS NULL AND p.dead_at IS NULL"""
        )
    running = set(arena.worker_pids())
    return [int(str(row["pid"])) for row in rows if int(str(row["pid"])) in running]


def zombie_commits(arena: Arena) -> None:
    """A worker falls silent before it publishes, is taken for dead, and publishes after somebody else has."""
    zombie_is_answered(arena)
    arena.ask()
    arena.wait_quiet()


def zombie_is_answered(arena: Arena, **more: object) -> None:
    """Let a worker that was taken for dead publish, and wait until it was refused or has doubled the work."""
    arena.add(2, zombie=str(arena.folder / "zombie"), **more)
    arena.ask()
    arena.reached("zombie")
    mark = arena.folder / "zombie"
    arena.wait(
        "its commit was answered",
        lambda: f"fenced {mark.read_text()}" in arena.noted("fenced") or _is_doubled(arena),
    )


def _is_doubled(arena: Arena) -> bool:
    with arena.ledger.reading() as tx:
        return bool(
            tx.rows("SELECT dispatch FROM executions WHERE outcome = 'ok' GROUP BY dispatch HAVING count(*) > 1")
        )
