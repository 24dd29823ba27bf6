"""Which Runs stay as they become older, and what is left of those that go."""

from __future__ import annotations

import random

import msgspec
import pytest

from pondage.define.project.durability import Durability
from pondage.define.values.keep import parsed_keep
from pondage.engine.attempt.followed_tables import Following
from pondage.errors import DefinitionError
from pondage.kernel.demand.events import Pulse
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import past
from pondage.ledger.data.past import PastRun
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.upkeep import pruning, retention
from pondage.ledger.upkeep.thinning import EndedRun, thin, thinned
from tests.ledger.harness import SECOND, MakeDriver, World, content, pond

HOUR = 3_600 * SECOND
DAY = 24 * HOUR
DEFAULT = Durability().keeping


def test_the_default_keeps_an_hour_then_the_last_of_each_hour_and_then_of_each_day() -> None:
    now = 1_000 * DAY
    runs = [
        EndedRun(id=number, ended_at=at, is_completed=True) for number, at in enumerate(range(0, now, 600 * SECOND))
    ]
    gone = set(thinned(runs, DEFAULT, now=now, newest=1))
    ages = sorted(now - run.ended_at for run in runs if run.id not in gone)
    assert len([age for age in ages if age < HOUR]) == 5
    assert len([age for age in ages if HOUR <= age < 2 * DAY]) == 47
    assert len([age for age in ages if age >= 2 * DAY]) == 28


@pytest.mark.parametrize("seed", range(50))
def test_whenever_it_is_looked_at_the_same_runs_are_left(seed: int) -> None:
    """Thinning again and again, at any moments, ends with what thinning once would have left."""
    rng = random.Random(seed)
    keep = parsed_keep(rng.choice(["1h all, 2d hourly, 30d daily", "10m all, 3h hourly", "1d daily", "2h all"]))
    newest = rng.choice([1, 2, 5])
    now, identity = 0, 0
    every: list[EndedRun] = []
    kept: list[EndedRun] = []
    for _ in range(rng.randrange(1, 80)):
        for _ in range(rng.randrange(0, 6)):
            now += rng.randrange(1, rng.choice([2 * HOUR // 10, 5 * HOUR, 2 * DAY]))
            identity += 1
            run = EndedRun(id=identity, ended_at=now, is_completed=rng.random() < 0.8)
            every.append(run)
            kept.append(run)
        now += rng.randrange(1, DAY)
        gone = set(thinned(kept, keep, now=now, newest=newest))
        kept = [run for run in kept if run.id not in gone]
    once = set(thinned(every, keep, now=now, newest=newest))
    assert [run.id for run in kept] == [run.id for run in every if run.id not in once]
    completed = [run.id for run in every if run.is_completed]
    assert {run.id for run in kept} >= set(completed[-newest:])
    assert {run.id for run in kept} >= {run.id for run in every if now - run.ended_at < keep.all_us}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not an age"),
        ("1h", "not an age"),
        ("1h some", "not an age"),
        ("never all", "not a duration"),
        ("2d hourly, 1h all", "further back"),
        ("1h hourly, 2d all", "further back"),
        ("1h all, 2d all", "further back"),
        (7, "no step"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_an_example(text: object, why: str) -> None:
    with pytest.raises(DefinitionError, match=why) as caught:
        parsed_keep(text)
    assert caught.value.code in ("BAD_KEEP", "BAD_DURATION")
    assert caught.value.hint


def test_a_pond_may_say_itself_what_it_keeps_and_what_is_gone_leaves_a_line(make_driver: MakeDriver) -> None:
    world = World(make_driver, durability=Durability(keep_runs=1))
    world.deploy(pond("all"), msgspec.structs.replace(pond("few"), keep="1m all"))
    worker = world.worker()
    for _ in range(5):
        for name in ("all", "few"):
            world.send(Pulse(pond=f"{name}@1"))
        worker.drain()
        world.pass_time(60)
    assert thin(world.ledger, dry_run=True) == 4
    assert thin(world.ledger) == 4
    assert thin(world.ledger) == 0
    with world.ledger.transaction() as tx:
        doomed = retention.unused(tx, young_us=0, read=retention.being_read(tx)).snapshots
        retention.tombstone(tx, [each.id for each in doomed])
        retention.swept(tx, [each.id for each in doomed])
    assert len(doomed) == 4
    assert pruning.prune(world.ledger) == 4
    few = int(str(world.one("SELECT id FROM ponds WHERE name = 'few'")))
    with world.ledger.reading() as tx:
        left = past.runs_between(tx, few, since=0, until=tx.now)
    assert [(run.number, run.state, run.rows > 0) for run in left] == [
        (number, "completed", True) for number in (1, 2, 3, 4)
    ]
    assert world.one("SELECT count(*) FROM runs") == 6


def test_lines_of_the_past_come_back_as_they_were_and_go_after_their_time(world: World) -> None:
    world.deploy(pond("orders"))
    rng = random.Random(7)
    lines = [
        PastRun(
            number=number,
            state=rng.choice(["completed", "failed"]),
            ended_at=number * 1_000 * SECOND,
            moment=number * 1_000 * SECOND - rng.randrange(10**9),
            definition=rng.randrange(9),
            rows=rng.randrange(10**12),
            work_us=rng.randrange(10**9),
            is_read=rng.random() < 0.5,
        )
        for number in range(1, 60)
    ]
    with world.ledger.transaction() as tx:
        past.remember(tx, 1, lines[:30])
        past.remember(tx, 1, lines[20:])
        assert past.runs_between(tx, 1, since=0, until=100_000 * SECOND) == lines
        assert past.runs_between(tx, 1, since=lines[3].ended_at, until=lines[9].ended_at) == lines[3:9]
        world.clock.time = past.KEPT_US + 30_000 * SECOND
    with world.ledger.transaction() as tx:
        assert past.forget(tx, batch=100) == 8
        assert past.runs_between(tx, 1, since=0, until=100_000 * SECOND)[0].ended_at >= 8 * HOUR


def test_what_a_follower_has_not_taken_in_stays_however_many_runs_there_were(make_driver: MakeDriver) -> None:
    world = World(make_driver, durability=Durability(keep_runs=1, keep="1m all"))
    growing = msgspec.structs.replace(pond("raw"), mode="append")
    world.deploy(growing, msgspec.structs.replace(pond("mid", sources={"raw": True}), mode="append"))
    worker = world.worker()

    def run(name: str) -> list[bool]:
        """Run a Pond to its end; answer whether each Ripple of `mid` got everything."""
        world.send(Pulse(pond=f"{name}@1"))
        full: list[bool] = []
        while (held := worker.claim()) is not None:
            assert isinstance(held.task, RippleTask)
            following = Following(
                held.task,
                Increments(world.ledger, held.claim),
                whole=lambda _: None,
                part=lambda *_: None,  # type: ignore[arg-type,return-value]
            )
            for read in held.task.ripple.reads:
                following.changes(read.table(held.task.definition.name))
            if held.claim.node == "mid":
                full.append(following.is_full)
            made = msgspec.structs.replace(content(held), increment=following.increment())
            assert guarded.commit(world.ledger, held, Written(made), process=worker.id)
        return full

    assert run("mid") == [True]
    for _ in range(6):
        run("raw")
        world.pass_time(120)
        thin(world.ledger)
        with world.ledger.transaction() as tx:
            read = retention.being_read(tx, followed_us=30 * DAY)
            doomed = retention.unused(tx, young_us=0, read=read).snapshots
            retention.tombstone(tx, [each.id for each in doomed])
            retention.swept(tx, [each.id for each in doomed])
        pruning.prune(world.ledger)
    assert run("mid") == [False], "it gets the six batches, although their Runs are not kept"


def test_only_so_many_steps_are_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "MOST_STEPS", 10)
    world.deploy(pond("orders"))
    worker = world.worker()
    for _ in range(20):
        world.send(Pulse(pond="orders@1"))
        worker.drain()
    pruning.prune(world.ledger)
    assert world.one("SELECT count(*) FROM advancements") == 10
