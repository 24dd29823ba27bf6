"""`simulate(tree, fixtures)` without Spark: the shape of a flow, what runs and what a failure does to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pondage.define.job.flow import FlowRefused
from pondage.testing import simulate

TREE: dict[str, Any] = {
    "version": 1,
    "nodes": {
        "src": {"prog": "source"},
        "few": {"prog": "filter", "params": {"where": "id < 3"}},
        "told": {"prog": "union"},
        "end": {"prog": "void_sink"},
    },
    "edges": [["src.main", "few.input"], ["src.panic", "told.input"], ["told.main", "end.input"]],
    "extract": {"few": {"from": "few.main", "format": "csv"}},
}


@pytest.fixture(autouse=True)
def _outside_of_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_node_ends_well_unless_a_fixture_fails() -> None:
    well = simulate(TREE)
    assert (well.state, well.states) == ("OK", {"src": "OK", "few": "OK", "told": "SKIPPED", "end": "SKIPPED"})
    handled = simulate(TREE, {"src": ValueError("no")})
    assert (handled.state, handled.states["few"], handled.states["told"]) == ("OK", "SKIPPED", "OK")
    failed = simulate(TREE, {"few": ValueError("no")})
    assert (failed.state, failed.code) == ("ERROR", "PANIC")
    assert any(line.startswith("few ERROR") for line in failed.timeline)


def test_a_bad_tree_is_refused() -> None:
    with pytest.raises(FlowRefused, match="UNKNOWN_PROG"):
        simulate({"version": 1, "nodes": {"a": {"prog": "nope"}}})


def test_the_shape_of_a_flow_needs_no_jvm() -> None:
    code = (
        "import sys; from pondage.testing import simulate\n"
        f"assert simulate({TREE!r}).state == 'OK'\n"
        "from pyspark import SparkContext; assert SparkContext._gateway is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
