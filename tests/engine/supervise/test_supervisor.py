"""The supervisor with children that are only objects."""

from __future__ import annotations

import itertools
import os
import threading
from pathlib import Path

import msgspec
import pytest

from pondage.define.project.durability import Durability
from pondage.engine.process import identity
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.spawn import KEPT_LOGS, sweep_logs
from pondage.engine.supervise.supervisor import KILL_AFTER_S, LOST, Supervisor, come_back
from pondage.kernel.demand.events import Tap
from pondage.ledger.act import questions
from pondage.ledger.commit import polling, work
from pondage.ledger.queue import processes
from tests.engine.plain import engine_config, wait_for
from tests.ledger.harness import World, pond
from tests.ledger.jobs import TEST_REGISTRY, Jobs, job
from tests.patience import PATIENCE_S


class FakeChild:
    """A child process that does what a test says, and its row in the ledger."""

    def __init__(self, world: World, config: WorkerConfig) -> None:
        self.config = config
        self.pid = os.getpid()
        self.code: int | None = None
        self.terminated = 0
        self.looks = 0
        self.ends_when_asked = True
        with world.ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id=config.public_id, machine=identity.machine(), pid=self.pid,
                pid_started=identity.started(self.pid), role=config.role, code=config.code,
            )  # fmt: skip

    def poll(self) -> int | None:
        self.looks += 1
        return self.code

    def terminate(self) -> None:
        self.terminated += 1
        if self.ends_when_asked:
            self.code = 0

    def kill(self) -> None:
        self.code = -9


class Supervised:
    def __init__(self, world: World, path: Path, **changes: object) -> None:
        self.now_s = 0.0
        self.children: list[FakeChild] = []

        def start(config: WorkerConfig) -> FakeChild:
            self.children.append(FakeChild(world, config))
            return self.children[-1]

        self.supervisor = Supervisor(
            engine_config(path, **changes), world.ledger, start_worker=start, clock=lambda: self.now_s
        )


def with_one_child(world: World, path: Path, **changes: object) -> tuple[Supervised, FakeChild]:
    """A supervisor that has just started its first worker for waiting work."""
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    supervised = Supervised(world, path, **changes)
    supervised.supervisor.tick()
    (child,) = supervised.children
    return supervised, child


def running(world: World, path: Path) -> tuple[Supervised, FakeChild, threading.Thread]:
    """A supervisor that runs in a thread and has started its first worker for waiting work."""
    supervised = Supervised(world, path)
    thread = threading.Thread(target=supervised.supervisor.run, daemon=True)
    thread.start()
    wait_for(world, lambda: len(supervised.children) == 1)
    return supervised, supervised.children[0], thread


def forget_process(world: World, child: FakeChild) -> None:
    with world.ledger.transaction() as tx:
        tx.change("UPDATE processes SET dead_at = 1 WHERE id = :id", id=child.process)


def claim(world: World, child: FakeChild, token: str = "t1") -> None:
    queues = polling.queues_for(world.ledger, code=child.config.code)
    held = work.claim_work(world.ledger, process=child.process, queues=queues, token=token, is_alone=True)
    assert held is not None


def test_a_worker_is_started_for_waiting_work_and_only_then(world: World, tmp_path: Path) -> None:
    world.deploy(pond("orders"))
    supervised = Supervised(world, tmp_path)
    supervised.supervisor.tick()
    assert supervised.children == []
    world.send(Tap(pond="orders@1"))
    supervised.supervisor.tick()
    supervised.supervisor.tick()
    assert [child.config.code for child in supervised.children] == [world.one("SELECT archive FROM deployments")]


def test_a_process_for_questions_is_started_beside_all_workers_and_ends_when_nobody_asks(
    world: World, tmp_path: Path
) -> None:
    supervised, worker = with_one_child(world, tmp_path, workers=1)
    claim(world, worker)
    asked = questions.submit(world.ledger, "main", "select 1", limit=1)
    supervised.supervisor.tick()
    (_, child) = supervised.children
    assert (child.config.role, child.config.code, child.config.engine.env) == ("questions", "", ())
    claim(world, child, token="t2")
    supervised.now_s += 1_000
    supervised.supervisor.tick()
    assert child.terminated == 0, "it still answers"
    questions.withdraw(world.ledger, asked)
    supervised.supervisor.tick()
    supervised.now_s += 299
    supervised.supervisor.tick()
    assert child.terminated == 0
    supervised.now_s += 1
    supervised.supervisor.tick()
    assert child.terminated == 1
    assert worker.terminated == 0


def test_what_a_child_held_is_taken_back_as_soon_as_it_has_ended(world: World, tmp_path: Path) -> None:
    supervised, child = with_one_child(world, tmp_path)
    claim(world, child)
    child.code = -9
    supervised.supervisor.tick()
    assert [row["outcome"] for row in world.rows("SELECT outcome FROM executions ORDER BY id")] == ["crashed", None]
    assert len(supervised.children) == 2, "and the child is replaced at once"


def test_a_silent_child_is_killed_and_replaced(world: World, tmp_path: Path) -> None:
    supervised, child = with_one_child(world, tmp_path)
    claim(world, child)
    world.clock.time += 49_000_000
    supervised.supervisor.tick()
    assert child.code is None
    world.clock.time += 1_000_000
    supervised.supervisor.tick()
    assert child.code == -9
    supervised.supervisor.tick()
    assert len(supervised.children) == 2


def test_a_child_that_never_registered_is_replaced_too(world: World, tmp_path: Path) -> None:
    supervised, child = with_one_child(world, tmp_path)
    forget_process(world, child)
    supervised.now_s = 50.0
    supervised.supervisor.tick()
    assert child.code == -9


def test_a_child_that_is_being_started_has_time_however_nervous_the_ledger_is(world: World, tmp_path: Path) -> None:
    """Found by the fault matrix on a busy machine: each worker was killed before it could register."""
    world.ledger.durability = Durability(heartbeat_s=0.3, reap_after_s=1.5, child_margin_s=0.5)
    supervised, child = with_one_child(world, tmp_path)
    forget_process(world, child)
    supervised.now_s = 29.0
    supervised.supervisor.tick()
    assert child.code is None
    supervised.now_s = 30.0
    supervised.supervisor.tick()
    assert child.code == -9


def test_a_child_that_others_took_for_dead_is_killed(world: World, tmp_path: Path) -> None:
    world.ledger.durability = Durability(heartbeat_s=0.3, reap_after_s=1.5, child_margin_s=0.5)
    supervised, child = with_one_child(world, tmp_path)
    supervised.supervisor.tick()
    forget_process(world, child)
    supervised.now_s = 1.0
    supervised.supervisor.tick()
    assert child.code == -9


def test_an_idle_worker_of_old_code_makes_room(world: World, tmp_path: Path) -> None:
    supervised, old = with_one_child(world, tmp_path, workers=1)
    claim(world, old)
    with world.ledger.transaction() as tx:
        tx.change("DELETE FROM availabilities")
        tx.change("UPDATE executions SET completed_at = 1, outcome = 'ok'")
    world.deploy(pond("other", code="c2"), removed=("orders@1",), archive=b"b")
    world.send(Tap(pond="other@1"))
    supervised.supervisor.tick()
    assert old.terminated == 1
    supervised.supervisor.tick()
    assert [child.config.code for child in supervised.children[1:]] == [
        world.one("SELECT archive FROM deployments ORDER BY id DESC LIMIT 1")
    ]


def test_it_runs_drains_and_says_goodbye(world: World, tmp_path: Path) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    supervised = Supervised(world, tmp_path)
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(supervised.supervisor.run()), daemon=True)
    thread.start()
    wait_for(world, lambda: len(supervised.children) == 1)
    supervised.supervisor.drain()
    thread.join(PATIENCE_S)
    assert codes == [0]
    with world.ledger.reading() as tx:
        assert processes.alive(tx) == []
    assert supervised.children[0].terminated == 1


def test_draining_twice_asks_the_children_twice(world: World, tmp_path: Path) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    supervised, child, thread = running(world, tmp_path)
    child.ends_when_asked = False
    asked = threading.Event()
    told_twice = threading.Event()

    def terminate() -> None:
        child.terminated += 1
        (asked if child.terminated == 1 else told_twice).set()
        if child.terminated == 2:
            child.code = 0

    child.terminate = terminate  # type: ignore[method-assign]
    supervised.supervisor.drain()
    assert asked.wait(PATIENCE_S)
    supervised.supervisor.drain()
    assert told_twice.wait(PATIENCE_S)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("is_once", [True, False])
def test_a_draining_supervisor_waits_out_the_grace_of_work_that_may_run_only_once_and_of_no_other(
    world: World, tmp_path: Path, is_once: bool
) -> None:
    source = msgspec.structs.replace(TEST_REGISTRY["source"], restartable=not is_once)
    Jobs(world).start(job("components: [{name: a, type: source}]", registry={**TEST_REGISTRY, "source": source}))
    (supervised, child, thread), durability = running(world, tmp_path), world.ledger.durability
    child.ends_when_asked = False
    claim(world, child)
    supervised.supervisor.drain()
    wait_for(world, lambda: child.terminated == 1)
    supervised.now_s = durability.drain_s + KILL_AFTER_S
    if is_once:
        for until_s in (supervised.now_s, durability.termination_grace_s + KILL_AFTER_S - 1):
            supervised.now_s, looks = until_s, child.looks
            wait_for(world, lambda looks=looks: child.looks > looks + 2)
            assert child.code is None, "it has been looked at since, and nobody has killed it"
        supervised.now_s += 1
    thread.join(PATIENCE_S)
    assert (thread.is_alive(), child.code, child.terminated) == (False, -9, 1)


def test_being_told_twice_ends_the_wait_for_work_that_may_run_only_once(world: World, tmp_path: Path) -> None:
    source = msgspec.structs.replace(TEST_REGISTRY["source"], restartable=False)
    Jobs(world).start(job("components: [{name: a, type: source}]", registry={**TEST_REGISTRY, "source": source}))
    supervised, child, thread = running(world, tmp_path)
    child.ends_when_asked = False
    claim(world, child)
    supervised.supervisor.drain()
    wait_for(world, lambda: child.terminated == 1)
    supervised.supervisor.drain()
    wait_for(world, lambda: child.terminated == 2)
    supervised.now_s = KILL_AFTER_S
    thread.join(PATIENCE_S)
    assert (thread.is_alive(), child.code) == (False, -9)


def test_a_machine_that_was_lost_comes_back_under_a_new_identity(world: World) -> None:
    codes, said = iter([LOST, LOST, 0]), []
    hours = itertools.count(0.0, 3_600.0)
    assert come_back(lambda: next(codes), is_over=lambda: False, say=said.append, clock=lambda: next(hours)) == 0
    assert len(said) == 2


def test_a_machine_that_was_lost_while_it_ended_does_not_come_back(world: World) -> None:
    assert come_back(lambda: LOST, is_over=lambda: True, say=lambda line: None) == LOST


def test_a_supervisor_that_was_declared_dead_is_lost(world: World, tmp_path: Path) -> None:
    supervised = Supervised(world, tmp_path)
    with world.ledger.transaction() as tx:
        tx.change("UPDATE processes SET dead_at = 1")
    assert supervised.supervisor.run() == LOST


def test_output_files_that_somebody_else_sweeps_at_this_moment_are_no_obstacle(tmp_path: Path) -> None:
    for number in range(KEPT_LOGS + 3):
        (tmp_path / f"worker-{number}.log").touch()
    gone = tmp_path / "worker-gone.log"
    gone.symlink_to(tmp_path / "swept")  # listed, and not there when it is looked at
    sweep_logs(tmp_path, "worker-*.log")
    assert len(list(tmp_path.iterdir())) == KEPT_LOGS
    assert not gone.is_symlink()


def test_a_worker_that_dies_of_its_work_again_and_again_is_replaced_at_once(world: World, tmp_path: Path) -> None:
    supervised, _ = with_one_child(world, tmp_path)
    for number in range(1, world.ledger.durability.crash_budget):
        claim(world, supervised.children[-1], token=f"t{number}")
        supervised.children[-1].code = -9
        supervised.supervisor.tick()
        assert len(supervised.children) == number + 1, "nobody holds its successor back"
        world.pass_time(10)
