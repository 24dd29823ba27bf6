"""The example trees on the real engine, as a stranger submits them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from pondage.spark.session.driver import SparkDriver
from tests.spark.flows.flow_world import FlowWorld, node_states

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


def test_orders_are_cleaned_and_their_errors_collected(world: FlowWorld) -> None:
    view = world.example("cleaning")
    run = view.flow.run.id
    assert view.flow.run.state == "OK", view.panics
    clean = pq.read_table(pa.BufferReader(world.extracted(run, "clean"))).to_pylist()
    assert [row["id"] for row in clean] == [1, 3, 5]
    assert world.extracted(run, "sums") == b"region,total\nEU,31.0\n"
    errors = [json.loads(line) for line in world.extracted(run, "errors").splitlines()]
    assert sorted((one["code"], json.loads(one["detail"])["id"], one["n"]) for one in errors) == [
        ("NEGATIVE", 2, 1), ("NO_REGION", 4, 1),
    ]  # fmt: skip


def test_one_generic_program_serves_tables_of_different_columns(world: FlowWorld) -> None:
    view = world.example("newest")
    run = view.flow.run.id
    assert view.flow.run.state == "OK", view.panics
    people = sorted(json.loads(line)["name"] for line in world.extracted(run, "people").splitlines())
    assert people == ["Ada Lovelace", "Grace"]
    with pa.ipc.open_stream(world.extracted(run, "prices")) as reader:
        (price,) = reader.read_all().to_pylist()
    assert (price["id"], str(price["price"]), list(price)) == (7, "8.99", ["id", "at", "price", "currency"])
    assert world.extracted(run, "currencies").startswith(b"id,at,price,currency\n7,2026-01-02T00:00:00Z,8.99,EUR")


def test_a_shop_that_does_not_answer_is_handled_and_the_rest_goes_on(world: FlowWorld) -> None:
    view = world.example("handled")
    run = view.flow.run.id
    assert view.flow.run.state == "OK", view.panics
    states = node_states(view)
    assert (states["big"], states["cheap_big"], states["silent"], states["offers"]) == ("ERROR", "SKIPPED", "OK", "OK")
    assert world.extracted(run, "offers") == b"id,price\n1,9.5\n"
    (panic,) = (json.loads(line) for line in world.extracted(run, "silent").splitlines())
    assert (panic["node"], panic["code"], panic["message"]) == (
        "big", "ConnectionError", "ConnectionError: big does not answer",
    )  # fmt: skip


def test_the_tests_of_the_documentation_pass(world: FlowWorld, driver: SparkDriver) -> None:
    text = (EXAMPLES.parents[1] / "docs" / "flows.md").read_text(encoding="utf-8")
    (block,) = (one for one in text.split("```python\n")[1:] if "simulate(" in one)
    names: dict[str, Any] = {"__name__": "tests_of_the_documentation"}
    exec(compile(block.partition("```")[0], "flows.md", "exec"), names)
    names["test_a_silent_shop_is_handled"]()
    names["test_cheap_offers"](driver)
