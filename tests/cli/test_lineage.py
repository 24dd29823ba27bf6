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


def test_the_table_names_what_each_table_is_made_of(world: World, call: Call) -> None:
    said = call("lineage", "reports")
    assert said.code == 0
    assert "sales@1.sales" in said.out
    assert "2 up" in said.out


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
        assert " ago" in said.out, line
        assert not re.search(r"\bin \d", said.out), line
    assert re.search(r"freshness +.* ago\)\ngood until +.*\(in \d", call("show", "sales#1").out)
