"""Chunks of backfills: when one starts, what it leaves alone, and that each has exactly one end."""

import itertools
from collections.abc import Sequence
from functools import partial

import msgspec

from pondage.kernel.demand import MemoryPonds, PondKey, PondShape, PondState, Retries, Step
from pondage.kernel.demand.effects import ChunkEnded, Reason, RunFinished, StartRipple, StartRun
from pondage.kernel.demand.events import (
    Backfill,
    Clear,
    Event,
    Force,
    Kill,
    Pulse,
    Remove,
    Rollback,
    Sleep,
    Tap,
    Wake,
    Wave,
    Withdraw,
)
from pondage.kernel.demand.gates import Backfilling
from pondage.kernel.demand.state import RUNS_BETWEEN_CHUNKS
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.driving import Driver
from tests.kernel.demand.mixes import FAULTS_END, random_mix

P = PondKey("p")
ONE = PondShape.of("p", {"r": ()})
TWO = PondShape.of("p", {"r": (), "s": ("r",)})


def backfill(chunk: str = "c") -> Backfill:
    return Backfill(pond=P, chunk=chunk)


def ended(driver: Driver) -> list[tuple[str, Reason]]:
    return [(effect.chunk, effect.reason) for effect in driver.effects if isinstance(effect, ChunkEnded)]


def run_once(shape: PondShape = ONE) -> Driver:
    """A Pond that has completed one Run, at 5."""
    driver = Driver(shape)
    driver.give(Pulse(pond=P), at=5)
    for name in shape.order:
        driver.done(f"p.{name}")
    assert driver.state("p").end_f == 5
    return driver


def kept(state: PondState) -> object:
    """What no chunk may change: everything but how it is called, and that it was there."""
    plain = msgspec.to_builtins(state)
    for name in ("number", "since_chunk", "chunks", "chunk"):
        plain.pop(name, None)
    for ripple in plain["ripples"].values():
        for name in ("attempt", "since"):
            ripple.pop(name, None)
    return plain


def test_a_chunk_of_an_idle_pond_starts_at_once_at_what_is_published() -> None:
    driver = run_once(TWO)
    driver.give(backfill(), at=100)
    run = next(effect for effect in driver.effects if isinstance(effect, StartRun))
    assert (run.reason, run.chunk, run.freshness, run.number) == (Reason.BACKFILL, "c", 5, 2)
    assert driver.started() == [("p.r", 5)]
    driver.done("p.r", at=110)
    assert driver.started() == [("p.s", 5)]
    assert ended(driver) == []
    driver.done("p.s", at=120)
    finished = next(effect for effect in driver.effects if isinstance(effect, RunFinished))
    assert (finished.reason, finished.freshness, finished.is_fresher) == (Reason.BACKFILL, 5, False)
    assert ended(driver) == [("c", Reason.COMPLETED)]


def test_the_end_of_a_chunk_changes_nothing_that_demand_knows() -> None:
    for is_done in (True, False):
        driver = run_once(TWO)
        driver.give(Pulse(pond=P), at=7)
        driver.fail("p.r")
        before = kept(driver.state("p"))
        driver.give(backfill(), at=50)
        assert driver.started() == [("p.r", 5)]  # also of a Pond that has failed
        if is_done:
            driver.done("p.r", at=5000)
            driver.done("p.s", at=9000)
            assert ended(driver) == [("c", Reason.COMPLETED)]
        else:
            driver.fail("p.r", at=5000)
            assert ended(driver) == [("c", Reason.FAILED)]
        after = driver.state("p")
        assert after.is_failed
        assert kept(after) == before, is_done


def test_a_chunk_that_fails_is_tried_again_as_often_as_a_run_and_does_not_fail_its_pond() -> None:
    driver = run_once(PondShape.of("p", {"r": ()}, retries=Retries(immediately=1)))
    driver.give(backfill(), at=50)
    driver.fail("p.r")
    assert driver.started() == [("p.r", 5)]
    driver.fail("p.r")
    assert ended(driver) == [("c", Reason.FAILED)]
    assert driver.state("p").condition.value == "ok"


def test_what_is_asked_for_goes_first_and_waits_for_one_chunk_at_most() -> None:
    driver = run_once()
    driver.give(backfill("a"), backfill("b"), Pulse(pond=P), at=10)
    assert driver.started() == [("p.r", 10)]
    driver.done("p.r", at=11)
    assert driver.state("p").chunk is not None
    driver.give(Pulse(pond=P), at=12)
    assert driver.started() == []
    assert driver.explain("p")[0] == Backfilling(["r"], 1, True)
    driver.done("p.r", at=13)
    assert ended(driver) == [("a", Reason.COMPLETED)]
    assert driver.started() == [("p.r", 13)]
    assert driver.state("p").chunk is None
    driver.done("p.r", at=14)
    assert driver.state("p").chunk is not None
    driver.done("p.r", at=15)
    assert ended(driver) == [("b", Reason.COMPLETED)]


def test_a_wave_does_not_starve_a_backfill() -> None:
    driver = Driver(PondShape.of("q", {"r": ()}), PondShape.of("p", {"r": ()}, sources={"q": True}))
    driver.give(Wave(pond=P), at=1)
    order = []
    for _ in range(100):
        busy = [key for key in ("q", "p") if driver.state(key).ripples["r"].is_busy]
        for key in busy:
            driver.done(f"{key}.r", at=driver.now + 1)
            order += [effect.chunk for effect in driver.effects if isinstance(effect, StartRun) and effect.pond == P]
        state = driver.state("p")
        if state.end_f > 0 and state.chunk is None and not state.chunks:
            driver.give(backfill(f"c{driver.now}"))
    places = [place for place, chunk in enumerate(order) if chunk is not None]
    assert len(places) > 3
    between = [second - first - 1 for first, second in itertools.pairwise(places)]
    assert set(between) == {RUNS_BETWEEN_CHUNKS}


def test_a_run_that_is_due_waits_while_a_starved_chunk_lets_active_runs_finish() -> None:
    """Pipelined Runs would never leave a moment without one."""
    driver = run_once(TWO)
    driver.give(backfill(), Pulse(pond=P), at=10)
    driver.state("p").since_chunk = RUNS_BETWEEN_CHUNKS
    driver.done("p.r", at=11)
    driver.give(Pulse(pond=P), at=12)
    assert driver.started() == []  # r is free, and would start otherwise
    driver.done("p.s", at=13)
    assert [effect.reason for effect in driver.effects if isinstance(effect, StartRipple)] == [Reason.BACKFILL]
    driver.done("p.r", at=14)
    driver.done("p.s", at=15)
    assert driver.started() == [("p.r", 15)]


def test_a_wake_and_a_force_wait_for_the_chunk_that_runs() -> None:
    for verb in (Wake(pond=P), Force(pond=P)):
        driver = run_once()
        driver.give(backfill(), at=10)
        driver.give(verb, at=11)
        assert driver.started() == []
        driver.done("p.r", at=12)
        assert driver.started() == [("p.r", 12)], verb


def test_a_rollback_waits_for_the_chunk_that_runs() -> None:
    driver = run_once()
    driver.give(backfill(), at=10)
    driver.give(Rollback(pond=P, run="1"), at=11)
    assert driver.kinds() == []
    driver.done("p.r", at=12)
    assert [effect.rollback for effect in driver.effects if isinstance(effect, StartRun)] == ["1"]


def test_what_a_failed_run_left_behind_is_computed_again_after_a_chunk() -> None:
    """It extends what was there before the chunk: shown as it is, it would take the chunk back."""
    driver = run_once(TWO)
    driver.give(Pulse(pond=P), at=10)
    driver.done("p.r")
    driver.fail("p.s")
    driver.give(backfill(), at=11)
    driver.done("p.r")
    driver.done("p.s")
    assert ended(driver) == [("c", Reason.COMPLETED)]
    driver.give(Clear(pond=P), at=12)
    assert driver.started() == [("p.r", 12)]
    driver.done("p.r")
    assert driver.started() == [("p.s", 12)]


def test_a_chunk_that_never_completed_leaves_what_a_failed_run_left_behind() -> None:
    driver = Driver(PondShape.of("q", {"r": ()}), PondShape.of("p", {"r": (), "s": ("r",)}, sources={"q": True}))
    driver.give(Pulse(pond=P), at=5)
    for place in ("q.r", "p.r", "p.s"):
        driver.done(place)
    driver.give(Pulse(pond=P), at=10)
    driver.done("q.r")
    driver.done("p.r")
    driver.fail("p.s")
    driver.give(backfill(), at=11)
    driver.fail("p.r")
    driver.give(Clear(pond=P), at=12)
    assert driver.started() == [("p.s", 10)]


def test_every_chunk_has_an_end_whatever_happens_to_its_pond() -> None:
    assert Driver(ONE).give(backfill())[0] == ChunkEnded(pond=P, reason=Reason.RUN, chunk="c")
    nobody = Driver()
    nobody.give(backfill())
    assert ended(nobody) == [("c", Reason.REMOVED)]
    for verb, reason in ((Kill(pond=P), Reason.KILLED), (Remove(pond=P), Reason.REMOVED)):
        driver = run_once()
        driver.give(backfill("a"), backfill("b"), at=10)
        driver.give(verb)
        assert ended(driver) == [("a", reason), ("b", reason)]
        assert "Cancel" in driver.kinds()
        assert "RunDropped" in driver.kinds()
        driver.give(backfill("d"))
        assert ended(driver) == [("d", reason)]


def test_a_deploy_gives_waiting_chunks_back_and_lets_the_one_that_runs_finish() -> None:
    driver = run_once(TWO)
    driver.give(backfill("a"), backfill("b"), at=10)
    driver.deploy(ONE, "2")
    assert ended(driver) == [("b", Reason.DEPLOYED)]
    driver.give(backfill("d"))
    assert ended(driver) == [("d", Reason.DEPLOYED)]
    driver.done("p.r")
    assert driver.started() == [("p.s", 5)]
    driver.done("p.s")
    assert ended(driver) == [("a", Reason.COMPLETED)]
    assert driver.state("p").definition == "2"


def test_a_chunk_is_withdrawn_while_it_waits_and_stopped_when_that_is_asked_for() -> None:
    driver = run_once()
    driver.give(backfill("a"), backfill("b"), at=10)
    driver.give(Withdraw(pond=P, chunk="b"), Withdraw(pond=P, chunk="a"), Withdraw(pond=P, chunk="unknown"))
    assert ended(driver) == [("b", Reason.VERB)]
    report = driver.report("p.r")
    driver.give(Withdraw(pond=P, chunk="a", stop=True))
    assert ended(driver) == [("a", Reason.VERB)]
    assert driver.kinds() == ["Cancel", "RunDropped", "ChunkEnded"]
    driver.give(report)
    assert driver.kinds() == []


def test_the_same_chunk_twice_is_one_and_sleep_is_no_business_of_it() -> None:
    driver = run_once()
    driver.give(backfill("a"), backfill("a"), backfill("b"), backfill("b"), at=10)
    driver.give(Sleep(pond=P))
    driver.done("p.r")
    driver.done("p.r")
    assert ended(driver) == [("b", Reason.COMPLETED)]
    driver.give(Tap(pond=P), at=driver.now)
    assert driver.state("p").chunk is None


class NamingHost(VirtualHost):
    """Calls each chunk differently, so that an end belongs to one."""

    def __init__(self, ponds: MemoryPonds, named: list[tuple[PondKey, str]]) -> None:
        super().__init__(ponds)
        self.named = named

    def advance(self, now: int, events: Sequence[Event]) -> Step:
        return super().advance(now, [self._named(event) for event in events])

    def _named(self, event: Event) -> Event:
        if not isinstance(event, Backfill):
            return event
        name = f"{event.chunk}{len(self.named)}"
        self.named.append((event.pond, name))
        return Backfill(pond=event.pond, chunk=name)


def test_each_chunk_that_was_taken_in_ends_exactly_once() -> None:
    """Whatever else is asked, fails, is killed, deployed or removed: who holds the list of chunks is never left."""
    for seed in range(200):
        mix = random_mix(seed, deploys=seed % 2 == 1, backfills=True)
        named: list[tuple[PondKey, str]] = []
        started = mix.start(make_host=partial(NamingHost, named=named))
        started.simulation.run_until(FAULTS_END)
        for key in started.play.ponds.states:
            started.simulation.act(FAULTS_END, Kill(pond=key))
        started.simulation.run_until(FAULTS_END + 1)
        assert named, seed
        assert sorted(started.watcher.ended_chunks) == sorted(named), seed
