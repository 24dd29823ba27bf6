"""Components as work: what a worker is given, what its commit writes, what a failure, a death or a late commit does."""

from __future__ import annotations

import msgspec
import pytest

from pondage.cli.printing.jobs import component_rows
from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.project.durability import Durability
from pondage.errors import LedgerError
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded
from pondage.ledger.queue import executions
from pondage.ledger.step import advance, job_advance
from pondage.ledger.upkeep import leases, reap
from pondage.work.component import ComponentTask, Given, Stored
from tests.ledger.harness import SECOND
from tests.ledger.jobs import Jobs, component, job

CHAIN = """
job: {name: chain}
components:
  - {name: read, type: source, params: {location: here}}
  - {name: clean, type: transform, RETRIES}
  - {name: load, type: sink}
  - {name: sorry, type: task}
connections:
  data: [read.main -> clean.input, clean.main -> load.input]
  control: [clean (error) sorry]
"""

METERED = """
components:
  - {name: a, type: task}
  - {name: b, type: task}
connections:
  control: [a (ok) b]
"""
EACH_WRITES = """
components:
  - {name: each, type: iterator}
  - {name: body, type: transform}
connections:
  data: [each.item -> body.input]
"""


def chain(**options: object) -> str:
    given = ", ".join(f"{key}: {value}" for key, value in options.items()) or "params: {}"
    return CHAIN.replace("RETRIES", given)


def test_a_component_is_given_its_parameters_tables_globals_and_context(run: Jobs) -> None:
    started = run.start(job(chain()), day="monday")
    first = run.claim()
    assert first is not None
    assert isinstance(first.task, ComponentTask)
    (member,) = first.task.members
    assert (member.instance, member.component, member.params) == ("read", "source", {"location": "here"})
    assert member.writes == ("main",)
    assert first.task.context == {"env": "main", "run_id": started, "day": "monday"}
    run.commit(first, globals={"rows": 7}, after={"count": 3})
    second = run.claim()
    assert second is not None
    assert isinstance(second.task, ComponentTask)
    (given,) = second.task.members[0].inputs["input"]
    assert isinstance(given, Stored)
    assert given.content.path == f"/warehouse/{first.claim.token}/read/main"
    assert second.task.globals == {"rows": 7, "read__count": 3}
    assert second.task.idempotency_key != first.task.idempotency_key


def test_each_commit_carries_the_run_on_and_the_last_ends_it(run: Jobs) -> None:
    started = run.start(job(chain()))
    assert run.drain() == ["read", "clean", "load"]
    assert run.row(started).state == "OK"
    assert run.states(started) == {"read": "OK", "clean": "OK", "load": "OK", "sorry": "SKIPPED"}
    assert run.world.one("SELECT count(*) FROM signals") == 0


def test_a_hop_of_components_takes_two_transactions(run: Jobs) -> None:
    run.start(job(chain()))
    run.drain()
    run.start(job(chain()))
    counts = run.world.ledger.driver.counts
    before = counts.transactions
    held = run.claim()
    assert held is not None
    run.commit(held)
    assert counts.transactions - before == 2


def test_a_failure_hands_on_nothing_and_fires_its_error_edge(run: Jobs) -> None:
    started = run.start(job(chain()))
    assert run.drain(failing={"clean"}) == ["read", "clean", "sorry"]
    assert run.states(started) == {"read": "OK", "clean": "ERROR", "load": "SKIPPED", "sorry": "OK"}
    assert run.causes(started) == {"clean": "it went wrong", "load": "DATA_STARVED(input)"}
    shown = {one.name: one for one in run.show(started).components}
    assert (shown["clean"].code, shown["clean"].trace, shown["clean"].outputs) == ("Boom", "a trace", ())


def test_only_the_machine_grants_retries_and_the_ledger_delays_them(run: Jobs) -> None:
    started = run.start(job(chain(retries=1)))
    assert run.drain(failing={"clean"}) == ["read", "clean"]
    assert run.states(started)["clean"] == "RUNNING"
    run.world.pass_time(10)
    again = run.claim()
    assert again is not None
    assert (again.claim.node, again.claim.number) == ("clean", 2)
    run.commit(again)
    assert run.drain() == ["load"]
    assert run.row(started).state == "OK"


def test_an_undeclared_write_is_an_error(run: Jobs) -> None:
    registry = {**TEST_REGISTRY, "source": component("source", globals=("rows",))}
    started = run.start(job(chain(), registry=registry))
    assert run.drain(globals={"rows": 1, "other": 2})[0] == "read"
    found = next(one for one in run.show(started).components if one.name == "read")
    assert (found.state, found.code) == ("ERROR", "UNDECLARED_WRITE")


def test_a_crash_runs_the_same_dispatch_again_unseen_until_the_budget_is_spent(run: Jobs) -> None:
    run.world.ledger.durability = Durability(crash_budget=3)
    started = run.start(job(chain()))
    for crash in range(1, 4):
        run.world.pass_time(60)
        held = run.claim()
        assert held is not None, crash
        assert (held.claim.node, held.claim.number, held.claim.epoch) == ("read", 1, crash)
        assert run.states(started)["read"] == "RUNNING"
        dead = run.worker
        run.worker = run.world.worker(pid=crash + 1)
        reap.reap_process(run.world.ledger, dead.row, reason="killed")
    found = next(one for one in run.show(started).components if one.name == "read")
    assert (found.state, found.code, found.crashes) == ("ERROR", "CRASHES_EXHAUSTED", 3)
    assert run.row(started).state == "ERROR"


def test_a_component_that_may_not_be_repeated_fails_with_its_first_crash(run: Jobs) -> None:
    registry = {**TEST_REGISTRY, "source": component("source", restartable=False)}
    started = run.start(job(chain(), registry=registry))
    assert run.claim() is not None
    reap.reap_process(run.world.ledger, run.worker.row, reason="killed")
    found = next(one for one in run.show(started).components if one.name == "read")
    assert (found.state, found.code) == ("ERROR", "CRASHES_EXHAUSTED")


def test_work_that_is_given_back_runs_again_and_the_late_commit_is_fenced(run: Jobs) -> None:
    started = run.start(job(chain()))
    held = run.claim()
    assert held is not None
    assert guarded.release(run.world.ledger, held, reason="drain")
    assert not run.commit(held, failing={"read"})
    assert run.drain() == ["read", "clean", "load"]
    assert run.row(started).state == "OK"


def test_a_lease_that_runs_out_is_the_error_timeout(run: Jobs) -> None:
    started = run.start(job(chain(timeout_s=5)))
    read = run.claim()
    assert read is not None
    run.commit(read)
    held = run.claim()
    assert held is not None
    assert held.claim.timeout_s == 5
    with run.world.ledger.transaction() as tx:
        leases.extend(tx, execution=held.claim.execution, token=held.claim.token, for_us=5 * SECOND)
    run.world.pass_time(6)
    assert leases.expire(run.world.ledger, process=None) == 1
    found = next(one for one in run.show(started).components if one.name == "clean")
    assert (found.state, found.code) == ("ERROR", "TIMEOUT")
    assert not run.commit(held)
    assert run.drain() == ["sorry"]


def test_the_timeout_of_a_job_aborts_it_and_fences_what_runs(run: Jobs) -> None:
    started = run.start(job("job_config: {timeout_s: 30}\n" + chain()))
    held = run.claim()
    assert held is not None
    run.world.pass_time(31)
    assert (run.row(started).state, run.row(started).code) == ("ERROR", "TIMEOUT")
    assert not run.commit(held)
    assert run.claim() is None


def test_a_kill_lets_what_runs_end_and_starts_nothing_more(run: Jobs) -> None:
    started = run.start(job(chain()))
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    assert run.row(started).state == "RUNNING"
    assert run.commit(held)
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED")
    assert run.states(started) == {"read": "OK", "clean": "WAIT", "load": "WAIT", "sorry": "WAIT"}
    with pytest.raises(LedgerError, match="is over"):
        jobs.kill(run.world.ledger, "main", started)


@pytest.mark.parametrize("is_second_kill", [True, False])
def test_what_does_not_end_in_30_s_or_before_a_second_kill_is_cancelled(run: Jobs, is_second_kill: bool) -> None:
    started = run.start(job(chain()))
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    if is_second_kill:
        jobs.kill(run.world.ledger, "main", started)
    else:
        run.world.pass_time(31)
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED_WITHOUT_CHECKPOINT")
    assert not run.commit(held)
    assert run.world.one("SELECT outcome FROM executions") == "cancelled"


def test_labels_and_code_decide_who_may_run_a_component(run: Jobs) -> None:
    stored = job(chain(labels="[gpu]"))
    run.start(msgspec.structs.replace(stored, archive="c0de"))
    assert run.drain() == ["read"]
    assert {(row["code"], row["labels"]) for row in run.world.rows("SELECT code, labels FROM queues")} == {
        ("c0de", ""),
        ("c0de", "gpu"),
    }
    run.worker = run.world.worker(labels=frozenset({"gpu"}), pid=2)
    assert run.drain() == ["clean", "load"]


LOOP = """
job: {name: loop}
components:
  - {name: each, type: iterator, params: {fail_strategy: continue, parallel: 2}}
  - {name: read, type: source}
  - {name: body, type: union}
  - {name: done, type: union}
connections:
  data: [each.item -> body.input, read.main -> body.input, body.main -> done.input]
  control: [each (iterator_complete) done]
"""


def test_a_body_is_given_its_element_and_outside_tables_and_ok_iterations_are_gathered_in_order(run: Jobs) -> None:
    started = run.start(job(LOOP))
    seen: dict[str, list[object]] = {}
    for _ in range(6):
        held = run.claim()
        assert held is not None
        assert isinstance(held.task, ComponentTask)
        member = held.task.members[0]
        seen[member.instance] = [
            given.value if isinstance(given, Given) else str(getattr(given, "content", given)).split("'")[1]
            for given in member.inputs.get("input", ())
        ]
        run.commit(held, failing={"body[#2]"}, items=["a", "b", "c"] if member.instance == "each" else None)
    read = next(one for one in run.show(started).components if one.name == "read").outputs[0].path
    assert {name: sorted(map(str, given)) for name, given in seen.items() if name.startswith("body")} == {
        "body[#1]": sorted(["a", read]),
        "body[#2]": sorted(["b", read]),
        "body[#3]": sorted(["c", read]),
    }
    assert [path.rpartition("/")[0].rpartition("/")[2] for path in map(str, seen["done"])] == ["body[#1]", "body[#3]"]
    assert run.row(started).state == "OK"


def test_a_step_that_raises_halts_the_run_in_the_end_loses_nothing_and_a_kill_frees_it(
    run: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.world.ledger.durability = Durability(advance_retries=2)
    started = run.start(job(chain()))
    held = run.claim()
    assert held is not None

    def broken(*_given: object) -> None:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patched:
        patched.setattr(job_advance, "step", broken)
        assert run.commit(held)
        advance.advance_due(run.world.ledger, process=None)
    assert run.show(started).run.halted == "RuntimeError: a defect"
    assert run.drain() == []
    jobs.kill(run.world.ledger, "main", started)
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED")
    assert run.states(started)["read"] == "OK"


def test_a_run_tells_what_it_cost(run: Jobs) -> None:
    started = run.start(job(METERED))
    assert run.drain(globals={"k": 1}) == ["a", "b"]
    metrics = run.show(started).metrics
    assert metrics.edges_fired == 1
    assert metrics.global_writes == {"a": 2}
    assert metrics.checkpoint_bytes > 0
    assert metrics.resumed_in_us is None
    each = run.start(job(EACH_WRITES))
    held = run.claim()
    assert held is not None
    run.commit(held, items=[1, 2, 3])
    run.drain(globals={"k": 1})
    assert run.show(each).metrics.global_writes["body"] == 3
    failed = run.start(job(METERED))
    held = run.claim()
    assert held is not None
    run.commit(held, failing=["a"])
    resumed = jobs.resume(run.world.ledger, "main", failed)
    run.world.clock.time += 2 * SECOND
    assert run.claim() is not None
    assert run.show(resumed).metrics.resumed_in_us == 2 * SECOND


TWO = "components: [{name: a, type: task}, {name: b, type: task}]\nconnections: {control: [a (ok) b]}\n"


def executions_of(run: Jobs) -> list[object]:
    return [row["outcome"] for row in run.world.rows("SELECT outcome FROM executions ORDER BY id")]


def test_a_kill_during_a_crash_loop_starts_no_attempt_and_ends_at_once_with_a_checkpoint(run: Jobs) -> None:
    started = run.start(job(TWO))
    for _ in range(2):
        held = run.claim()
        assert held is not None
        assert reap.crash(run.world.ledger, process=run.worker.id, token=held.claim.token, reason="it died")
    assert executions_of(run) == ["crashed", "crashed", None], "it waits for its next try"
    jobs.kill(run.world.ledger, "main", started)
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED")
    run.world.pass_time(600)
    assert run.claim() is None
    assert executions_of(run) == ["crashed", "crashed", "cancelled"]
    resumed = jobs.resume(run.world.ledger, "main", started)
    assert run.drain() == ["a", "b"]
    assert run.row(resumed).state == "OK"


@pytest.mark.parametrize("way", ["crashed", "released", "abandoned", "out of memory"])
def test_no_attempt_follows_one_that_ended_in_a_killed_run_however_it_ended(run: Jobs, way: str) -> None:
    started = run.start(job(TWO))
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    assert run.row(started).state == "RUNNING"
    ledger, token = run.world.ledger, held.claim.token
    match way:
        case "crashed":
            assert reap.crash(ledger, process=run.worker.id, token=token, reason="it died")
        case "released":
            assert guarded.release(ledger, held)
        case "abandoned":
            assert reap.abandon(ledger, process=run.worker.id, tokens=[token]) == 1
        case _:
            dead = run.worker.row
            assert reap.reap_process(ledger, dead, reason="no memory", is_out_of_memory=True) is not None
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED")
    run.world.pass_time(600)
    assert run.claim() is None
    assert run.world.one("SELECT count(*) FROM availabilities") == 0


def test_what_may_run_only_once_and_dies_of_a_kill_is_no_panic(run: Jobs) -> None:
    once = {**TEST_REGISTRY, "task": component("task", restartable=False)}
    started = run.start(job(TWO, registry=once))
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    assert reap.crash(run.world.ledger, process=run.worker.id, token=held.claim.token, reason="it died")
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED")


def test_a_killed_run_tells_its_worker_and_takes_what_it_had_finished_by_then(run: Jobs) -> None:
    started = run.start(job(TWO))
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    with run.world.ledger.reading() as tx:
        assert executions.stopped_tokens(tx, run.worker.id) == {held.claim.token}
    assert run.commit(held)
    assert run.states(started)["a"] == "OK"
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED")


def test_what_returned_because_it_was_killed_is_executed_again_by_a_resume(run: Jobs) -> None:
    started = run.start(job(TWO))
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    assert run.commit(held, is_cut=True)
    assert (run.row(started).state, run.row(started).code) == ("ABORTED", "KILLED")
    jobs.resume(run.world.ledger, "main", started)
    assert run.drain() == ["a", "b"]


def test_a_crash_loop_shows_how_often_and_when_the_next_try_is(run: Jobs) -> None:
    started = run.start(job(TWO))
    seen = []
    for wait_s in (0, 0, 2, 4):
        run.world.pass_time(wait_s)
        held = run.claim()
        assert held is not None
        assert reap.crash(run.world.ledger, process=run.worker.id, token=held.claim.token, reason="it died")
        view = run.show(started)
        (one,) = (each for each in view.components if each.name == "a")
        again_s = None if one.again_at is None else (one.again_at - view.at) / SECOND
        seen.append((one.state, one.work, one.crashes, one.crash_budget, again_s))
    assert seen == [
        ("RUNNING", "queued", 1, 4, None),
        ("RUNNING", "queued", 2, 4, 2.0),
        ("RUNNING", "queued", 3, 4, 4.0),
        ("ERROR", "", 4, 4, None),
    ]


def test_a_component_that_ended_well_shows_how_often_its_process_died_in_any_of_its_attempts(run: Jobs) -> None:
    started = run.start(job("components: [{name: a, type: task, retries: 1}]\n"))
    held = run.claim()
    assert held is not None
    assert reap.crash(run.world.ledger, process=run.worker.id, token=held.claim.token, reason="it died")
    held = run.claim()
    assert held is not None
    run.commit(held, failing={"a"})
    run.world.pass_time(60)
    assert run.drain() == ["a"]
    (one,) = run.show(started).components
    assert (one.state, one.attempt, one.deaths) == ("OK", 2, 1)
    assert component_rows(run.show(started))[0][-1] == "crashed once; attempt 2"
