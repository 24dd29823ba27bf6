"""Two detectors of death: silence, and on this machine pid and start time."""

from __future__ import annotations

import os
import subprocess
import sys

from pondage.engine.process import identity
from pondage.engine.services.reaper import Reaper
from pondage.kernel.demand.events import Tap
from pondage.ledger.queue import processes
from tests.ledger.harness import World, pond


def register(world: World, *, pid: int, started: int) -> int:
    with world.ledger.transaction() as tx:
        return processes.register(
            tx, public_id=world.ledger.ids.new("p"), machine=identity.machine(), pid=pid, pid_started=started,
            role="worker",
        )  # fmt: skip


def alive(world: World) -> list[int]:
    with world.ledger.reading() as tx:
        return [row.id for row in processes.alive(tx)]


def ended_process() -> tuple[int, int]:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = identity.started(child.pid)
    child.communicate(b"\n")
    return child.pid, started


def test_a_process_of_this_machine_that_is_gone_is_reaped_at_once(world: World) -> None:
    pid, started = ended_process()
    register(world, pid=pid, started=started)
    own = register(world, pid=os.getpid(), started=identity.started(os.getpid()))
    Reaper(world.ledger, process=own).run_once()
    assert alive(world) == [own]


def test_a_pid_that_was_given_to_another_process_is_no_proof_of_life(world: World) -> None:
    register(world, pid=os.getpid(), started=identity.started(os.getpid()) - 1)
    Reaper(world.ledger, process=None).run_once()
    assert alive(world) == []


def test_a_live_process_and_one_of_another_machine_are_left_alone(world: World) -> None:
    register(world, pid=os.getpid(), started=identity.started(os.getpid()))
    elsewhere = world.worker()
    Reaper(world.ledger, process=None).run_once()
    assert len(alive(world)) == 2
    world.clock.time += 61_000_000
    Reaper(world.ledger, process=None).run_once()
    assert alive(world) == [], "silence counts for everybody"
    assert elsewhere.id


def test_what_the_dead_held_runs_again(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    first = world.worker()
    assert first.claim() is not None
    world.clock.time += 61_000_000
    second = world.worker()
    assert Reaper(world.ledger, process=second.id).run_once() == world.ledger.durability.heartbeat_s
    assert second.drain() == ["orders"]


def test_it_never_reaps_itself(world: World) -> None:
    own = register(world, pid=1, started=-1)
    world.clock.time += 61_000_000
    Reaper(world.ledger, process=own).run_once()
    assert alive(world) == [own]


def test_a_zombie_does_not_run() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    started = identity.started(child.pid)
    child.stdout.read()  # its end: the process has closed everything and is a zombie, or is about to be one
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not identity.is_running(child.pid, started)
    child.communicate()
