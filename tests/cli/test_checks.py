"""What an operator sees of rules and of differences: `checks`, `checks --sample`, `diff`."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.pond.definition import ExpectationDefinition
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.ripple import Written
from pondage.work.snapshot import ExpectationResult
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers
from tests.ledger.data.test_checks import claimed, ruled
from tests.ledger.harness import World, content

RULES = (
    ExpectationDefinition(name="not_null(n)", kind="not_null", column="n", severity="warn"),
    ExpectationDefinition(name="unique(n)", kind="unique", columns=("n",)),
)


@pytest.fixture
def judged(world: World) -> World:
    """`orders` has published twice; the second time rows broke a rule that only warns."""
    world.deploy(ruled("orders", *RULES), project="shop")
    worker = world.worker()
    for broken in (0, 3):
        held = claimed(world, worker)
        results = (
            ExpectationResult(
                name="not_null(n)", severity="warn", passed=not broken, observed=f"{broken} rows", broken=broken
            ),
            ExpectationResult(name="unique(n)", severity="fail", passed=True, observed="0 rows", broken=0),
        )
        written = msgspec.structs.replace(content(held, 5), expectations=results)
        assert guarded.commit(world.ledger, held, Written(written), process=worker.id)
        world.pass_time(60)
    return world


def test_checks_shows_each_rule_with_its_history_and_where_it_is_going(judged: World, call: Call) -> None:
    lines = call("checks", "orders").out.splitlines()
    assert [line.split()[:5] for line in lines[1:3]] == [
        ["orders.orders", "not_null(n)", "broken", ".x", "worse"],
        ["orders.orders", "unique(n)", "kept", "..", "steady"],
    ]
    assert lines[-1] == "to see such rows: pondage checks orders --sample"
    rules = call("checks", "--json").json["rules"]
    assert [(each["rule"], each["state"], len(each["outcomes"])) for each in rules] == [  # type: ignore[attr-defined]
        ("not_null(n)", "broken", 2),
        ("unique(n)", "kept", 2),
    ]
    assert "did you mean 'orders'" in call("checks", "orders.order").err


def test_checks_shows_rows_that_break_a_rule(judged: World, call: Call, workers: FakeWorkers) -> None:
    said = call("checks", "orders", "--sample")
    assert said.code == 0
    assert "orders.orders: not_null(n) (run " in said.out
    assert "2 rows" in said.out
    assert [each["rule"] for each in msgspec.json.decode(call("checks", "orders", "--sample", "--json").out)] == [
        "not_null(n)"
    ]
    nothing = call("checks", "orders", "--sample", "--rule", "unique(n)")
    assert (nothing.code, "no row of orders breaks unique(n)" in nothing.err) == (1, True)
    assert call("checks", "--sample").code == 2


def test_diff_shows_columns_and_rows_by_key(judged: World, call: Call, workers: FakeWorkers) -> None:
    said = call("diff", "orders", "--against", "orders#1")
    assert "orders (by n)" in said.out
    assert "1 added, 0 removed, 1 changed; 1 row before, 2 rows now" in said.out
    assert "column extra: not there before, double now" in said.out
    assert "column name differs in 1 row" in said.out
    assert "name: one -> null" in said.out
    view = call("diff", "orders.orders", "--against", "orders#1", "--key", "m", "--json").json
    assert view["tables"][0]["keys"] == ["m"]  # type: ignore[index]
    assert "no difference in 5 rows" in call("diff", "orders", "--against", "main").out
    assert "neither a Run nor an environment" in call("diff", "orders", "--against", "orders#9").err
