"""The loop that runs the services."""

from __future__ import annotations

import queue

from pondage.engine.services.maintenance import Maintenance
from tests.ledger.harness import World
from tests.patience import PATIENCE_S


class Counting:
    """A service that counts its passes, and fails when a test says so."""

    def __init__(self, name: str, *, is_woken: bool = False, every_s: float = 3600.0) -> None:
        self.name = name
        self.is_woken = is_woken
        self.every_s = every_s
        self.is_broken = False
        self.passes = 0

    def run_once(self) -> float:
        self.passes += 1
        if self.is_broken:
            raise RuntimeError("broken")
        return self.every_s


class Moved:
    """A loop with a clock that the test moves."""

    def __init__(self, world: World, *services: Counting) -> None:
        self.now_s = 0.0
        self.loop = Maintenance(list(services), world.ledger.driver.changes(), clock=lambda: self.now_s)


def test_each_service_runs_at_its_own_pace(world: World) -> None:
    quick, slow = Counting("quick", every_s=1.0), Counting("slow", every_s=10.0)
    moved = Moved(world, quick, slow)
    for second in range(10):
        moved.now_s = float(second)
        moved.loop.run_due(is_changed=False)
    assert (quick.passes, slow.passes) == (10, 1)


def test_a_change_wakes_the_services_that_want_it(world: World) -> None:
    woken, sleeping = Counting("woken", is_woken=True), Counting("sleeping")
    moved = Moved(world, woken, sleeping)
    for _ in range(3):
        moved.loop.run_due(is_changed=True)
    assert (woken.passes, sleeping.passes) == (3, 1)


def test_a_broken_service_holds_up_nobody_and_is_tried_again_later(world: World) -> None:
    broken, sound = Counting("broken", is_woken=True), Counting("sound", is_woken=True)
    broken.is_broken = True
    moved = Moved(world, broken, sound)
    for _ in range(3):
        moved.loop.run_due(is_changed=True)
    assert (broken.passes, sound.passes) == (1, 3), "it backs off: it is not woken while it fails"
    moved.now_s = 0.5
    moved.loop.run_due(is_changed=False)
    assert broken.passes == 2
    broken.is_broken = False
    moved.now_s = 2.0
    moved.loop.run_due(is_changed=False)
    moved.loop.run_due(is_changed=True)
    assert broken.passes == 4


def test_the_thread_runs_a_pass_when_somebody_commits(world: World) -> None:
    passed: queue.Queue[str] = queue.Queue()
    loop = Maintenance([Counting("woken", is_woken=True)], world.ledger.driver.changes(), on_pass=passed.put)
    loop.start()
    passed.get(timeout=PATIENCE_S)
    with world.ledger.transaction() as tx:
        tx.change("INSERT INTO environments (name) VALUES ('other')")
    passed.get(timeout=PATIENCE_S)
    loop.stop()
