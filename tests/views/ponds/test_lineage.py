from __future__ import annotations

import pytest

from pondage.errors import NotFound
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.data import lineage
from pondage.ledger.database.driver import number
from pondage.views.ponds.lineage import read_lineage
from pondage.views.ponds.lineage_data import Direction, LineageView
from pondage.work.lineage import ColumnLineage, Origin
from tests.ledger.harness import World, pond


def read(world: World, subject: str, direction: Direction = "both", *, has_columns: bool = False) -> LineageView:
    with world.ledger.reading() as tx:
        return read_lineage(tx, "main", subject, direction=direction, has_columns=has_columns)


def distances(view: LineageView) -> dict[str, int]:
    return {each.table: each.distance for each in view.tables}


def keep(world: World, node: str, columns: dict[str, list[tuple[str, str]]]) -> None:
    """Say what a worker would have found in the plan of the Ripple's newest dispatch."""
    with world.ledger.transaction() as tx:
        row = tx.row("SELECT id FROM dispatches WHERE node = :node ORDER BY id DESC LIMIT 1", node=node)
        assert row is not None
        found = {name: tuple(Origin(*each) for each in origins) for name, origins in columns.items()}
        lineage.keep(tx, dispatch=number(row, "id"), key="k", lineage=ColumnLineage(columns=found))


@pytest.fixture
def ran(world: World) -> World:
    world.send(Pulse(pond=PondKey("reports@1")))
    world.worker().drain()
    return world


def test_a_table_knows_what_it_is_made_of_and_what_is_made_of_it(ran: World) -> None:
    view = read(ran, "sales.clean")
    assert distances(view) == {
        "sales@1.clean": 0,
        "orders@1.orders": -1,
        "rates@1.rates": -1,
        "sales@1.sales": 1,
        "reports@1.reports": 2,
    }
    assert distances(read(ran, "sales.clean", "up")).keys() == {"sales@1.clean", "orders@1.orders", "rates@1.rates"}
    assert distances(read(ran, "orders", "up")) == {"orders@1.orders": 0}
    edges = {(each.source, each.target) for each in view.edges}
    assert ("sales@1.clean", "sales@1.sales") in edges
    assert ("sales@1.sales", "reports@1.reports") in edges


def test_columns_are_followed_over_several_tables(ran: World) -> None:
    keep(ran, "clean", {"n": [("orders", "id")], "m": [("orders", "other")]})
    keep(ran, "sales", {"total": [("clean", "n")]})
    view = read(ran, "sales.sales.total", "up")
    assert [
        (f"{each.source}.{each.source_column}", f"{each.target}.{each.target_column}") for each in view.columns
    ] == [
        ("orders@1.orders.id", "sales@1.clean.n"),
        ("sales@1.clean.n", "sales@1.sales.total"),
    ]
    assert distances(view).keys() == {"sales@1.sales", "sales@1.clean", "orders@1.orders"}


def test_tables_of_which_no_columns_are_known_yet_are_named(ran: World) -> None:
    keep(ran, "clean", {"n": [("orders", "id")]})
    view = read(ran, "sales", has_columns=True)
    assert view.unknown == ("reports@1.reports", "sales@1.sales")


def test_a_run_shows_the_snapshots_that_were_really_read(ran: World) -> None:
    before = read(ran, "reports#1")
    ran.send(Pulse(pond=PondKey("reports@1")))
    ran.worker().drain()
    after = read(ran, "reports#1")
    assert {each.snapshot for each in before.tables} == {each.snapshot for each in after.tables}
    now = read(ran, "reports#2")
    assert not {each.snapshot for each in now.tables} & {each.snapshot for each in before.tables}
    assert distances(now)["orders@1.orders"] == -3
    snapshot = next(each.snapshot for each in now.tables if each.table == "sales@1.clean")
    assert snapshot is not None
    assert distances(read(ran, snapshot))["orders@1.orders"] == -1


def test_unknown_names_are_answered_with_the_nearest(ran: World) -> None:
    keep(ran, "clean", {"amount": [("orders", "id")]})
    for subject, hint in (
        ("sales.claen", "pondage lineage sales.clean"),
        ("sales.clean.amuont", "pondage lineage sales@1.clean.amount"),
    ):
        with pytest.raises(NotFound) as caught:
            read(ran, subject)
        assert caught.value.hint == hint


def test_a_source_that_is_not_deployed_is_shown_as_such(world: World) -> None:
    world.deploy(pond("late", sources={"missing": True}), project="other", archive=b"x")
    found = {each.table: each.is_deployed for each in read(world, "late").tables}
    assert found == {"late@1.late": True, "missing@1.missing": False}
