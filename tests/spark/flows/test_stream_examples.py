"""The example trees that stream, and the one with a program in Perl, as a stranger submits them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.spark.session.driver import SparkDriver
from tests.spark.flows.flow_world import FlowWorld

pytestmark = pytest.mark.spark
EXAMPLES = Path(__file__).parents[3] / "examples" / "flows"


@pytest.fixture(scope="module")
def world(driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowWorld]:
    root = tmp_path_factory.mktemp("examples") / "flows"
    shutil.copytree(EXAMPLES, root)
    made = FlowWorld(root, driver)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _inside(world: FlowWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)


def test_a_stateful_program_adds_up_segment_by_segment(world: FlowWorld) -> None:
    view = world.example("totals")
    assert view.flow.run.state == "OK", view.panics
    found = [json.loads(line) for line in world.extracted(view.flow.run.id, "totals").splitlines()]
    assert [(one["batches"], one["region"], one["total"]) for one in found] == [
        (1, "EU", 10.0), (1, "US", 5.0), (2, "EU", 12.5), (2, "US", 6.0), (3, "EU", 16.5), (3, "US", 6.0),
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("perl") is None, reason="install Perl (Debian: apt-get install perl)")
def test_a_program_in_perl_speaks_the_wire_protocol(world: FlowWorld) -> None:
    view = world.example("words")
    assert view.flow.run.state == "OK", view.panics
    run = view.flow.run.id
    assert json.loads(world.extracted(run, "counts")) == {"lines": 2, "words": 4}
    assert world.extracted(run, "loud") == b"STILL WATERS\nRUN DEEP\n"
