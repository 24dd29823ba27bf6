from pathlib import Path

import pytest

from pondage.kernel.demand.events import Kill
from pondage.kernel.demand.shape import PondKey
from pondage.views.answers import QueryView
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers
from tests.ledger.harness import World

import msgspec  # isort: skip


def test_run_pulses_follows_and_prints_the_rows(world: World, workers: FakeWorkers, call: Call) -> None:
    said = call("run", "reports")
    assert said.code == 0, said.err
    assert "reports@1  idle  fresh" in said.out
    assert said.out.splitlines()[-5:] == ["reports:", "n  name", "1  one", "2  null", "2 rows"]
    assert workers.queries == ["SELECT * FROM reports"]
    assert "starting workers for this call" in said.err


def test_run_shows_only_what_the_pond_needs(world: World, workers: FakeWorkers, call: Call) -> None:
    assert "reports@1" not in call("run", "sales").out


def test_run_with_json_prints_only_the_rows(world: World, workers: FakeWorkers, call: Call) -> None:
    rows = msgspec.json.decode(call("run", "reports", "--json").out, type=dict[str, QueryView])
    assert rows["reports"].rows == ([1, "one"], [2, None])


def test_a_run_that_fails_says_where_and_why_and_exits_with_1(world: World, workers: FakeWorkers, call: Call) -> None:
    workers.failing = {"clean"}
    said = call("run", "reports")
    assert said.code == 1
    assert "error[EXPECTATION]: sales.clean failed: 3 rows are wrong\n  at: ponds/shop.py:7\n" in said.err
    assert "pondage logs sales" in said.err
    assert "a trace" not in said.err
    again = call("run", "reports")
    assert again.code == 1
    assert "error[POND_BLOCKED]: reports@1 is blocked" in again.err
    assert "try: pondage clear sales" in again.err


def test_the_trace_of_a_failed_run_is_shown_when_asked_for(world: World, workers: FakeWorkers, call: Call) -> None:
    workers.failing = {"orders"}
    assert "a trace" in call("run", "reports", "--trace").err


def test_a_run_above_a_killed_pond_is_refused(world: World, workers: FakeWorkers, call: Call) -> None:
    world.send(Kill(pond=PondKey("reports@1")))
    said = call("run", "reports")
    assert said.code == 1
    assert "try: pondage clear reports" in said.err


def test_waiting_ends_with_the_timeout_and_the_run_goes_on(
    world: World, workers: FakeWorkers, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_commit", lambda *_: None)
    said = call("run", "reports", "--timeout", "0")
    assert said.code == 1
    assert "error[TIMEOUT]" in said.err
    assert "pondage why reports" in said.err


def test_a_query_prints_a_table_with_its_count(world: World, workers: FakeWorkers, call: Call) -> None:
    said = call("query", "SELECT 1")
    assert said.out.splitlines() == ["n  name", "1  one", "2  null", "2 rows"]


def test_a_query_with_json_is_exactly_the_view(world: World, workers: FakeWorkers, call: Call) -> None:
    view = msgspec.json.decode(call("query", "SELECT 1", "--json").out, type=QueryView)
    assert (view.columns, view.truncated) == (("n", "name"), False)


def test_a_query_that_a_worker_refuses_is_an_error(world: World, workers: FakeWorkers, call: Call) -> None:
    said = call("query", "nonsense")
    assert said.code == 1
    assert "error[QUERY_FAILED]: this is not SQL" in said.err


def test_a_query_that_nobody_answers_is_withdrawn(
    world: World, workers: FakeWorkers, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_commit", lambda *_: None)
    assert "error[TIMEOUT]" in call("query", "SELECT 1", "--timeout", "0").err
    assert world.one("SELECT outcome FROM dispatches WHERE kind = 'query'") == "cancelled"


def test_a_query_without_a_deploy_says_what_to_type(project: Path, workers: FakeWorkers, call: Call) -> None:
    assert "try: pondage deploy" in call("query", "SELECT 1").err
