"""A backfill is an actor: it sends its Pond one chunk after the other, and has a clear end whatever happens to it."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.partition import Chunk, Partition, PartitionColumn, PartitionDefinition
from pondage.define.values.names import PondKey
from pondage.engine.attempt.followed_tables import Following
from pondage.errors import NotFound, PondageError
from pondage.kernel.demand.events import Clear, Kill, Pulse, Tap, Wave
from pondage.ledger.act import backfills as verbs
from pondage.ledger.act import removal
from pondage.ledger.act import verbs as pond_verbs
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.rollback import roll_back_pond
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import pages, snapshots
from pondage.ledger.data.inputs import ripple_inputs
from pondage.ledger.data.manifests import newest
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.queue import processes
from pondage.ledger.step import bases, runs
from pondage.ledger.tables import actors, backfills
from pondage.ledger.tables.backfills import BackfillRow, ChunkRow
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.upkeep import reap
from pondage.ledger.upkeep.replay import replay
from pondage.work.snapshot import DataFile, Increment, SnapshotContent
from tests.ledger.harness import SCHEMA, SECOND, Worker, World, pond

DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")
BY = PartitionDefinition(by=(PartitionColumn(column="day"),))


def daily(name: str = "sales", *, sources: dict[str, bool] | None = None, code: str = "c1", **more: object):
    made = pond(name, sources=sources, code=code, **more)  # type: ignore[arg-type]
    return msgspec.structs.replace(made, mode="partition", partition=BY)


def days(*chosen: str) -> list[list[Partition]]:
    """A chunk for each day."""
    return [[(each,)] for each in chosen]


def finish(world: World, worker: Worker, held: Work) -> None:
    """Write the days of the chunk, or all days when it is a Run like any other."""
    inputs = ripple_inputs(held.claim.inputs)
    partitions = tuple((each,) for each in DAYS) if inputs.chunk is None else inputs.chunk.partitions
    with world.ledger.reading() as tx:
        base = bases.base(tx, held.claim, inputs)
    content = SnapshotContent(
        path=f"/w/{held.claim.token}",
        files=tuple(
            DataFile(name=f"part-{number}", rows=1, bytes=10, partition=each) for number, each in enumerate(partitions)
        ),
        schema=SCHEMA,
        rows=len(partitions),
        bytes=10 * len(partitions),
        increment=Increment(base=None if base is None else base.snapshot, by=("day",), partitions=partitions),
    )
    assert guarded.commit(world.ledger, held, Written(content), process=worker.id)
    world.clock.time += SECOND


def drain(world: World, worker: Worker, limit: int = 100) -> list[tuple[str, tuple[Partition, ...] | None]]:
    done: list[tuple[str, tuple[Partition, ...] | None]] = []
    while len(done) < limit and (held := worker.claim()) is not None:
        chunk = ripple_inputs(held.claim.inputs).chunk
        done.append((held.claim.node, None if chunk is None else chunk.partitions))
        finish(world, worker, held)
    return done


def published(world: World, *ponds: PondDefinition) -> Worker:
    """A ledger in which these Ponds have published once."""
    world.deploy(*ponds)
    worker = world.worker()
    world.clock.time += SECOND
    world.send(Tap(pond=PondKey(f"{ponds[-1].name}@1")))
    drain(world, worker)
    return worker


def start(world: World, *chosen: str, stops: bool = False, name: str = "sales@1") -> str:
    return verbs.start(world.ledger, "main", name, chunks=days(*(chosen or DAYS)), stops=stops)


def shown(world: World, public_id: str) -> tuple[BackfillRow, list[ChunkRow]]:
    with world.ledger.reading() as tx:
        row = backfills.by_public_id(tx, environment_id(tx, "main"), public_id)
        assert row is not None
        return row, backfills.chunks(tx, row.id)


def states(world: World, public_id: str) -> tuple[str, str, list[str]]:
    row, chunks = shown(world, public_id)
    return row.state, row.reason, [each.state for each in chunks]


def test_each_chunk_is_a_run_of_its_own_and_replaces_its_partitions(world: World) -> None:
    worker = published(world, daily())
    before = world.runs("sales")
    named = start(world, *DAYS[:2])
    assert states(world, named) == ("running", "", ["sent", "waiting"])
    assert drain(world, worker) == [("sales", ((DAYS[0],),)), ("sales", ((DAYS[1],),))]
    assert states(world, named) == ("completed", "", ["completed", "completed"])
    assert world.runs("sales") == [*before, before[-1], before[-1]], "a chunk is as fresh as what is published"
    assert world.rows("SELECT reason, chunk IS NOT NULL AS is_chunk FROM runs ORDER BY id")[-1] == {
        "reason": "backfill",
        "is_chunk": 1,
    }
    with world.ledger.reading() as tx:
        (row,) = actors.ponds(tx, 1)
        run = snapshots.current_run(tx, row.id)
        assert run is not None
        (output,) = snapshots.outputs(tx, run).values()
        entries = pages.listed(tx, newest(tx, [output.snapshot])[output.snapshot].pages)
    made = {entry.partition[0]: entry.run for entry in entries}
    assert len(made) == 3
    assert len({made[day] for day in DAYS}) == 3, "three Runs have made what is shown"


def test_demand_goes_first_and_waits_for_one_chunk_at_most(world: World) -> None:
    worker = published(world, daily())
    named = start(world)
    held = worker.claim()
    assert held is not None
    world.send(Pulse(pond=PondKey("sales@1")))
    assert worker.claim() is None
    finish(world, worker, held)
    assert drain(world, worker)[0] == ("sales", None)
    assert states(world, named)[0] == "completed"


def test_a_wave_does_not_starve_it(world: World) -> None:
    worker = published(world, daily())
    world.send(Wave(pond=PondKey("sales@1")))
    named = start(world)
    done = drain(world, worker, limit=60)
    assert states(world, named)[0] == "completed"
    places = [place for place, (_, chunk) in enumerate(done) if chunk is not None]
    assert [second - first for first, second in itertools.pairwise(places)] == [11, 11]


def test_the_next_ordinary_run_is_judged_as_if_there_had_been_no_chunk(world: World) -> None:
    worker = published(world, pond("orders"), daily(sources={"orders": True}))
    start(world, DAYS[0])
    drain(world, worker)
    digests = [row["digest"] for row in world.rows("SELECT digest FROM snapshots WHERE kind = 'partition' ORDER BY id")]
    assert len(digests) == 2
    assert digests[0] == digests[1]
    # A chunk itself is never taken from what is there.
    start(world, DAYS[0])
    assert drain(world, worker) == [("sales", ((DAYS[0],),))]


def test_a_chunk_that_fails_is_listed_and_the_others_go_on(world: World) -> None:
    worker = published(world, daily())
    named = start(world)
    held = worker.claim()
    assert held is not None
    assert worker.fail(held)
    drain(world, worker)
    assert states(world, named) == ("failed", "", ["failed", "completed", "completed"])
    _, chunks = shown(world, named)
    assert "it went wrong" in str(chunks[0].error)
    state = str(world.one("SELECT state FROM ponds"))
    assert "is_failed" not in state, "the Pond itself has not failed"
    assert world.rows("SELECT kind FROM outbox WHERE kind = 'failed'") == []


def test_with_stop_it_waits_at_the_first_failure_and_goes_on_when_told(world: World) -> None:
    worker = published(world, daily())
    named = start(world, stops=True)
    held = worker.claim()
    assert held is not None
    worker.fail(held)
    assert worker.claim() is None
    assert states(world, named) == ("paused", "failed", ["failed", "waiting", "waiting"])
    verbs.resume(world.ledger, "main", named)
    drain(world, worker)
    assert states(world, named) == ("failed", "", ["failed", "completed", "completed"])


def test_paused_it_finishes_the_chunk_that_runs_and_sends_no_other(world: World) -> None:
    worker = published(world, daily())
    named = start(world)
    held = worker.claim()
    assert held is not None
    assert verbs.pause(world.ledger, "main", named).state == "paused"
    finish(world, worker, held)
    assert worker.claim() is None
    assert states(world, named) == ("paused", "", ["completed", "waiting", "waiting"])
    verbs.resume(world.ledger, "main", named)
    verbs.resume(world.ledger, "main", named)
    assert len(drain(world, worker)) == 2
    assert states(world, named)[0] == "completed"


def test_paused_while_its_chunk_waits_behind_a_run_it_takes_that_back(world: World) -> None:
    worker = published(world, daily())
    world.send(Pulse(pond=PondKey("sales@1")))
    named = start(world)
    verbs.pause(world.ledger, "main", named)
    assert states(world, named) == ("paused", "", ["waiting", "waiting", "waiting"])
    assert drain(world, worker) == [("sales", None)]
    verbs.resume(world.ledger, "main", named)
    assert len(drain(world, worker)) == 3


def test_cancelled_it_stops_the_chunk_that_runs(world: World) -> None:
    worker = published(world, daily())
    named = start(world)
    held = worker.claim()
    assert held is not None
    verbs.cancel(world.ledger, "main", named)
    assert states(world, named) == ("cancelled", "", ["cancelled", "cancelled", "cancelled"])
    with pytest.raises(PondageError, match="is over: cancelled"):
        verbs.resume(world.ledger, "main", named)
    content = SnapshotContent(path="/w", files=(), schema=SCHEMA, rows=0, bytes=0)
    assert not guarded.commit(world.ledger, held, Written(content), process=worker.id), "a late commit is fenced"
    world.send(Pulse(pond=PondKey("sales@1")))
    assert drain(world, worker) == [("sales", None)]


def test_killed_meanwhile_its_pond_gives_the_chunk_back_and_it_waits_until_told(world: World) -> None:
    worker = published(world, daily())
    named = start(world)
    assert worker.claim() is not None
    world.send(Kill(pond=PondKey("sales@1")))
    assert states(world, named) == ("paused", "killed", ["waiting", "waiting", "waiting"])
    verbs.resume(world.ledger, "main", named)
    assert states(world, named) == ("paused", "killed", ["waiting", "waiting", "waiting"])
    world.send(Clear(pond=PondKey("sales@1")))
    verbs.resume(world.ledger, "main", named)
    assert len(drain(world, worker)) == 3


def test_deployed_meanwhile_its_pond_finishes_the_chunk_and_it_waits_until_told(world: World) -> None:
    worker = published(world, daily())
    named = start(world)
    held = worker.claim()
    assert held is not None
    world.deploy(daily(code="c2"))
    finish(world, worker, held)
    assert states(world, named) == ("paused", "deployed", ["completed", "waiting", "waiting"])
    assert worker.claim() is None
    verbs.resume(world.ledger, "main", named)
    held = worker.claim()
    assert held is not None
    assert held.task.definition.ripple("sales").digest == "c2-sales"  # type: ignore[union-attr]
    finish(world, worker, held)
    drain(world, worker)
    assert states(world, named)[0] == "completed"


@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_deploy_that_leaves_the_code_as_it_was_stops_nothing(world: World, is_waiting: bool) -> None:
    worker = published(world, daily())
    if is_waiting:
        world.send(Pulse(pond=PondKey("sales@1")))
    named = start(world)
    held = worker.claim()
    assert held is not None
    world.deploy(daily(), archive=b"b")
    assert states(world, named)[:2] == (("paused", "deploying") if is_waiting else ("running", ""))
    finish(world, worker, held)
    assert states(world, named)[0] == "running"
    drain(world, worker)
    assert states(world, named) == ("completed", "", ["completed", "completed", "completed"])


@pytest.mark.parametrize("is_paused", [False, True])
def test_removed_meanwhile_its_pond_takes_it_along(world: World, is_paused: bool) -> None:
    worker = published(world, daily())
    named = start(world)
    assert worker.claim() is not None
    if is_paused:
        verbs.pause(world.ledger, "main", named)
    world.deploy(removed=("sales@1",))
    assert states(world, named) == ("cancelled", "removed", ["cancelled", "cancelled", "cancelled"])
    world.deploy(daily())
    world.send(Tap(pond=PondKey("sales@1")))
    assert drain(world, worker) == [("sales", None)]


def test_an_environment_that_is_removed_takes_it_along(world: World) -> None:
    worker = published(world, daily())
    world.clock.time += SECOND
    deploy(world.ledger, "dev", project="p", definitions=[daily()], removed=[], archive=b"a", summary="{}", expected=[])
    pond_verbs.send(world.ledger, "dev", Tap(pond=PondKey("sales@1")))
    drain(world, worker)
    verbs.start(world.ledger, "dev", "sales@1", chunks=days(*DAYS))
    removal.remove(world.ledger, "dev")
    assert world.rows("SELECT state, reason FROM backfills") == [{"state": "cancelled", "reason": "removed"}]


def test_rolled_back_meanwhile_the_next_chunks_extend_what_is_shown_again(world: World) -> None:
    worker = published(world, daily())
    first = str(world.one("SELECT public_id FROM runs"))
    named = start(world)
    held = worker.claim()
    assert held is not None
    finish(world, worker, held)
    roll_back_pond(world.ledger, "main", PondKey("sales@1"), 1)
    drain(world, worker)
    assert states(world, named)[0] == "completed"
    with world.ledger.reading() as tx:
        (row,) = actors.ponds(tx, 1)
        (output,) = snapshots.outputs(tx, snapshots.current_run(tx, row.id) or 0).values()
        entries = pages.listed(tx, newest(tx, [output.snapshot])[output.snapshot].pages)
    by_day = {entry.partition[0]: entry.run for entry in entries}
    assert by_day[DAYS[0]] == by_day[DAYS[1]] == first, "the rollback waited for the chunk that ran, and undid it"
    assert by_day[DAYS[2]] != first


def test_its_worker_dies_and_the_same_chunk_is_computed_by_another(world: World) -> None:
    worker = published(world, daily())
    named = start(world, DAYS[0])
    held = worker.claim()
    assert held is not None
    reap.reap_process(world.ledger, worker.row, reason="killed")
    world.pass_time(60)
    other = world.worker(pid=2)
    assert drain(world, other) == [("sales", ((DAYS[0],),))]
    assert states(world, named) == ("completed", "", ["completed"])
    assert world.one("SELECT count(*) AS n FROM runs WHERE chunk IS NOT NULL") == 1
    with world.ledger.reading() as tx:
        assert [row.id for row in processes.alive(tx)] == [other.id]


def test_two_backfills_of_a_pond_take_turns(world: World) -> None:
    worker = published(world, daily())
    first, second = start(world), start(world)
    assert len(drain(world, worker)) == 6
    assert states(world, first)[0] == states(world, second)[0] == "completed"


def test_only_what_is_in_partitions_can_be_computed_in_parts(world: World) -> None:
    worker = published(world, pond("orders"))
    assert worker.claim() is None
    with pytest.raises(PondageError, match='mode="replace"') as refused:
        start(world, name="orders@1")
    assert "pondage force orders --full" in str(refused.value.hint)
    with pytest.raises(NotFound):
        start(world, name="nobody@1")
    with pytest.raises(NotFound):
        verbs.pause(world.ledger, "main", "b_nobody")


def test_a_pond_without_data_gives_the_chunks_back(world: World) -> None:
    world.deploy(daily())
    named = start(world, DAYS[0])
    assert states(world, named) == ("failed", "", ["failed"])


def test_what_a_chunk_reads_is_no_hint_for_the_runs_behind_it(world: World) -> None:
    worker = published(world, pond("orders"), daily(sources={"orders": True}))
    with world.ledger.reading() as tx:
        sales = actors.pond(tx, 1, "sales@1")
        assert sales is not None
        before = runs.latest_pins(tx, sales.id)
    world.send(Pulse(pond=PondKey("orders@1")))
    drain(world, worker)
    start(world, DAYS[0])
    drain(world, worker)
    with world.ledger.reading() as tx:
        assert runs.latest_pins(tx, sales.id) == before
    pins = world.rows("SELECT pins FROM runs WHERE chunk IS NOT NULL")
    assert pins != [{"pins": msgspec.json.encode(before).decode()}], "the chunk itself reads the newest"


def test_the_history_of_a_catchment_with_chunks_replays(world: World) -> None:
    worker = published(world, pond("orders"), daily(sources={"orders": True}))
    start(world)
    drain(world, worker)
    named = start(world)
    worker.claim()
    verbs.cancel(world.ledger, "main", named)
    with world.ledger.reading() as tx:
        replayed = replay(tx, world.ledger, environment_id(tx, "main"))
    assert replayed.is_complete
    assert replayed.differences == ()


def test_partitions_by_other_columns_are_refused_in_words(world: World) -> None:
    """Other code has cut the table otherwise since the backfill was begun."""
    worker = published(world, daily())
    start(world, DAYS[0])
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, RippleTask)
    other = msgspec.structs.replace(held.task, chunk=Chunk(by=("city",), partitions=(("Rome",),)))
    following = Following(other, Increments(world.ledger, held.claim), whole=pytest.fail, part=pytest.fail)
    with pytest.raises(PondageError, match="are by day now, and the backfill names some by city"):
        assert following.chunk
    same = Following(held.task, Increments(world.ledger, held.claim), whole=pytest.fail, part=pytest.fail)
    assert same.chunk is not None
    assert same.only == ((0,), {(DAYS[0],)})
