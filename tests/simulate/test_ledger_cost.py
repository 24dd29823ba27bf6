"""On the ledger too, the work for one report does not grow with the graph: statements and rows are counted."""

from itertools import pairwise
from pathlib import Path

import pytest

from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey, PondShape
from pondage.ledger.database.clock import Clock
from pondage.ledger.database.sqlite import SqliteDriver
from tests.kernel.demand.large import SHAPES
from tests.ledger.harness import World, pond
from tests.simulate.counting import CountingDriver

LENGTH = 50
PAGE, FRAME_HEADER = 2048, 24
"""What SQLite's log holds for each page that a transaction writes."""
HOPS = 60
"""How many reports are counted; the first layers of a large graph are like all others."""


def counted(tmp_path: Path, name: str, size: int) -> list[tuple[int, int, int, int]]:
    """What the claim and the commit of each of the first hops cost after a Pulse of the end."""
    graph = SHAPES[name](size)
    made: list[CountingDriver] = []

    def make(clock: object) -> CountingDriver:
        made.append(CountingDriver(SqliteDriver(tmp_path / f"{name}{size}.db", clock, synchronous="OFF")))  # type: ignore[arg-type]
        return made[-1]

    world = World(make)  # type: ignore[arg-type]
    world.deploy(*(_definition(shape) for shape in graph.shapes))
    world.send(Pulse(pond=PondKey(f"{graph.outlets[0]}@1")))
    worker = world.worker()
    queues = worker.queues()
    worker.queues = lambda: queues  # type: ignore[method-assign]
    if name == "fan":
        # The Pond that all others read must tell each of them: that is what a fan is.
        assert worker.finish(_claimed(worker))
    costs = []
    for _ in range(HOPS):
        made[0].tally.take()
        assert worker.finish(_claimed(worker))
        costs.append(made[0].tally.take())
    world.ledger.close()
    return costs


def _definition(shape: PondShape) -> object:
    return pond(shape.key, sources=dict(shape.sources) or None)


def _claimed(worker: object) -> object:
    held = worker.claim()  # type: ignore[attr-defined]
    assert held is not None
    return held


@pytest.mark.parametrize(("name", "size"), [("chain", 10_000), ("ladder", 10_000), ("layered", 400)])
def test_a_hop_reads_and_writes_as_many_rows_in_a_large_graph_as_among_a_hundred_ponds(
    tmp_path: Path, name: str, size: int
) -> None:
    small, large = counted(tmp_path, name, 100), counted(tmp_path, name, size)
    for column in range(3):
        means = [sum(cost[column] for cost in costs) / HOPS for costs in (small, large)]
        assert means[0] == pytest.approx(means[1], rel=0.1), column
        assert max(cost[column] for cost in large) <= max(cost[column] for cost in small) + 2
    # The bytes differ by the digits of names and ids, and by nothing else. (Where diamonds lie below each other in
    # layers, a Run remembers more ancestors the deeper it is: there the rows stay the same and the bytes do not.)
    assert name == "layered" or sum(cost[3] for cost in large) == pytest.approx(
        sum(cost[3] for cost in small), rel=0.15
    )


def test_a_hop_of_a_chain_keeps_within_its_budget(tmp_path: Path) -> None:
    """Nobody sees one statement or one index more in a time. Whoever makes a hop cheaper lowers these."""
    made: list[SqliteDriver] = []

    def make(clock: Clock) -> SqliteDriver:
        made.append(SqliteDriver(tmp_path / "chain.db", clock, synchronous="OFF"))
        return made[-1]

    world = World(make)  # type: ignore[arg-type]
    names = [f"p{number}" for number in range(LENGTH)]
    world.deploy(pond("p0"), *(pond(name, sources={before: True}) for before, name in pairwise(names)))
    worker = world.worker()
    for _ in range(2):
        world.clock.time += 1
        world.send(Pulse(pond=PondKey(f"p{LENGTH - 1}@1")))
        worker.drain()
    world.clock.time += 1
    world.send(Pulse(pond=PondKey(f"p{LENGTH - 1}@1")))
    queues = worker.queues()
    worker.queues = lambda: queues  # type: ignore[method-assign]
    connection, log = made[0]._own()[0], tmp_path / "chain.db-wal"
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    counts, before = made[0].counts, log.stat().st_size
    statements = []
    for _ in range(LENGTH):
        begun = counts.statements
        assert worker.finish(_claimed(worker))
        statements.append(counts.statements - begun)
    pages = (log.stat().st_size - before) / (PAGE + FRAME_HEADER) / LENGTH
    assert max(statements) <= 22
    assert pages <= 38
    world.ledger.close()


def test_in_a_fan_a_hop_touches_as_many_rows_however_many_branches_there_are(tmp_path: Path) -> None:
    small, large = counted(tmp_path, "fan", 100), counted(tmp_path, "fan", 2_000)
    for column in range(3):
        assert max(cost[column] for cost in large) <= max(cost[column] for cost in small) + 2
