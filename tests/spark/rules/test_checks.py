"""Data checks from end to end: declared, judged, recorded, shown, and compared between Runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.cli.main import main
from pondage.errors import NotFound, PondageError
from pondage.ledger.act import inspections, questions
from pondage.testing import published
from pondage.views.ponds.checks import breaking, read_checks
from pondage.views.ponds.diff import comparison
from pondage.work.answers import BrokenRule
from pondage.work.diff import TableDifference
from tests.spark.pipeline import Pipeline

pytestmark = pytest.mark.spark

PONDS = """
import json
from pathlib import Path
from pondage import Pond, check, fresh, foreign_key, not_null, pond, unique, volume
from pyspark.sql import functions as F

ROWS = Path(__file__)


@pond
def customers(spark):
    return spark.createDataFrame([("ann", "DE"), ("bob", "FR")], "customer string, country string")


@pond(expect=[
    not_null("id", quarantine=True, at_most=1),
    foreign_key("customer", "customers.customer", quarantine=True),
    unique("id"),
    check("positive", lambda: F.col("amount") > 0, severity="warn"),
    volume(within=0.5, of_last=3),
])
def orders(spark, run):
    given = json.loads(Path(run.parameters.get("rows", "ROWS")).read_text())
    return spark.createDataFrame([tuple(each) for each in given], "id int, customer string, amount double")
"""
FIRST = [[1, "ann", 1.0], [2, "bob", -2.0], [None, "ann", 3.0], [4, "eve", 4.0]]
SECOND = [[1, "ann", 1.5], [3, "bob", 3.0]]
TWICE = [[1, "ann", 1.0], [1, "bob", 1.0]]


class Shop:
    """A pipeline whose Inlet reads what a test gave it."""

    def __init__(self, pipeline: Pipeline, rows: Path) -> None:
        self.pipeline = pipeline
        self.rows = rows

    def order(self, rows: list[list[Any]]) -> None:
        self.rows.write_text(msgspec.json.encode(rows).decode())
        self.pipeline.run("orders")

    def answer(self, asked: int) -> bytes:
        while questions.result(self.pipeline.ledger, asked) is None:
            assert self.pipeline.attempt()
        answer = questions.result(self.pipeline.ledger, asked)
        assert answer is not None
        if answer.failure is not None:
            raise PondageError(answer.failure.message, code=answer.failure.code)
        return (answer.result or "").encode()

    def query(self, sql: str) -> list[list[Any]]:
        asked = questions.submit(self.pipeline.ledger, "main", sql, limit=100)
        rows: list[list[Any]] = msgspec.json.decode(self.answer(asked))["rows"]
        return rows

    def broken(self, rule: str | None = None) -> dict[str, list[list[Any]]]:
        ledger, found = self.pipeline.ledger, {}
        with ledger.reading() as tx:
            wanted = breaking(tx, ledger, "main", subject="orders", rule=rule)
        for each in wanted:
            with ledger.transaction() as tx:
                asked = inspections.submit_breaks(
                    tx, ledger, 1, each.definition, each.ripple, each.rules, each.judged, limit=20
                )
            for one in msgspec.json.decode(self.answer(asked), type=list[BrokenRule]):
                found[one.rule] = [list(row) for row in one.rows.rows]
        return found

    def diff(self, against: str, *keys: str) -> TableDifference:
        ledger = self.pipeline.ledger
        with ledger.reading() as tx:
            found = comparison(tx, ledger, "main", "orders", against=against, keys=keys)
        with ledger.transaction() as tx:
            asked = inspections.submit_diff(tx, ledger, 1, before=found.old, after=found.new, keys=found.keys, limit=20)
        return msgspec.json.decode(self.answer(asked), type=tuple[TableDifference, ...])[0]


@pytest.fixture
def shop(deployed: Callable[[str], Pipeline], tmp_path: Path) -> Shop:
    rows = tmp_path / "rows.json"
    made = Shop(deployed(PONDS.replace('"ROWS"', repr(str(rows)))), rows)
    made.pipeline.run("customers")
    return made


def states(shop: Shop) -> dict[str, tuple[str, str, int]]:
    ledger = shop.pipeline.ledger
    with ledger.reading() as tx:
        view = read_checks(tx, ledger, "main", subject="orders", most=10)
    return {each.rule: (each.state, each.trend, len(each.outcomes)) for each in view.rules}


def test_rows_are_judged_set_aside_shown_and_compared(
    shop: Shop, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.order(FIRST)
    assert shop.query("select id from orders order by id") == [[1], [2]]
    assert sorted(shop.query("select customer, _bad from orders__bad")) == [
        ["ann", "not_null(id)"],
        ["eve", "foreign_key(customer, customers.customer)"],
    ]
    assert shop.query("select count(*) from orders.orders__bad") == [[2]]
    assert shop.broken() == {
        "not_null(id)": [[None, "ann", 3.0, "not_null(id)"]],
        "foreign_key(customer, customers.customer)": [[4, "eve", 4.0, "foreign_key(customer, customers.customer)"]],
        "positive": [[2, "bob", -2.0]],
    }

    shop.order(SECOND)
    changed = shop.diff("orders#1")
    assert changed.keys == ("id",), "the rule unique says what identifies a row"
    assert (changed.added, changed.removed, changed.changed, changed.columns) == (1, 1, 1, {"amount": 1})
    assert changed.sample is not None
    assert sorted(changed.sample.rows, key=lambda row: str(row[1])) == [
        ["changed", 1, [{"column": "amount", "before": "1.0", "after": "1.5"}]],
        ["removed", 2, []],
        ["added", 3, []],
    ]
    with pytest.raises(PondageError, match="customers is no column of both") as raised:
        shop.diff("orders#1", "customers")
    assert raised.value.code == "BAD_KEY"
    with pytest.raises(NotFound, match="neither a Run nor an environment"):
        shop.diff("nothing")

    shop.order(TWICE)
    assert shop.pipeline.failures[-1].code == "EXPECTATION"
    assert shop.broken() == {"unique(id)": [[1, "ann", 1.0], [1, "bob", 1.0]]}, "rows of a failed Run are still there"
    assert shop.query("select id from orders order by id") == [[1], [3]], "the last good data stays"
    assert states(shop) == {
        "not_null(id)": ("kept", "better", 3),
        "foreign_key(customer, customers.customer)": ("kept", "better", 3),
        "unique(id)": ("broken", "worse", 3),
        "positive": ("kept", "better", 3),
        "volume(50% of the last 3)": ("kept", "steady", 3),
    }

    monkeypatch.chdir(shop.pipeline.path)
    assert main(["checks", "orders"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "..x" in next(line for line in lines if "unique(id)" in line)
    assert "o.." in next(line for line in lines if "not_null(id)" in line)
    assert main(["checks", "--json"]) == 0
    assert {each["pond"] for each in msgspec.json.decode(capsys.readouterr().out)["rules"]} == {"orders@1"}
    assert main(["show", "orders"]) == 0
    assert "positive kept (0 of 2 rows have positive not true)" in " ".join(capsys.readouterr().out.split())
    assert main(["diff", "orders", "--against", "orders#2"]) == 0
    assert "no difference in 2 rows" in capsys.readouterr().out


def test_more_rows_set_aside_than_allowed_and_a_changed_volume_fail_the_run(shop: Shop) -> None:
    shop.order([[None, "ann", 1.0], [None, "ann", 1.0], [1, "ann", 1.0]])
    assert "more than the 1 that may be set aside" in shop.pipeline.failures[0].message
    assert states(shop)["not_null(id)"][0] == "broken"


def test_a_test_may_use_a_sample_of_what_is_published(shop: Shop) -> None:
    shop.order(FIRST)
    assert published("orders", shop.pipeline.path).rows == 2
    assert published("orders.orders", shop.pipeline.path).rows == 2
    with pytest.raises(NotFound, match=r"no published table orders\.nope; there is orders"):
        published("orders.nope", shop.pipeline.path)


def test_a_foreign_key_pins_the_table_it_points_to(shop: Shop) -> None:
    shop.order(FIRST)
    ledger = shop.pipeline.ledger
    with ledger.reading() as tx:
        row = tx.row(
            "SELECT s.inputs AS inputs FROM snapshots s JOIN runs r ON r.id = s.run ORDER BY s.id DESC LIMIT 1"
        )
    assert row is not None
    assert list(msgspec.json.decode(str(row["inputs"]))) == ["check:customers.customer"]
