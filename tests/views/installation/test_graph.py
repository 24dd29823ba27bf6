from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.define.pond.definition import WindowDefinition
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.views.installation.graph import GraphPond, graph
from tests.ledger.harness import World, pond


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    orders = msgspec.structs.replace(pond("orders"), windows=(WindowDefinition(start="02:00"),), tags=("raw",))
    made.deploy(
        orders,
        pond("fx"),
        pond("sales", sources={"orders": True, "fx": False}, ripples={"clean": [], "daily": ["clean"]}),
        project="shop",
    )
    yield made
    made.ledger.close()


def ponds(world: World, environment: str = "main") -> dict[str, GraphPond]:
    with world.ledger.reading() as tx:
        return {each.key: each for each in graph(tx, world.ledger, environment).ponds}


def test_a_pond_has_its_ripples_with_the_siblings_they_read(world: World) -> None:
    sales = ponds(world)["sales@1"]
    assert [(ripple.name, ripple.parents) for ripple in sales.ripples] == [("clean", ()), ("daily", ("clean",))]


def test_sources_are_bound_to_a_major_and_say_whether_they_are_required(world: World) -> None:
    sales = ponds(world)["sales@1"]
    assert {(source.key, source.is_required) for source in sales.sources} == {("orders@1", True), ("fx@1", False)}


def test_windows_and_tags_are_there(world: World) -> None:
    orders = ponds(world)["orders@1"]
    assert orders.tags == ("raw",)
    assert "02:00" in orders.windows[0]


def test_an_environment_that_nobody_deployed_to_is_empty(world: World) -> None:
    assert ponds(world, "nowhere") == {}
