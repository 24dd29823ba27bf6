"""How flows fail and stop (flows.md 3), on the real ledger with workers that do what a test says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pondage.define.job.flow import FlowFacts, FlowRefused
from pondage.define.project.durability import Durability
from pondage.errors import LedgerError, NotFound
from pondage.ledger.act import extracts, flow_constants, flows, jobs
from pondage.ledger.kinds.kind import Work
from pondage.ledger.queue import executions
from pondage.ledger.step import advance
from pondage.ledger.upkeep import job_pruning, reap
from pondage.ledger.upkeep.job_replay import replay_runs
from pondage.plan.job.stored_job import StoredJob, stored_job
from pondage.views.jobs.flows import flow_run
from pondage.work.component import ComponentTask, Panic, Panicked
from tests.ledger.jobs import Jobs, component_result
from tests.plan.flow.programs import PROGRAMS, planned

DAY_S = 86_400
ROWS = {"const": {"type": "Table<{id: bigint}>", "value": [{"id": 1}]}}


def flow(nodes: dict[str, Any], *edges: list[str], **changes: dict[str, Any]) -> StoredJob:
    """A tree as it is submitted; `changes` are of programs."""
    registry = {**PROGRAMS}
    for name, change in changes.items():
        registry[name] = msgspec.structs.replace(registry[name], **change)
    tree = {"version": 1, "nodes": nodes, "edges": list(edges)}
    found = planned(tree, registry=registry, fuses=False)
    return stored_job(found.plan, registry, flow=FlowFacts(extracts=found.extracts))


def sink(*names: str) -> list[list[str]]:
    return [[name, "sink.in"] for name in names]


def chain(**changes: dict[str, Any]) -> StoredJob:
    """a -> b -> c, and x beside them."""
    nodes = {"a": ROWS, "b": {"prog": "keep"}, "c": {"prog": "keep"}, "x": ROWS, "sink": {"prog": "sink"}}
    return flow(nodes, ["a.out", "b.in"], ["b.out", "c.in"], *sink("c.out", "x.out"), **changes)


def handled(**changes: dict[str, Any]) -> StoredJob:
    """a -> b, whose panic h takes over."""
    nodes = {"a": ROWS, "b": {"prog": "keep"}, "h": {"prog": "handle"}, "sink": {"prog": "sink"}}
    return flow(nodes, ["a.out", "b.in"], ["b.panic", "h.in"], *sink("b.out"), **changes)


def claimed(run: Jobs) -> dict[str, Work]:
    found = {}
    while (held := run.claim()) is not None:
        found[held.claim.node] = held
    return found


def crash(run: Jobs) -> None:
    """Everything that this worker holds dies with it."""
    dead = run.worker
    run.worker = run.world.worker(pid=dead.id + 1)
    reap.reap_process(run.world.ledger, dead.row, reason="killed")


def panics_of(run: Jobs, started: str) -> tuple[Panic, ...]:
    with run.world.ledger.reading() as tx:
        return flow_run(tx, run.world.ledger, "main", started).panics


def test_a_panic_that_nobody_handles_ends_the_flow_cancels_the_others_and_skips_the_rest(run: Jobs) -> None:
    started = run.start(chain())
    held = claimed(run)
    assert set(held) == {"a", "x"}
    run.commit(held["a"], failing={"a"})
    row = run.row(started)
    assert (row.state, row.code) == ("ERROR", "PANIC")
    assert run.causes(started) == {"a": "it went wrong", **dict.fromkeys(("b", "c", "sink"), "ABORTED(PANIC)")}
    assert not run.commit(held["x"]), "what ran beside it was cancelled, and its commit finds the guard shut"
    assert run.world.one("SELECT outcome FROM dispatches WHERE node = 'x'") == "cancelled"
    assert run.claim() is None


def test_the_panics_of_a_flow_are_told_together(run: Jobs) -> None:
    started = run.start(handled())
    run.drain(failing={"b"})
    (panic,) = panics_of(run, started)
    assert (panic.node, panic.attempt, panic.code, panic.message) == ("b", 1, "Boom", "it went wrong")
    assert panic.detail == "a trace"
    assert panic.at > 0


def test_a_wired_panic_is_handled_and_its_handler_gets_the_row(run: Jobs) -> None:
    started = run.start(handled())
    while (held := run.claim()) is not None and held.claim.node != "h":
        run.commit(held, failing={"b"})
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    (given,) = held.task.members[0].inputs["in"]
    assert isinstance(given, Panicked)
    assert (given.panic.node, given.panic.code, given.panic.detail) == ("b", "Boom", "a trace")
    run.commit(held)
    assert run.row(started).state == "OK"
    assert run.states(started) == {"a": "OK", "b": "ERROR", "h": "OK", "sink": "SKIPPED"}


def test_a_handler_of_what_went_well_is_skipped(run: Jobs) -> None:
    started = run.start(handled())
    run.drain()
    assert run.row(started).state == "OK"
    assert run.causes(started)["h"] == "EDGE_NOT_FIRED(b,error)"


def test_a_handler_that_fails_itself_is_a_panic(run: Jobs) -> None:
    started = run.start(handled())
    run.drain(failing={"b", "h"})
    assert (run.row(started).state, run.row(started).code) == ("ERROR", "PANIC")


def test_a_crash_is_unseen_within_its_budget_and_a_panic_when_that_is_spent(run: Jobs) -> None:
    run.world.ledger.durability = Durability(crash_budget=2)
    started = run.start(handled())
    held = run.claim()
    assert held is not None
    run.commit(held)
    for number in range(2):
        run.world.pass_time(60)
        again = run.claim()
        assert again is not None, number
        assert (again.claim.node, again.claim.is_once) == ("b", False)
        assert run.states(started)["b"] == "RUNNING"
        crash(run)
    (panic,) = panics_of(run, started)
    assert (panic.code, "took its process down 2 times" in panic.message) == ("CRASHES_EXHAUSTED", True)
    assert run.drain() == ["h"]
    assert run.row(started).state == "OK"


def test_what_may_run_only_once_panics_at_its_first_crash_whoever_was_to_blame(run: Jobs) -> None:
    nodes = {
        "a": ROWS, "one": {"prog": "keep"}, "two": {"prog": "maybe"}, "sink": {"prog": "sink"},
    }  # fmt: skip
    once = {"deterministic": False, "restartable": False}
    started = run.start(flow(nodes, ["a.out", "one.in"], ["a.out", "two.in"], *sink("one.out"), keep=once))
    first = run.claim()
    assert first is not None
    run.commit(first)
    held = claimed(run)
    assert {name: one.claim.is_once for name, one in held.items()} == {"one": True, "two": False}
    crash(run)
    assert (run.row(started).state, run.row(started).code) == ("ERROR", "PANIC")
    (panic,) = panics_of(run, started)
    assert (panic.node, panic.code) == ("one", "CRASHES_EXHAUSTED")
    assert run.claim() is None, "neither is executed again"


def test_a_tree_that_takes_too_long_ends_with_its_own_code(run: Jobs) -> None:
    tree = {"version": 1, "nodes": {"a": ROWS, "s": {"prog": "sink"}}, "edges": [["a.out", "s.in"]],
            "limits": {"timeout_s": 60}}  # fmt: skip
    started = run.start(stored_job(planned(tree).plan, PROGRAMS, flow=FlowFacts()))
    assert run.claim() is not None
    run.world.pass_time(61)
    advance.advance_due(run.world.ledger, process=None)
    assert (run.row(started).state, run.row(started).code) == ("ERROR", "TIMEOUT")


def stopping() -> StoredJob:
    """The first row of `sig` stops `src`, which feeds `next`."""
    nodes = {
        "sig": ROWS, "src": {"prog": "rows", "params": {"columns": {"id": "bigint"}}}, "next": {"prog": "keep"},
        "sink": {"prog": "sink"},
    }  # fmt: skip
    return flow(nodes, ["sig.out", "src.stop"], ["src.out", "next.in"], *sink("next.out"))


def rows_of(held: Work, rows: int) -> Any:
    result = component_result(held)
    outputs = {
        port: msgspec.structs.replace(content, rows=rows) for port, content in result.members[-1].outputs.items()
    }
    return msgspec.structs.replace(result, members=(msgspec.structs.replace(result.members[-1], outputs=outputs),))


def test_the_first_row_on_an_edge_into_stop_stops_in_the_same_transaction_and_delays_nothing(run: Jobs) -> None:
    started = run.start(stopping())
    held = claimed(run)
    assert set(held) == {"sig", "src"}, "a stop edge delays no start"
    assert isinstance(held["sig"].task, ComponentTask)
    assert held["sig"].task.members[0].writes == ("out",)
    run.commit_result(held["sig"], rows_of(held["sig"], 1))
    with run.world.ledger.reading() as tx:
        assert executions.stopped_tokens(tx, run.worker.id) == {held["src"].claim.token}
    run.commit(held["src"])
    assert run.drain() == ["next", "sink"], "closing its outputs early is OK"
    assert (run.row(started).state, run.row(started).code) == ("OK", None)
    environment = run.row(started).environment
    with run.world.ledger.reading() as tx:
        assert replay_runs(tx, run.world.ledger, environment).differences == ()


def test_the_end_of_an_empty_table_on_a_stop_edge_is_nothing(run: Jobs) -> None:
    run.start(stopping())
    held = claimed(run)
    run.commit_result(held["sig"], rows_of(held["sig"], 0))
    with run.world.ledger.reading() as tx:
        assert executions.stopped_tokens(tx, run.worker.id) == set()


def test_what_was_asked_to_stop_and_raises_or_takes_too_long_is_stopped(run: Jobs) -> None:
    for ending in ("raises", "grace"):
        started = run.start(stopping())
        held = claimed(run)
        run.commit_result(held["sig"], rows_of(held["sig"], 1))
        if ending == "raises":
            run.commit(held["src"], failing={"src"})
        else:
            run.world.pass_time(31)
            advance.advance_due(run.world.ledger, process=None)
            assert not run.commit(held["src"])
        src = next(one for one in run.show(started).components if one.name == "src")
        assert (src.state, src.code) == ("ERROR", "STOPPED"), ending
        assert (run.row(started).state, run.row(started).code) == ("ERROR", "PANIC"), ending


def test_a_stop_that_comes_before_somebody_takes_the_work_comes_with_it(run: Jobs) -> None:
    started = run.start(stopping())
    flows.stop(run.world.ledger, "main", started, "src")
    held = claimed(run)
    assert {name: one.task.is_stopping for name, one in held.items() if isinstance(one.task, ComponentTask)} == {
        "sig": False, "src": True,
    }  # fmt: skip


def test_stopping_a_whole_flow_skips_what_waits_and_ends_by_its_verdict(run: Jobs) -> None:
    started = run.start(chain())
    held = claimed(run)
    flows.stop(run.world.ledger, "main", started)
    assert run.causes(started) == dict.fromkeys(("b", "c", "sink"), "ABORTED(STOPPED)")
    for one in held.values():
        assert run.commit(one)
    assert (run.row(started).state, run.row(started).code) == ("OK", "STOPPED")
    with pytest.raises(LedgerError, match="is over"):
        flows.stop(run.world.ledger, "main", started)


def test_the_panic_of_one_node_may_stop_another(run: Jobs) -> None:
    nodes = {"a": ROWS, "b": {"prog": "keep"}, "x": ROWS, "h": {"prog": "handle"}, "sink": {"prog": "sink"}}
    started = run.start(
        flow(nodes, ["a.out", "b.in"], ["b.panic", "x.stop"], ["b.panic", "h.in"], *sink("b.out", "x.out"))
    )
    held = claimed(run)
    run.commit(held["a"])
    failing = run.claim()
    assert failing is not None
    run.commit(failing, failing={"b"})
    with run.world.ledger.reading() as tx:
        assert executions.stopped_tokens(tx, run.worker.id) == {held["x"].claim.token}
    run.commit(held["x"])
    run.drain()
    assert run.row(started).state == "OK"


def test_a_resumed_flow_keeps_what_was_finished_and_what_it_had_stopped(run: Jobs) -> None:
    started = run.start(stopping())
    held = claimed(run)
    run.commit_result(held["sig"], rows_of(held["sig"], 1))
    run.commit(held["src"], failing={"src"})
    assert run.row(started).code == "PANIC"
    again = jobs.resume(run.world.ledger, "main", started)
    assert again.startswith("f")
    assert run.row(again).is_flow
    restored = {one.name for one in run.show(again).components if one.is_restored}
    assert restored == {"sig"}
    found = run.claim()
    assert found is not None
    assert isinstance(found.task, ComponentTask)
    assert (found.claim.node, found.task.is_stopping) == ("src", True)


def extracting(**retentions: str) -> StoredJob:
    """a -> b, both extracted for so long."""
    tree = {
        "version": 1,
        "nodes": {"a": ROWS, "b": {"prog": "keep"}, "sink": {"prog": "sink"}},
        "edges": [["a.out", "b.in"], ["b.out", "sink.in"]],
        "extract": {
            name: {"from": f"{name}.out", "format": "ndjson", "retention": retention}
            for name, retention in retentions.items()
        },
    }
    found = planned(tree, fuses=False)
    facts = FlowFacts(extracts=found.extracts, types=found.extract_types)
    return stored_job(found.plan, PROGRAMS, flow=facts)


def tables(run: Jobs, *, is_marked: bool) -> set[str]:
    marks = "NOT NULL" if is_marked else "NULL"
    found = run.world.rows(f"SELECT instance FROM run_tables WHERE tombstoned_at IS {marks}")
    return {str(row["instance"]) for row in found}


def piece(run: Jobs, started: str, name: str) -> extracts.Pieces:
    with run.world.ledger.reading() as tx:
        one = extracts.find(tx, run.world.ledger, "main", started, name)
        return extracts.pieces(tx, one, seen=0)


def test_an_extract_is_there_when_its_node_has_committed_and_not_before(run: Jobs) -> None:
    started = run.start(extracting(a="7d", b="7d"))
    assert piece(run, started, "a") == extracts.Pieces()
    held = run.claim()
    assert held is not None
    run.commit(held)
    found = piece(run, started, "a")
    assert (len(found.found), found.is_complete) == (1, True)
    assert not piece(run, started, "b").is_complete
    with pytest.raises(NotFound, match="it has a, b"):
        piece(run, started, "nope")


def test_an_extract_that_will_never_come_is_told(run: Jobs) -> None:
    started = run.start(extracting(b="7d"))
    run.drain(failing={"b"})
    with pytest.raises(LedgerError, match="b is ERROR") as caught:
        piece(run, started, "b")
    assert caught.value.code == "EXTRACT_LOST"


def test_extracts_have_a_retention_of_their_own_shorter_or_longer_than_that_of_runs(run: Jobs) -> None:
    started = run.start(extracting(a="2d", b="40d"))
    run.drain()
    run.world.pass_time(3 * DAY_S)
    job_pruning.mark(run.world.ledger)
    assert tables(run, is_marked=True) == {"a"}
    with pytest.raises(LedgerError, match="is kept for 2d") as caught:
        piece(run, started, "a")
    assert caught.value.code == "EXTRACT_GONE"
    run.world.pass_time(32 * DAY_S)
    job_pruning.mark(run.world.ledger)
    assert tables(run, is_marked=False) == {"b"}
    assert job_pruning.prune(run.world.ledger) == 0, "the run stays as long as one of its extracts"
    assert piece(run, started, "b").is_complete
    run.world.pass_time(10 * DAY_S)
    sweep(run)
    assert run.world.one("SELECT count(*) FROM job_runs") == 0


def sweep(run: Jobs) -> None:
    job_pruning.mark(run.world.ledger)
    with run.world.ledger.transaction() as tx:
        job_pruning.swept(tx, [table.id for table in job_pruning.sweepable(tx, before=tx.now + 1)])
    job_pruning.prune(run.world.ledger)


def test_cleaning_up_removes_tables_attempts_and_rows_before_their_retention_but_no_extract(run: Jobs) -> None:
    kept, whole = run.start(extracting(b="2d")), run.start(extracting())
    run.drain()
    for started in (kept, whole):
        assert flows.clean_up(run.world.ledger, "main", started).tables > 0
    sweep(run)
    assert tables(run, is_marked=False) == {"b"}
    assert piece(run, kept, "b").is_complete
    assert run.world.rows("SELECT public_id FROM job_runs") == [{"public_id": kept}]
    run.world.pass_time(3 * DAY_S)
    sweep(run)
    for rows in ("job_runs", "run_tables", "run_rows", "dispatches", "executions", "signals"):
        assert run.world.one(f"SELECT count(*) FROM {rows}") == 0, rows


def test_a_constant_that_was_stored_before_comes_with_the_flow_that_names_it(run: Jobs) -> None:
    ledger = run.world.ledger
    ref = flow_constants.store(ledger, "main", b"id\n1\n")
    nodes: dict[str, Any] = {
        "c": {"const": {"type": "Bytes<text/csv>", "ref": ref}},
        "l": {"prog": "lines"},
        "sink": {"prog": "sink"},
    }
    run.start(flow(nodes, ["c.out", "l.in"], *sink("l.out")))
    held = run.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    assert held.task.members[0].params == {"type": "Bytes<text/csv>", "bytes": "aWQKMQo="}
    nodes["c"]["const"]["ref"] = "sha256:" + "ab" * 32
    with pytest.raises(FlowRefused) as caught:
        run.start(flow(nodes, ["c.out", "l.in"], *sink("l.out")))
    assert [(one.code, one.path) for one in caught.value.problems] == [("UNKNOWN_REF", "/nodes/c/const/ref")]
    with pytest.raises(LedgerError, match="more than a constant may have"):
        flow_constants.store(ledger, "main", b"x" * (flow_constants.MAX_BYTES + 1))
    run.world.pass_time(31 * DAY_S)
    flow_constants.store(ledger, "main", b"new")
    assert run.world.one("SELECT count(*) FROM constants") == 1
