"""Tables that are kept up to date show what a computation from scratch would, whatever happens around them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Force
from pondage.ledger.commit import guarded
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.upkeep import retention
from pondage.work.snapshot import Increment
from tests.ledger.commit.kept import Kept
from tests.ledger.harness import Worker, World, content, pond

SEQUENCES = int(os.environ.get("PONDAGE_KEPT_SEQUENCES", "40"))
CHUNK = 20


@pytest.mark.parametrize("chunk", range(max(1, SEQUENCES // CHUNK)))
def test_kept_tables_equal_those_computed_from_scratch(
    driver_factory: Callable[[str, FakeClock], Driver], chunk: int
) -> None:
    """Crashes, zombies, failures, rollbacks, forced and full Runs, compactions, retention, Sources that change mode."""
    hows: Counter[str] = Counter()
    followed: Counter[bool] = Counter()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        story = Kept(lambda clock, seed=seed: driver_factory(f"kept{seed}", clock), seed)
        try:
            for _ in range(40):
                story.step()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        finally:
            story.world.ledger.close()
        hows += story.hows
        followed.update(is_full for name, is_full in story.is_full if name == "news")
    assert hows["keyed"] > 3 * CHUNK, "the short way was gone often"
    assert hows["full"] > 3 * CHUNK, "and the long one"
    assert followed[False] > CHUNK // 4, "what came and went could be said"


def commit(world: World, worker: Worker, name: str, increment: Increment) -> None:
    """Let a Run of this Pond alone write a batch."""
    world.clock.time += 1_000_000
    world.send(Force(pond=PondKey(f"{name}@1")))
    held = worker.claim()
    assert held is not None
    assert held.claim.node == name
    made = msgspec.structs.replace(content(held), increment=increment)
    assert guarded.commit(world.ledger, held, Written(made), process=worker.id)


def test_what_a_run_goes_on_from_stays_while_it_works(world: World) -> None:
    world.deploy(
        msgspec.structs.replace(pond("raw"), mode="append"),
        msgspec.structs.replace(pond("mid", sources={"raw": True}), mode="auto"),
    )
    worker = Worker(world)
    commit(world, worker, "raw", Increment())
    commit(world, worker, "mid", Increment(is_signed=True, cursors={"raw.raw": 1}))
    commit(world, worker, "raw", Increment(base=1))
    commit(world, worker, "raw", Increment(base=3))
    world.clock.time += 1_000_000
    world.send(Force(pond=PondKey("mid@1")))
    held = worker.claim()
    assert held is not None
    assert ripple_inputs(held.claim.inputs).going_on == (2, 1, 3, 4), "its table, its old input, the batches in between"
    with world.ledger.reading() as tx:
        assert {1, 2, 3, 4} <= retention.being_read(tx)
