from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from pondage.define.pond.definition import WindowDefinition
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from tests.cli.conftest import Call
from tests.ledger.harness import World, pond


def names(said: str) -> list[str]:
    return [line.split("  -")[0].rstrip() for line in said.splitlines() if line]


def test_a_lineage_is_a_tree_of_what_a_table_is_made_of(world: World, call: Call) -> None:
    said = call("lineage", "reports")
    assert said.code == 0
    assert names(said.out) == [
        "reports is made of",
        "TABLE                     RUN  DATA AGE",
        "reports@1.reports",
        "└─ sales@1.sales",
        "   └─ sales@1.clean",
        "      └─ orders@1.orders",
    ]


def test_a_lineage_both_ways_is_two_trees_and_what_stands_there_twice_is_unfolded_once(
    world: World, call: Call
) -> None:
    world.deploy(pond("rates", sources={"sales": True}), pond("joined", sources={"reports": True, "rates": True}))
    assert names(call("lineage", "joined", "--up").out)[2:] == [
        "joined@1.joined",
        "├─ rates@1.rates",
        "│  └─ sales@1.sales",
        "│     └─ sales@1.clean",
        "│        └─ orders@1.orders",
        "└─ reports@1.reports",
        "   └─ sales@1.sales (above)",
    ]
    both = names(call("lineage", "sales").out)
    assert both[both.index("sales goes into") :] == [
        "sales goes into",
        "TABLE                     RUN  DATA AGE",
        "sales@1.clean",
        "└─ sales@1.sales",
        "   ├─ rates@1.rates",
        "   │  └─ joined@1.joined",
        "   └─ reports@1.reports",
        "      └─ joined@1.joined",
    ]
    assert "sales is made of" in both


def test_json_is_the_view(world: World, call: Call) -> None:
    said = call("lineage", "sales.clean", "--down", "--columns", "--json")
    assert said.json["direction"] == "down"
    assert said.json["unknown"] == ["reports@1.reports", "sales@1.sales"]


def test_the_picture_is_svg(world: World, call: Call, project: Path) -> None:
    said = call("lineage", "reports", "--svg", "out.svg")
    assert said.code == 0
    root = ElementTree.fromstring((project / "out.svg").read_text())
    assert root.tag.endswith("svg")
    assert "reports@1.reports" in (project / "out.svg").read_text()


def test_an_unknown_name_gets_an_error_with_the_next_step(world: World, call: Call) -> None:
    said = call("lineage", "reprots")
    assert said.code == 1
    assert "did you mean 'reports'" in said.err


def test_data_of_a_window_is_as_old_as_the_window_and_not_in_the_future(world: World, call: Call) -> None:
    world.clock.time = time.time_ns() // 1_000
    # Whatever the hour of the test is: the last window began five hours ago, and the next one is far away.
    began = datetime.fromtimestamp(world.clock.time / 1_000_000, UTC) - timedelta(hours=5)
    windows = (WindowDefinition(start=began.strftime("%H:%M")),)
    world.deploy(msgspec.structs.replace(pond("orders"), windows=windows), pond("sales", sources={"orders": True}))
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    for line in ("lineage sales", "lineage sales#1", "show sales"):
        said = call(*line.split())
        assert said.code == 0
        assert "5 h" in said.out, line
        assert not re.search(r"\bin \d", said.out), line
    assert re.search(r"freshness +.* ago\)\ngood until +.*\(in \d", call("show", "sales#1").out)
