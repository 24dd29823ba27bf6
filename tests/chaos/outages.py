"""Faults of what processes stand on: the server, the wire, the disk, the clock."""

from __future__ import annotations

import time

from pondage.kernel.demand.events import Clear
from tests.chaos.arena import CHAINS, Arena, Machine
from tests.chaos.deaths import busy, is_busy


def clear_all(arena: Arena) -> None:
    """What failed is looked at by somebody and asked for again, until every Pond is fresh."""
    arena.wait_quiet()
    before = arena.count("SELECT 1 FROM runs WHERE state = 'completed'")
    for kind in ("inlet", "middle", "outlet"):
        for number in range(CHAINS):
            arena.send(Clear(pond=f"{kind}_{number}@1"))
    arena.ask()
    arena.wait_quiet()
    assert arena.count("SELECT 1 FROM runs WHERE state = 'completed'") >= before + CHAINS, "it did not go on"


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
        arena.ask_and_wait(2)


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
    clear_all(arena)


def clock_stepped(arena: Arena) -> None:
    """The wall clock of the host is set two hours ahead, another one, and back a little: nobody dies of it."""
    clock = arena.folder / "clock"
    clock.write_text("0")
    arena.add(2, clock=str(clock))
    arena.ask()
    arena.wait_done(1)
    for offset_s in (7200, 10_800):
        clock.write_text(str(offset_s))
        arena.ask_and_wait(2)
    clock.write_text("10798")
    arena.wait("nothing runs", lambda: not busy(arena))
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


def partitioned(arena: Arena) -> None:
    """One machine loses the network for longer than the threshold, keeps its files, and comes back."""
    cut = Machine(arena, "cut", {})
    proxy = cut.behind_proxy()
    arena.machines.append(cut)
    cut.start()
    arena.ask()
    arena.wait_done(1)
    arena.wait("it holds something", lambda: is_busy(arena))
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
    late = f"fenced {(arena.folder / 'late').read_text()}"
    assert late not in arena.noted("fenced"), "it was never late"
    (arena.folder / "healed").touch()
    proxy.heal()
    arena.wait("its late commit was fenced", lambda: late in arena.noted("fenced"))
    assert arena.done() == before, "the late commit counted"
    arena.ask()


def connections_cut(arena: Arena) -> None:
    """The server ends every connection, again and again, in the middle of whatever they do."""
    assert arena.server is not None
    arena.add(2)
    for _ in range(5):
        arena.ask_and_wait(1)
        arena.server.end_connections(arena.url)
    arena.ask()
