"""Random trees on the real engine, each compared with a straight PySpark evaluation; one in ten loses its worker.

`make fuzz SEEDS=n FIRST=m` runs n of them from the seed m on: PONDAGE_FUZZ_SEEDS and PONDAGE_FUZZ_FIRST say so.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from pondage.define.types.type_registry import BUILT_IN
from pondage.ledger.kinds.kind import Work
from pondage.plan.flow.planner import PlannedFlow
from pondage.project.tree import load_tree
from pondage.spark.session.driver import SparkDriver
from pondage.testing.flow_simulation import Known
from tests.plan.flow.programs import SCHEMAS
from tests.spark.flows.evaluation import Evaluation, Unclear
from tests.spark.flows.flow_fleet import Fleet
from tests.spark.flows.running_programs import FUNCTIONS, REGISTRY
from tests.spark.flows.running_trees import RunningTree

pytestmark = pytest.mark.spark

SEEDS = int(os.environ.get("PONDAGE_FUZZ_SEEDS", "40"))
FIRST = int(os.environ.get("PONDAGE_FUZZ_FIRST", "0"))
AT_ONCE = 6
LOSES = 10
"""One tree of so many loses a worker."""
SMALL, SMALL_BROKEN, LARGE_EVERY = 4, 7, 16
"""Most trees have at most so many nodes, so that many are tried in the same time; one of so many has any number."""


MUST_OCCUR = ("tees", "constants", "streams", "external", "panic wires", "OK", "handled", "PANIC")


class Losses:
    """Which flows lose a worker, each once, with the first piece of work that may run again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.actors: set[int] = set()

    def dies(self, held: Work) -> bool:
        """Say whether the worker is lost now."""
        with self.lock:
            if held.claim.actor in self.actors and not held.claim.is_once:
                self.actors.discard(held.claim.actor)
                return True
            return False


class Tried:
    """A tree that runs, and what it must give."""

    def __init__(self, seed: int, tree: RunningTree, planned: PlannedFlow, must: Evaluation, run: str) -> None:
        self.seed = seed
        self.tree = tree
        self.planned = planned
        self.must = must
        self.run = run


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("landing")
    (place / "2026").mkdir()
    (place / "2026" / "orders.csv").write_text("id,region\n1,EU\n2,US\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def losses() -> Losses:
    return Losses()


@pytest.fixture(scope="module")
def known(landing: Path) -> Known:
    return Known(
        registry=REGISTRY, schemas=SCHEMAS, functions=FUNCTIONS, types=BUILT_IN, locations={"landing": str(landing)}
    )


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory, known: Known, driver: SparkDriver, losses: Losses
) -> Iterator[Fleet]:
    made = Fleet(tmp_path_factory.mktemp("fleet") / "project", known, driver, threads=4, dies=losses.dies)
    yield made
    made.close()


def runnable(seeds: Iterator[int]) -> Iterator[tuple[int, RunningTree]]:
    """Give the random trees whose programs all exist."""
    for seed in seeds:
        tree = RunningTree(seed)
        progs = {node.get("prog", "keep").partition("@")[0] for node in tree.nodes.values()}
        most = SMALL_BROKEN if tree.broken else SMALL
        if progs <= set(REGISTRY) and (len(tree.nodes) <= most or seed % LARGE_EVERY == 0):
            yield seed, tree


def planned_or_refused(tree: RunningTree, known: Known) -> PlannedFlow:
    loaded = load_tree(msgspec.json.encode(tree.document()))
    assert loaded.tree is not None, loaded.problems
    return known.plan(loaded.tree)


def test_random_trees_give_what_a_straight_evaluation_gives(
    fleet: Fleet, known: Known, losses: Losses, spark: SparkSession, landing: Path
) -> None:
    kinds: Counter[str] = Counter()
    waiting: list[Tried] = []
    trees = runnable(count(FIRST))
    while kinds["executed"] < SEEDS:
        seed, tree = next(trees)
        try:
            must = Evaluation(tree.document(), tree.broken, spark, landing)
            planned = planned_or_refused(tree, known)
        except Unclear:
            continue
        kinds["executed"] += 1
        kinds["tees"] += len({one.source for one in planned.edges}) < len(planned.edges)
        kinds["constants"] += any("const" in node for node in tree.nodes.values())
        kinds["streams"] += any(one.is_stream for one in planned.edges)
        kinds["external"] += any(node.get("prog") == "external" for node in tree.nodes.values())
        kinds["panic wires"] += any(one.is_panic for one in planned.plan.data)
        run = fleet.submit(planned, loses=losses.actors if kinds["executed"] % LOSES == 0 else set())
        waiting.append(Tried(seed, tree, planned, must, run))
        if len(waiting) >= AT_ONCE:
            kinds[compared(fleet, waiting.pop(0))] += 1
    for tried in waiting:
        kinds[compared(fleet, tried)] += 1
    assert len(fleet.deaths) == SEEDS // LOSES, "every flow that should lose a worker has lost it"
    if SEEDS >= 60 and not FIRST:  # what the seeds from 0 on hold is known
        assert min(kinds[name] for name in MUST_OCCUR) > 0, kinds


def compared(fleet: Fleet, tried: Tried) -> str:
    """See that a flow gave exactly what it must, and answer how it ended."""
    view = fleet.ended(tried.run)
    must = tried.must
    where = (tried.seed, view.flow.run.code, [one.message for one in view.panics])
    if must.is_panicking:
        assert (view.flow.run.state, view.flow.run.code) == ("ERROR", "PANIC"), where
        assert {panic.node for panic in view.panics} <= tried.tree.broken, where
        return "PANIC"
    states = {one.name: one.state for one in view.flow.components}
    assert view.flow.run.state == "OK", where
    assert states == must.states, where
    for name, one in tried.planned.extracts.items():
        end = f"{one.node}.{one.port}"
        if states[one.node] != "OK":
            continue
        got, wanted = fleet.rows(tried.run, name), as_rows(must.outputs[end])
        assert sorted(map(text_of, got)) == sorted(map(text_of, wanted)), (tried.seed, end)
    return "handled" if "ERROR" in states.values() else "OK"


def as_rows(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, bytes):
        return [{"bytes": value}]
    if isinstance(value, int):
        return [{"json": str(value)}]
    return [row.asDict(recursive=True) for row in value.collect()]


def text_of(row: dict[str, Any]) -> str:
    return msgspec.json.encode(_plain(row)).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return bytes(value) if isinstance(value, bytearray) else value
