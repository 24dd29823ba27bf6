"""What dies, lies or races: claims and commits are resolved by token, the dead are reaped, zombies are fenced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pondage.define.pond.definition import PondDefinition
from pondage.define.project.durability import Durability
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Clear, Pulse, Tap
from pondage.ledger.commit import guarded, work
from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.queue import processes
from pondage.ledger.step import catchment
from pondage.ledger.upkeep import reap
from tests.ledger.harness import SECOND, MakeDriver, World, content, pond, state


class ReplyLost:
    """A driver whose next transaction commits, and whose answer is lost on the way back."""

    def __init__(self, world: World) -> None:
        self._driver = world.ledger.driver
        self.is_armed = False
        world.ledger.driver = self  # type: ignore[assignment]

    def __getattr__(self, name: str) -> object:
        return getattr(self._driver, name)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._driver.transaction() as tx:
            yield tx
        if self.is_armed:
            self.is_armed = False
            raise LedgerUnavailable("the connection was cut after the commit")


def held_by_two(world: World) -> tuple[int, int]:
    world.deploy(pond("a"), pond("b"))
    world.send(Tap(pond="a@1"))
    world.send(Tap(pond="b@1"))
    return 1, 2


def test_a_claim_whose_answer_was_lost_is_found_by_its_token(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    lossy = ReplyLost(world)
    lossy.is_armed = True
    held = worker.claim(token="t1")
    assert held is not None
    assert held.claim.token == "t1"
    assert worker.finish(held)


def test_a_commit_whose_answer_was_lost_is_not_made_twice(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    lossy = ReplyLost(world)
    lossy.is_armed = True
    assert worker.finish(held)
    assert world.one("SELECT count(*) FROM snapshots") == 1
    assert world.runs("orders") == [("completed", 1_000 * SECOND)]


def test_a_silent_process_is_reaped_and_its_work_runs_again_without_the_machine_noticing(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    zombie = world.worker()
    held = zombie.claim()
    assert held is not None
    world.clock.time += 61 * SECOND
    assert [each.executions for each in reap.reap_stale(world.ledger, process=None)] == [1]
    other = world.worker()
    again = other.claim()
    assert again is not None
    assert again.claim.dispatch == held.claim.dispatch
    assert again.claim.epoch == held.claim.epoch + 1
    assert not zombie.finish(held), "the zombie is fenced"
    assert other.finish(again)
    assert world.rows("SELECT path FROM snapshots") == [{"path": content(again).path}]


def test_a_process_that_beats_is_not_reaped(world: World) -> None:
    worker = world.worker()
    for _ in range(5):
        world.clock.time += 30 * SECOND
        with world.ledger.transaction() as tx:
            assert processes.beat(tx, worker.id)
        assert reap.reap_stale(world.ledger, process=None) == []


def test_a_reaped_process_can_neither_beat_nor_claim(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    reap.reap_process(world.ledger, worker.row, reason="waitpid")
    with world.ledger.transaction() as tx:
        assert not processes.beat(tx, worker.id)
    assert worker.claim() is None


def test_nobody_is_reaped_twice(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    worker.claim()
    row = worker.row
    assert reap.reap_process(world.ledger, row, reason="waitpid") is not None
    assert reap.reap_process(world.ledger, row, reason="waitpid") is None
    assert world.one("SELECT count(*) FROM executions") == 2


def test_neighbours_of_a_crash_are_tried_alone_before_anybody_is_blamed(world: World) -> None:
    held_by_two(world)
    worker = world.worker()
    assert worker.claim() is not None
    assert worker.claim(is_alone=False) is not None
    reap.reap_process(world.ledger, worker.row, reason="out of memory")
    assert world.rows("SELECT crashes FROM dispatches") == [{"crashes": 0}, {"crashes": 0}]
    other = world.worker()
    assert other.claim(is_alone=False) is None, "isolated work is not taken beside other work"
    alone = other.claim(is_alone=True)
    assert alone is not None
    assert alone.claim.is_isolated
    reap.reap_process(world.ledger, other.row, reason="out of memory")
    assert sorted(row["crashes"] for row in world.rows("SELECT crashes FROM dispatches")) == [0, 1]


def test_a_poison_ripple_fails_when_its_crash_budget_is_spent_and_clear_tries_again(make_driver: MakeDriver) -> None:
    world = World(make_driver, durability=Durability(crash_budget=3))
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    crashes = 0
    while not state(world, "orders@1")["is_failed"]:
        world.clock.time += 100 * SECOND
        worker = world.worker()
        assert worker.claim() is not None
        reap.reap_process(world.ledger, worker.row, reason="segfault")
        crashes += 1
    assert crashes == 3
    (run,) = world.rows("SELECT state, error FROM runs")
    assert "CRASHES_EXHAUSTED" in str(run["error"])
    world.send(Clear(pond="orders@1"))
    assert world.worker().drain() == ["orders"]


def test_what_crashes_is_tried_again_at_once_and_then_a_little_later_each_time(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    waits = []
    for _ in range(3):
        worker = world.worker()
        assert worker.claim() is not None
        reap.reap_process(world.ledger, worker.row, reason="segfault")
        at = world.one("SELECT available_at FROM availabilities")
        assert isinstance(at, int)
        waits.append((at - world.clock.time) // SECOND)
        world.clock.time = at
    assert waits == [0, 2, 4]
    worker = world.worker()
    assert worker.claim() is not None
    reap.reap_process(world.ledger, worker.row, reason="segfault")
    assert state(world, "orders@1")["is_failed"], "the fourth crash is the last, six seconds after the first"


def test_released_work_counts_against_nothing(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    for _ in range(20):
        held = worker.claim()
        assert held is not None
        assert guarded.release(world.ledger, held)
        assert not guarded.release(world.ledger, held), "released once"
    assert world.one("SELECT crashes FROM dispatches") == 0
    assert worker.drain() == ["orders"]


def test_of_many_claimers_exactly_one_wins(world: World) -> None:
    world.deploy(*[pond(f"p{n}") for n in range(8)])
    for n in range(8):
        world.send(Tap(pond=f"p{n}@1"))
    workers = [world.worker() for _ in range(4)]
    ledgers = [world.open(100 + n) for n in range(len(workers))]
    queues = workers[0].queues()
    barrier = threading.Barrier(len(workers))
    won: list[int] = []

    def race(n: int) -> None:
        barrier.wait()
        while (
            held := work.claim_work(
                ledgers[n], process=workers[n].id, queues=queues, token=ledgers[n].ids.new("t"), is_alone=True
            )
        ) is not None:
            won.append(held.claim.execution)

    threads = [threading.Thread(target=race, args=(n,)) for n in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(1, 9))


def test_a_step_that_raises_leaves_the_commit_standing_and_halts_the_actor_in_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}))
    world.send(Pulse(pond="sales@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None

    def broken(*_args: object) -> None:
        raise RuntimeError("a defect of the machine")

    with monkeypatch.context() as patched:
        patched.setattr(catchment, "step", broken)
        assert worker.finish(held), "the guarded commit stands"
        assert world.one("SELECT count(*) FROM snapshots") == 1
        assert world.one("SELECT errors FROM actors") == 1
        for _ in range(20):
            world.pass_time(1)
    assert "a defect of the machine" in str(world.one("SELECT halted FROM actors"))
    assert world.one("SELECT errors FROM actors") == 10
    world.pass_time(1)
    assert worker.claim() is None
    world.send(Clear(pond="orders@1"))
    assert worker.drain() == ["sales"]


def test_what_must_change_one_row_and_does_not_undoes_everything_before_it(world: World) -> None:
    world.deploy(pond("orders"))

    def miss() -> None:
        with world.ledger.transaction() as tx:
            tx.write("UPDATE ponds SET project = 'another'")
            tx.write_one("UPDATE ponds SET project = 'third' WHERE id = -1")

    with pytest.raises(AssertionError, match="0 rows"):
        miss()
    assert world.one("SELECT count(*) FROM ponds WHERE project = 'another'") == 0


def test_too_slow_heartbeats_are_refused(make_driver: MakeDriver) -> None:
    with pytest.raises(LedgerError, match="too slow"):
        World(make_driver, durability=Durability(heartbeat_s=20, reap_after_s=60))


def test_a_deploy_that_others_overtook_changes_nothing(world: World) -> None:
    from pondage.ledger.act.deploy import deploy

    world.deploy(pond("orders"))
    with pytest.raises(LedgerError, match="somebody else"):
        deploy(
            world.ledger,
            "main",
            project="p",
            definitions=[pond("sales")],
            removed=[],
            archive=b"x",
            summary="{}",
            expected=[],
        )
    assert [row["name"] for row in world.rows("SELECT name FROM ponds")] == ["orders"]


def catchments(world: World) -> list[set[str]]:
    found: dict[object, set[str]] = {}
    for row in world.rows("SELECT name, actor FROM ponds WHERE removed_at IS NULL"):
        found.setdefault(row["actor"], set()).add(str(row["name"]))
    return sorted(found.values(), key=sorted)


def reading(name: str, *sources: str) -> PondDefinition:
    return pond(name, sources=dict.fromkeys(sources, True))


def test_catchments_join_and_split_and_reports_in_flight_find_their_pond(world: World) -> None:
    world.deploy(pond("a"), pond("b"), reading("x", "b"))
    assert catchments(world) == [{"a"}, {"b", "x"}]
    world.send(Pulse(pond="a@1"))
    world.send(Pulse(pond="x@1"))
    worker = world.worker()
    first, second = worker.claim(), worker.claim(is_alone=False)
    assert first is not None
    assert second is not None
    world.deploy(reading("join", "a", "x"))
    assert catchments(world) == [{"a", "b", "join", "x"}]
    assert worker.finish(first)
    assert worker.finish(second)
    world.pass_time(0)
    assert worker.drain() == ["x"]
    held = None
    world.send(Pulse(pond="join@1"))
    held = worker.claim()
    assert held is not None
    world.deploy(removed=("join@1",))
    assert worker.finish(held)
    world.deploy(pond("other"))
    assert catchments(world) == [{"a"}, {"b", "x"}, {"other"}]
    world.pass_time(0)
    worker.drain()
    assert world.one("SELECT count(*) FROM signals WHERE kind <> 'tick'") == 0


def test_a_removed_pond_is_gone_and_may_be_deployed_again(world: World) -> None:
    world.deploy(pond("orders"), reading("sales", "orders"))
    worker = world.worker()
    world.send(Pulse(pond="sales@1"))
    worker.drain()
    world.deploy(removed=("orders@1",))
    assert [row["name"] for row in world.rows("SELECT name FROM ponds WHERE removed_at IS NULL")] == ["sales"]
    assert state(world, "sales@1")["is_blocked"]
    world.deploy(pond("orders"))
    world.clock.time += SECOND
    world.send(Pulse(pond="sales@1"))
    assert worker.drain() == ["orders", "sales"]


def test_claims_that_a_living_process_does_not_know_are_given_back(world: World) -> None:
    world.deploy(pond("orders"))
    world.send(Tap(pond="orders@1"))
    worker = world.worker()
    lost = worker.claim()
    assert lost is not None
    assert reap.abandon(world.ledger, process=worker.id, tokens=[lost.claim.token]) == 1
    assert reap.abandon(world.ledger, process=worker.id, tokens=[lost.claim.token]) == 0
    assert not worker.finish(lost)
    assert worker.drain() == ["orders"]
