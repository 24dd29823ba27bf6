from pathlib import Path

import pytest

from pondage.cli.client.desk import Here
from pondage.kernel.demand.events import Kill
from pondage.kernel.demand.shape import PondKey
from pondage.views.answers import SampleView
from pondage.work.answers import QueryView
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers
from tests.ledger.harness import World, state

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


def test_a_misspelt_table_is_answered_with_the_nearest_pond(world: World, workers: FakeWorkers, call: Call) -> None:
    assert "try: did you mean sales? all of them: pondage status --once" in call("query", "SELECT * FROM saels").err


def test_a_query_that_nobody_answers_is_withdrawn(
    world: World, workers: FakeWorkers, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_commit", lambda *_: None)
    assert "error[TIMEOUT]" in call("query", "SELECT 1", "--timeout", "0").err
    assert world.one("SELECT outcome FROM dispatches WHERE kind = 'query'") == "cancelled"


def test_ctrl_c_while_a_query_is_answered_ends_it(
    world: World, workers: FakeWorkers, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pressed:
        def wait(self, timeout_s: float) -> bool:
            raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_commit", lambda *_: None)
    monkeypatch.setattr(Here, "changes", lambda self: Pressed())
    assert call("query", "SELECT 1").code == 130
    assert world.one("SELECT outcome FROM dispatches WHERE kind = 'query'") == "cancelled"


def test_a_query_without_a_deploy_says_what_to_type(project: Path, workers: FakeWorkers, call: Call) -> None:
    assert "try: pondage deploy" in call("query", "SELECT 1").err


def test_a_query_that_taps_reads_at_once_and_leaves_demand(world: World, workers: FakeWorkers, call: Call) -> None:
    call("run", "reports")
    before = state(world, "orders@1")["number"]
    said = call("query", "--tap", "SELECT n AS orders FROM reports")
    assert said.code == 0, said.err
    assert "reports@1 was tapped" in said.err
    assert "orders@1" not in said.err, "orders is a column here, not a table"
    assert said.out.splitlines()[-1] == "2 rows"
    assert state(world, "orders@1")["number"] >= before


def test_a_query_that_pulses_waits_for_every_pond_it_reads(world: World, workers: FakeWorkers, call: Call) -> None:
    said = call("query", "--pulse", "SELECT * FROM reports JOIN sales.clean USING (n)")
    assert said.code == 0, said.err
    assert "reports@1  idle  fresh" in said.out
    assert said.out.splitlines()[-1] == "2 rows"
    assert state(world, "sales@1")["number"] == 1


def test_a_query_that_pulses_says_what_failed(world: World, workers: FakeWorkers, call: Call) -> None:
    workers.failing = {"clean"}
    said = call("query", "--pulse", "SELECT * FROM reports")
    assert said.code == 1
    assert "error[EXPECTATION]: sales.clean failed" in said.err
    assert workers.queries == []


def test_a_query_of_the_past_sees_the_run_of_that_time(world: World, workers: FakeWorkers, call: Call) -> None:
    call("run", "reports")
    call("run", "reports")
    for when in ("sales#1", "sales#2", "1ms ago"):
        assert call("query", "--as-of", when, "SELECT * FROM sales").code == 0
    first, second, now = workers.views[-3:]
    assert first != second
    assert second == now


@pytest.mark.parametrize(
    ("when", "code"),
    [("1h", "NO_RUN_THEN"), ("sales#9", "NO_RUN"), ("someday", "NO_RUN"), ("2999-01-01", "IN_THE_FUTURE")],
)
def test_a_past_that_is_not_there_is_an_error(
    world: World, workers: FakeWorkers, call: Call, when: str, code: str
) -> None:
    call("run", "sales")
    said = call("query", "--as-of", when, "SELECT * FROM sales")
    assert said.code == 1
    assert f"error[{code}]" in said.err
    assert "try: " in said.err


def test_a_run_that_is_not_there_leads_to_those_of_its_pond(world: World, workers: FakeWorkers, call: Call) -> None:
    said = call("query", "--as-of", "sales#9", "SELECT * FROM sales")
    assert "there is no Run 'sales#9'\n  try: pondage runs sales\n" in said.err


def test_a_query_takes_only_one_of_tap_pulse_and_the_past(world: World, call: Call) -> None:
    assert call("query", "--tap", "--pulse", "SELECT 1").code == 2


SHOP = """
from pondage import Pond, pond

@pond
def orders(spark): ...

sales = Pond("sales")
sales.source("orders")

@sales.ripple
def clean(orders): ...

@sales.ripple
def total(clean): ...
"""


def test_a_sample_shows_every_ripple_of_files_that_are_not_deployed(
    world: World, project: Path, workers: FakeWorkers, call: Call
) -> None:
    call("run", "orders")
    before = world.rows("SELECT state, definition FROM ponds ORDER BY id")
    (project / "ponds.py").write_text(SHOP)
    workers.breaks = ["column n (bigint) was removed"]
    said = call("run", "sales", "--sample", "--rows", "50")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert "sales.clean:" in lines
    assert "sales.total:" in lines
    assert "breaks the contract of version 1.0.0: column n (bigint) was removed" in lines
    assert lines[-1].endswith("on at most 50 rows of each input; nothing was deployed or written")
    assert world.rows("SELECT state, definition FROM ponds ORDER BY id") == before
    view = msgspec.json.decode(call("run", "sales.total", "--sample", "--json").out, type=SampleView)
    assert [table.ripple for table in view.tables] == ["clean", "total"]


def test_a_sample_that_fails_has_the_place_and_the_trace_when_asked_for(
    world: World, project: Path, workers: FakeWorkers, call: Call
) -> None:
    (project / "ponds.py").write_text(SHOP)
    workers.failing = {"orders"}
    said = call("run", "orders", "--sample", "--trace")
    assert said.code == 1
    assert "error[RIPPLE_FAILED]: orders: no\n  at: ponds.py:7\n" in said.err
    assert "a trace" in said.err


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("slaes", "declares no Pond 'slaes'; did you mean 'sales'?"),
        ("sales.cleam", "sales has no Ripple 'cleam'; it has clean and total"),
        ("sales", "sales.clean reads orders.orders, which has never published"),
    ],
)
def test_a_sample_of_what_is_not_there_is_an_error(
    world: World, project: Path, workers: FakeWorkers, call: Call, what: str, words: str
) -> None:
    (project / "ponds.py").write_text(SHOP)
    said = call("run", what, "--sample")
    assert said.code == 1
    assert words in said.err


def test_one_ripple_alone_is_only_sampled(world: World, call: Call) -> None:
    said = call("run", "sales.clean")
    assert said.code == 2
    assert "pondage run sales.clean --sample" in said.err
