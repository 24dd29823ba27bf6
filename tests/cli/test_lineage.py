from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.cli.conftest import Call
from tests.ledger.harness import World


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
