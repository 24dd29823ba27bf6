"""A worker from claim to commit, on a real ledger file, without Spark."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.component import Scaling
from pondage.define.project.durability import Durability
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Result
from pondage.engine.worker.process import Ending
from pondage.engine.worker.watch import close_unknown_claims
from pondage.kernel.demand.events import Kill, Pulse, Tap
from pondage.ledger.act.jobs import kill as kill_run
from pondage.ledger.commit import guarded, polling
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.queue import claims, processes
from tests.engine.plain import Gate, PlainExecutor, Running, join_slots, make_worker, sqlite_world, wait_for
from tests.ledger.harness import World, content, pond
from tests.ledger.jobs import Jobs, component_result, job
from tests.patience import PATIENCE_S
from tests.services.postgres import wait_until


def chain() -> list:
    return [pond("orders"), pond("sales", sources={"orders": True}), pond("reports", sources={"sales": True})]


def outcomes(world: World) -> list[object]:
    return [row["outcome"] for row in world.rows("SELECT outcome FROM executions ORDER BY id")]


def test_a_worker_carries_a_pulse_through_every_pond(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(*chain())
    with Running(make_worker(world, tmp_path, executor)) as running:
        world.send(Pulse(pond="reports@1"))
        wait_for(world, lambda: [state for state, _ in world.runs("reports")] == ["completed"])
    assert running.code == 0
    assert executor.executed == ["orders", "sales", "reports"]
    assert executor.is_stopped


def test_a_plain_ripple_costs_two_transactions(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(*chain())
    world.send(Pulse(pond="reports@1"))
    worker = make_worker(world, tmp_path, executor)
    counts = world.ledger.driver.counts
    before, looks = counts.transactions, counts.reads
    assert worker.claim_one()
    join_slots()
    assert executor.executed == ["orders", "sales", "reports"], "a slot that is done claims for itself"
    assert counts.transactions - before == 2 * 3 + 1, "two for each, and a claim that finds nothing more"
    assert counts.reads - looks == 1, "nobody looks for what a commit has just made available"


def test_a_slot_that_is_done_claims_nothing_more_for_a_worker_that_ends(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(*chain())
    world.send(Pulse(pond="reports@1"))
    worker = make_worker(world, tmp_path, executor)
    gate = executor.act = Gate()
    assert worker.claim_one()
    gate.wait_entered()
    worker.drain()
    gate.opened.set()
    join_slots()
    assert executor.executed == ["orders"]
    assert world.one("SELECT count(*) AS n FROM availabilities") == 1


def test_no_more_is_claimed_than_there_are_slots(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(*(pond(name) for name in ("a", "b", "c")))
    for name in ("a", "b", "c"):
        world.send(Tap(pond=f"{name}@1"))
    gate = executor.act = Gate()
    with Running(make_worker(world, tmp_path, executor, slots=2)):
        held = "SELECT count(*) AS n FROM executions WHERE token IS NOT NULL AND completed_at IS NULL"
        wait_for(world, lambda: world.one(held) == 2)
        gate.wait_entered()
        assert world.one("SELECT count(*) AS n FROM availabilities") == 1
        gate.opened.set()
        wait_for(world, lambda: outcomes(world) == ["ok"] * 3)


def test_who_waits_for_another_component_keeps_the_concurrency_of_its_own_from_nobody(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    single = msgspec.structs.replace(TEST_REGISTRY["source"], scaling=Scaling(max_concurrency=1))
    two = "components: [{name: a, type: source}, {name: b, type: source}]\n"
    Jobs(world).start(job(two, registry={**TEST_REGISTRY, "source": single}))
    has_begun = threading.Event()

    def act(attempt: Attempt) -> Result:
        if attempt.work.claim.node == "b":
            has_begun.set()
        else:
            with attempt.parked():
                assert has_begun.wait(PATIENCE_S)
        return ComponentEnded(component_result(attempt.work))

    executor.act = act
    with Running(make_worker(world, tmp_path, executor, slots=4)):
        wait_for(world, lambda: outcomes(world) == ["ok", "ok"])


@pytest.mark.parametrize("error", [ValueError("no such column"), SystemExit(3), KeyboardInterrupt("stop")])
def test_whatever_an_author_raises_is_a_failure_with_its_message(
    world: World, tmp_path: Path, executor: PlainExecutor, error: BaseException
) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))

    def act(attempt: Attempt) -> Result:
        raise error

    executor.act = act
    worker = make_worker(world, tmp_path, executor)
    assert worker.claim_one()
    join_slots()
    (row,) = world.rows("SELECT outcome, error FROM executions")
    assert row["outcome"] == "failed"
    assert msgspec.json.decode(str(row["error"]))["code"] == type(error).__name__.upper()


def test_what_the_author_prints_goes_to_the_log_of_the_attempt(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))

    def act(attempt: Attempt) -> Result:
        attempt.enter("counting")
        return Written(content(attempt.work, rows=7))

    executor.act = act
    assert make_worker(world, tmp_path, executor).claim_one()
    join_slots()
    run = world.one("SELECT public_id FROM runs")
    lines = (tmp_path / "warehouse" / "logs" / str(run) / "1-1.log").read_text().splitlines()
    assert [line.split(" ", 2)[1:] for line in lines] == [["INFO", "counting"], ["INFO", "wrote 7 rows, 10 bytes"]]
    assert lines[0][-len("T17:40:01.123Z INFO counting") :][0] == "T"


def test_an_attempt_that_says_nothing_makes_no_file(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    assert make_worker(world, tmp_path, executor).claim_one()
    join_slots()
    assert outcomes(world) == ["ok"]
    assert not (tmp_path / "warehouse" / "logs").exists()


def test_a_result_that_was_fenced_is_thrown_away(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    gate = executor.act = Gate()
    worker = make_worker(world, tmp_path, executor)
    assert worker.claim_one()
    gate.wait_entered()
    world.send(Kill(pond="orders@1"))
    gate.opened.set()
    join_slots()
    assert outcomes(world)[0] == "cancelled"
    assert len(executor.discarded) == 1
    assert world.one("SELECT count(*) AS n FROM snapshots") == 0


def test_draining_waits_for_what_runs(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(*chain())
    world.send(Pulse(pond="reports@1"))
    gate = executor.act = Gate()
    with Running(make_worker(world, tmp_path, executor, slots=1)) as running:
        gate.wait_entered()
        running.worker.drain()
        gate.opened.set()
        assert running.wait() == 0
    assert outcomes(world) == ["ok", None], "the next Ripple is left for others"
    with world.ledger.reading() as tx:
        assert processes.alive(tx) == []


def test_draining_twice_gives_back_at_once_and_counts_no_crash(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    gate = executor.act = Gate()
    with Running(make_worker(world, tmp_path, executor)) as running:
        gate.wait_entered()
        running.worker.drain()
        running.worker.drain()
    assert outcomes(world) == ["released", None]
    assert world.one("SELECT crashes FROM dispatches") == 0
    gate.opened.set()
    join_slots()
    assert executor.discarded, "a late result of released work is thrown away"
    assert outcomes(world) == ["released", None]


def test_a_process_does_not_end_in_the_middle_of_a_commit(
    world: World, tmp_path: Path, executor: PlainExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    committing, may_commit = threading.Event(), threading.Event()
    real = guarded.commit

    def commit(*given: Any, **named: Any) -> bool:
        committing.set()
        assert may_commit.wait(PATIENCE_S)
        return real(*given, **named)

    monkeypatch.setattr(guarded, "commit", commit)
    with Running(make_worker(world, tmp_path, executor)) as running:
        assert committing.wait(PATIENCE_S)
        running.worker.drain()
        running.worker.drain()
        may_commit.set()
        assert running.wait() == 0
    assert outcomes(world) == ["ok"]


def test_what_is_not_done_within_the_drain_is_given_back(tmp_path: Path, executor: PlainExecutor) -> None:
    world = sqlite_world(tmp_path, Durability(poll_s=0.05, drain_s=0.0))
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    gate = executor.act = Gate()
    with Running(make_worker(world, tmp_path, executor)) as running:
        gate.wait_entered()
        running.worker.drain()
    assert outcomes(world) == ["released", None]
    gate.opened.set()
    join_slots()


@pytest.mark.parametrize("is_patient", [True, False])
def test_what_may_run_only_once_is_waited_for_and_never_given_back(
    tmp_path: Path, executor: PlainExecutor, is_patient: bool
) -> None:
    grace_s = 60.0 if is_patient else 0.02
    world = sqlite_world(tmp_path, Durability(poll_s=0.05, drain_s=0.01, termination_grace_s=grace_s))
    source = msgspec.structs.replace(TEST_REGISTRY["source"], restartable=False)
    run = Jobs(world).start(job("components: [{name: a, type: source}]", registry={**TEST_REGISTRY, "source": source}))
    gate = executor.act = Gate(lambda attempt: ComponentEnded(component_result(attempt.work)))
    with Running(make_worker(world, tmp_path, executor)) as running:
        gate.wait_entered()
        running.worker.drain()
        if is_patient:
            gate.opened.set()
        running.wait()
    assert outcomes(world) == ["ok" if is_patient else "failed"]
    gate.opened.set()
    join_slots()
    (component,) = Jobs(world).show(run).components
    assert (component.state, component.code) == (("OK", "") if is_patient else ("ERROR", "TERMINATED"))


def test_a_dead_driver_ends_the_process_and_every_attempt_in_it_crashes(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("a"), pond("b"))
    world.send(Tap(pond="a@1"))
    world.send(Tap(pond="b@1"))

    def die(attempt: Attempt) -> Result:
        raise ConnectionResetError("the JVM is gone")

    gates = {"a": Gate(die), "b": Gate(die)}
    executor.act = lambda attempt: gates[attempt.work.claim.node](attempt)
    with Running(make_worker(world, tmp_path, executor)) as running:
        for gate in gates.values():
            gate.wait_entered()
        executor.is_driver_alive = False
        gates["a"].opened.set()
        assert running.wait() == 4
    assert outcomes(world) == ["crashed", "crashed", None, None]
    # Two died together, so neither is to blame: each is tried alone before a crash counts.
    assert world.rows("SELECT crashes FROM dispatches") == [{"crashes": 0}, {"crashes": 0}]
    assert world.rows("SELECT is_isolated FROM availabilities") == [{"is_isolated": 1}, {"is_isolated": 1}]
    gates["b"].opened.set()
    join_slots()


def test_isolated_work_runs_alone(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(pond("a"), pond("b"))
    world.send(Tap(pond="a@1"))
    world.send(Tap(pond="b@1"))
    with world.ledger.transaction() as tx:
        tx.change("UPDATE availabilities SET is_isolated = 1")
        tx.change("UPDATE executions SET is_isolated = 1")
    gate = executor.act = Gate()
    with Running(make_worker(world, tmp_path, executor, slots=2)):
        gate.wait_entered()
        assert world.one("SELECT count(*) AS n FROM availabilities") == 1
        gate.opened.set()
        wait_for(world, lambda: outcomes(world) == ["ok", "ok"])


def test_a_process_that_was_declared_dead_stops_and_touches_nothing(tmp_path: Path, executor: PlainExecutor) -> None:
    world = sqlite_world(tmp_path, Durability(poll_s=0.05, heartbeat_s=0.05))
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    gate = executor.act = Gate()
    with Running(make_worker(world, tmp_path, executor)) as running:
        gate.wait_entered()
        with world.ledger.transaction() as tx:
            tx.change("UPDATE processes SET dead_at = 1")
        assert running.wait() == 3
    assert executor.cancelled
    assert outcomes(world) == [None], "the reaper ends it, not the zombie"
    gate.opened.set()
    join_slots()


def test_a_claim_whose_answer_was_lost_for_good_is_given_back(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = make_worker(world, tmp_path, executor)
    code = str(world.one("SELECT archive FROM deployments"))
    queues = polling.queues_for(world.ledger, code=code)
    with world.ledger.transaction() as tx:
        assert claims.claim(tx, process=worker.process, queues=queues, token="tlost", is_alone=True)
    assert close_unknown_claims(world.ledger, worker.slots, process=worker.process) == 1
    assert outcomes(world) == ["abandoned", None]
    assert close_unknown_claims(world.ledger, worker.slots, process=worker.process) == 0
    assert worker.claim_one()
    join_slots()
    assert outcomes(world) == ["abandoned", "ok"]


def test_a_claim_that_is_known_is_never_given_back(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    gate = executor.act = Gate()
    worker = make_worker(world, tmp_path, executor)
    assert worker.claim_one()
    gate.wait_entered()
    assert close_unknown_claims(world.ledger, worker.slots, process=worker.process) == 0
    gate.opened.set()
    join_slots()
    assert outcomes(world) == ["ok"]


def test_a_stronger_ending_is_never_overridden(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    worker = make_worker(world, tmp_path, executor)
    worker.end(Ending.FENCED, "silent")
    worker.end(Ending.DRAIN, "asked to stop")
    assert worker.run() == 3


def test_an_outage_of_the_ledger_is_waited_for(
    world: World, tmp_path: Path, executor: PlainExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = make_worker(world, tmp_path, executor)
    real, calls = worker.claim_one, []

    def claim_one() -> bool:
        calls.append(1)
        if len(calls) < 3:
            raise OSError("the database does not answer")
        return real()

    monkeypatch.setattr(worker, "claim_one", claim_one)
    with Running(worker):
        wait_for(world, lambda: outcomes(world) == ["ok"])


@pytest.mark.parametrize(("is_once", "expected"), [(False, ["released", "ok"]), (True, ["failed"])])
def test_work_that_could_not_ask_the_ledger_is_given_back_unless_it_may_run_only_once(
    world: World, tmp_path: Path, executor: PlainExecutor, is_once: bool, expected: list[str]
) -> None:
    """Found by the chaos run "connections cut" on a busy machine: the code could not be fetched, and the Run failed."""
    source = msgspec.structs.replace(TEST_REGISTRY["source"], restartable=not is_once)
    Jobs(world).start(job("components: [{name: a, type: source}]", registry={**TEST_REGISTRY, "source": source}))

    def cut(attempt: Attempt) -> Result:
        if len(executor.executed) == 1:
            raise LedgerUnavailable("the connection was cut")
        return ComponentEnded(component_result(attempt.work))

    executor.act = cut
    with Running(make_worker(world, tmp_path, executor)):
        wait_for(world, lambda: outcomes(world) == expected)
    assert len(executor.discarded) == 1


def test_a_thread_that_does_not_stop_takes_nobody_else_s_work_with_it(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders"), pond("sales"))
    world.send(Tap(pond="orders@1"))
    world.send(Tap(pond="sales@1"))
    gates = {"orders": Gate(), "sales": Gate()}
    executor.act = lambda attempt: gates[attempt.work.claim.node](attempt)
    with Running(make_worker(world, tmp_path, executor, slots=2, cancel_grace_s=0.0)) as running:
        for gate in gates.values():
            gate.wait_entered()
        world.send(Kill(pond="orders@1"))
        stuck = running.worker.slots
        wait_until(lambda: any(attempt.is_stuck for attempt in stuck.attempts))
        assert running.worker.state() == "busy 2/2", "it goes on for the sake of the other one"
        gates["sales"].opened.set()
        assert running.wait() == 0, "and ends when nobody else is there"
    assert sorted(map(str, outcomes(world))) == ["cancelled", "ok"]
    gates["orders"].opened.set()
    join_slots()


BOTH = """
job_config: {on_component_error: abort}
components: [{name: a, type: task}, {name: b, type: task}]
"""


@pytest.mark.parametrize("way", ["killed", "a panic of another"])
def test_who_cooperates_hears_at_once_that_its_run_is_over_and_no_attempt_follows(
    world: World, tmp_path: Path, executor: PlainExecutor, way: str
) -> None:
    jobs = Jobs(world)
    run = jobs.start(job(BOTH))
    b_runs, heard = threading.Event(), threading.Event()

    def act(attempt: Attempt) -> Result:
        if attempt.work.claim.node == "a":
            assert b_runs.wait(PATIENCE_S)
            if way == "killed":
                kill_run(world.ledger, "main", run)
                assert attempt.stopping.wait(PATIENCE_S)
                return ComponentEnded(component_result(attempt.work, is_cut=True))
            return ComponentEnded(component_result(attempt.work, failing={"a"}))
        b_runs.set()
        assert attempt.stopping.wait(PATIENCE_S), "it waits for nothing but a stop"
        heard.set()
        return ComponentEnded(component_result(attempt.work, is_cut=True))

    executor.act = act
    with Running(make_worker(world, tmp_path, executor, slots=2)):
        assert heard.wait(PATIENCE_S)
        wait_for(world, lambda: jobs.row(run).ended_at is not None)
    ended = jobs.row(run)
    assert (ended.state, ended.code) == (("ABORTED", "KILLED") if way == "killed" else ("ERROR", "PANIC"))
    assert sorted(executor.executed) == ["a", "b"]
    assert world.one("SELECT count(*) FROM availabilities") == 0
