"""Single rules of tables that grow, on any database."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.attempt.followed_tables import Following
from pondage.kernel.demand.events import Force, Pulse
from pondage.ledger.act import compaction
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.kinds.compact import Compacted, CompactTask
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Same, Written
from pondage.ledger.upkeep import reap, retention
from pondage.ledger.upkeep.thinning import thin
from tests.ledger.commit.growing import Growing
from tests.ledger.harness import MakeDriver, Worker, World, content, pond

RAW = PondKey("raw@1")


def appending(name: str, source: str | None = None) -> PondDefinition:
    made = pond(name, sources={source: True} if source else None)
    return msgspec.structs.replace(made, mode="append")


def commit_batch(world: World, worker: Worker, held: Work) -> bool:
    """Commit a batch that extends what its Ripple extends, as a worker does."""
    assert isinstance(held.task, RippleTask)
    following = Following(
        held.task,
        Increments(world.ledger, held.claim),
        whole=lambda _: None,
        part=lambda *_: None,  # type: ignore[arg-type,return-value]
    )
    for read in held.task.ripple.reads:
        following.changes(read.table(held.task.definition.name))
    made = msgspec.structs.replace(content(held), increment=following.increment())
    return guarded.commit(world.ledger, held, Written(made), process=worker.id)


def batch(world: World, worker: Worker) -> int:
    """Append a batch to raw and answer the snapshot."""
    world.clock.time += 1_000_000
    world.send(Pulse(pond=RAW))
    held = worker.claim()
    assert held is not None
    assert commit_batch(world, worker, held)
    return int(str(world.one("SELECT max(id) AS id FROM snapshots WHERE kind = 'append'")))


def files(world: World, snapshot: int) -> int:
    with world.ledger.reading() as tx:
        return len(snapshots.load(tx, [snapshot])[snapshot].content.files)


def test_a_crashed_and_a_fenced_execution_publish_a_batch_once(world: World) -> None:
    world.deploy(appending("raw"))
    first = Worker(world)
    world.send(Pulse(pond=RAW))
    held = first.claim()
    assert held is not None
    reap.reap_process(world.ledger, first.row, reason="silent")
    second = Worker(world, pid=2)
    again = second.claim()
    assert again is not None
    assert commit_batch(world, second, again)
    assert not commit_batch(world, first, held)
    assert world.one("SELECT count(*) AS n FROM batches") == 1
    assert files(world, 1) == 1


def test_a_table_with_more_than_64_small_batches_is_compacted_by_itself(world: World) -> None:
    world.deploy(appending("raw"))
    worker = Worker(world)
    for _ in range(64):
        newest = batch(world, worker)
    assert compaction.begin_due(world.ledger) == 0
    newest = batch(world, worker)
    assert compaction.begin_due(world.ledger) == 1
    assert compaction.begin_due(world.ledger) == 0, "one is enough"
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, CompactTask)
    later = batch(world, worker)
    made = msgspec.structs.replace(content(held, rows=65), increment=None)
    assert guarded.commit(world.ledger, held, Compacted(made), process=worker.id)
    assert (files(world, newest), files(world, later)) == (1, 2), "a batch that came meanwhile shows the new files too"
    assert compaction.begin_due(world.ledger) == 0
    with world.ledger.reading() as tx:
        found = manifests.changes(tx, cursor=newest - 10, pin=later)
    assert found is not None
    assert len(found.batches) == len(range(newest - 10, later)), "who is in the middle still gets its batches"


def test_a_failed_compaction_leaves_the_table_and_is_not_repeated_at_once(world: World) -> None:
    world.deploy(appending("raw"))
    worker = Worker(world)
    for _ in range(65):
        newest = batch(world, worker)
    assert compaction.begin_due(world.ledger) == 1
    held = worker.claim()
    assert held is not None
    assert worker.fail(held)
    assert files(world, newest) == 65
    assert compaction.begin_due(world.ledger) == 0
    world.pass_time(3_601)
    assert compaction.begin_due(world.ledger) == 1


def test_a_batch_stays_as_long_as_the_newest_table_shows_it(make_driver: MakeDriver) -> None:
    world = World(make_driver, durability=Durability(keep_runs=1))
    world.deploy(appending("raw"))
    worker = Worker(world)
    for _ in range(8):
        batch(world, worker)
    world.pass_time(86_400 * 400)
    thin(world.ledger)
    with world.ledger.reading() as tx:
        doomed = retention.unused(tx, young_us=1, read=retention.being_read(tx))
    assert doomed.snapshots == []
    compaction.begin(world.ledger, "main", RAW)
    held = worker.claim()
    assert held is not None
    assert guarded.commit(world.ledger, held, Compacted(content(held, rows=8)), process=worker.id)
    world.pass_time(86_400 * 400)
    thin(world.ledger)
    with world.ledger.reading() as tx:
        doomed = retention.unused(tx, young_us=1, read=retention.being_read(tx))
    assert len(doomed.snapshots) == 7, "all but the newest, which an unchanged Ripple goes on with"


def test_nothing_changed_means_that_a_follower_is_not_run(world: World) -> None:
    world.deploy(appending("raw"), appending("mid", "raw"))
    worker = Worker(world)
    world.send(Pulse(pond=PondKey("mid@1")))
    for _ in range(2):
        held = worker.claim()
        assert held is not None
        assert commit_batch(world, worker, held)
    world.clock.time += 1_000_000
    world.send(Pulse(pond=PondKey("mid@1")))
    held = worker.claim()
    assert held is not None
    assert guarded.commit(world.ledger, held, Same(), process=worker.id)
    assert worker.claim() is None
    assert world.one("SELECT count(*) AS n FROM batches") == 2
    assert [state for state, _ in world.runs("mid")] == ["completed", "completed"]


def test_a_forced_full_run_begins_the_table_anew(world: World) -> None:
    world.deploy(appending("raw"))
    worker = Worker(world)
    batch(world, worker)
    batch(world, worker)
    world.send(Force(pond=RAW, full=True))
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, RippleTask)
    assert held.task.previous_freshness is None
    assert commit_batch(world, worker, held)
    assert files(world, 3) == 1
    assert files(world, batch(world, worker)) == 2
    with world.ledger.reading() as tx:
        assert manifests.changes(tx, cursor=2, pin=4) is None


def test_batches_without_an_increment_begin_a_table(world: World) -> None:
    world.deploy(appending("raw"))
    worker = Worker(world)
    world.send(Pulse(pond=RAW))
    assert worker.drain() == ["raw"]
    assert files(world, 1) == 1


def test_a_few_random_histories_end_as_computed_from_scratch(make_driver: MakeDriver) -> None:
    growing = Growing(make_driver, 7)
    for _ in range(25):
        growing.step()


def test_a_ripple_that_has_read_its_own_past_extends_it_though_everything_came_again(world: World) -> None:
    world.deploy(appending("raw"), appending("more", "raw"))
    worker = Worker(world)
    world.send(Pulse(pond=PondKey("more@1")))
    for _ in range(2):
        held = worker.claim()
        assert held is not None
        assert commit_batch(world, worker, held)
    world.clock.time += 1_000_000
    world.send(Force(pond=RAW, full=True))
    world.send(Pulse(pond=PondKey("more@1")))
    while (held := worker.claim()) is not None and held.claim.node == "raw":
        assert commit_batch(world, worker, held)
    assert held is not None
    given = {
        "whole": lambda _: None, "part": lambda *_: None, "past": lambda snapshot: ("the table", snapshot),
    }  # fmt: skip
    past = Following(held.task, Increments(world.ledger, held.claim), **given)  # type: ignore[arg-type]
    assert past.is_full, "raw was rebuilt, and nobody can follow across that"
    assert past.extended is None
    reading = Following(held.task, Increments(world.ledger, held.claim), **given)  # type: ignore[arg-type]
    assert reading.is_full
    assert reading.previous is not None
    _, before = reading.previous  # type: ignore[misc]
    assert reading.extended == before
    increment = reading.increment()
    assert increment is not None
    assert increment.base == before


def test_a_ripple_has_no_past_in_its_first_run_and_when_everything_is_asked_for_anew(world: World) -> None:
    world.deploy(appending("raw"))
    worker = Worker(world)
    given = {"whole": lambda _: None, "part": lambda *_: None, "past": lambda snapshot: snapshot}
    world.send(Pulse(pond=RAW))
    held = worker.claim()
    assert held is not None
    assert Following(held.task, Increments(world.ledger, held.claim), **given).previous is None  # type: ignore[arg-type]
    assert commit_batch(world, worker, held)
    world.send(Force(pond=RAW, full=True))
    held = worker.claim()
    assert held is not None
    assert Following(held.task, Increments(world.ledger, held.claim), **given).previous is None  # type: ignore[arg-type]
