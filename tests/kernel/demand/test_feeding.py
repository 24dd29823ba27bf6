"""Ponds with a reactor behind them: what it publishes, what is asked of it, and what blocks its Sinks."""

from __future__ import annotations

from pondage.kernel.demand.effects import Commanded, Demanded, Effect, RunFinished, StartRun
from pondage.kernel.demand.events import Asked, Deploy, Event, Fed, Forgot, Kill, Pulse, Stuck, Tap, Wave
from pondage.kernel.demand.ponds import MemoryPonds
from pondage.kernel.demand.shape import PondKey, PondShape
from pondage.kernel.demand.step import step

QUOTES, SUMS = PondKey("quotes@1"), PondKey("sums@1")


def world() -> MemoryPonds:
    ponds = MemoryPonds()
    ponds.define(PondShape.of(QUOTES, {"quotes": ()}, feed_period=1000))
    ponds.define(PondShape.of(SUMS, {"sum": ()}, sources={QUOTES: True}))
    step(ponds, [Deploy(pond=QUOTES, definition="1"), Deploy(pond=SUMS, definition="1")], 0)
    return ponds


def did(ponds: MemoryPonds, *events: Event, now: int = 10) -> list[Effect]:
    return list(step(ponds, events, now).effects)


def test_what_is_fed_is_a_completed_run_and_starts_the_sink_that_waits_for_it() -> None:
    ponds = world()
    asked = did(ponds, Wave(pond=SUMS))
    assert [each for each in asked if isinstance(each, Demanded)] == [
        Demanded(pond=QUOTES, reason=asked[0].reason, want=-1)
    ]
    effects = did(ponds, Fed(pond=QUOTES, freshness=7, delay=2, batch="files"))
    first, second, third = effects[:3]
    assert isinstance(first, StartRun)
    assert (first.freshness, first.delay, first.is_fed, first.batch) == (7, 2, True, "files")
    assert isinstance(second, RunFinished)
    assert isinstance(third, StartRun)
    assert (third.pond, third.taken) == (SUMS, {QUOTES: 7})
    assert ponds.states[SUMS].sources[QUOTES].period == 1000


def test_what_is_said_again_is_no_run_and_data_that_looks_old_is_not_lost() -> None:
    ponds = world()
    assert did(ponds, Fed(pond=QUOTES, freshness=5)) == []
    did(ponds, Fed(pond=QUOTES, freshness=7, batch="a"))
    assert did(ponds, Fed(pond=QUOTES, freshness=7)) == []
    later = did(ponds, Fed(pond=QUOTES, freshness=3, batch="b"))[0]
    assert isinstance(later, StartRun)
    assert (later.freshness, later.batch) == (8, "b")
    passed = did(ponds, Fed(pond=QUOTES, freshness=20))[0]
    assert isinstance(passed, StartRun)
    assert (passed.freshness, passed.batch) == (20, None)


def test_a_fed_pond_starts_nothing_itself_and_hands_demand_and_verbs_on() -> None:
    ponds = world()
    did(ponds, Fed(pond=QUOTES, freshness=7, batch="a"))
    effects = did(ponds, Tap(pond=QUOTES), Pulse(pond=QUOTES), Kill(pond=QUOTES), Wave(pond=QUOTES), now=30)
    said = [(each.want, each.target) for each in effects if isinstance(each, Demanded)]
    assert said == [(7, None), (None, 30)]
    assert [each.verb for each in effects if isinstance(each, Commanded)] == ["kill"]
    assert not [each for each in effects if isinstance(each, StartRun)]


def test_a_stuck_reactor_blocks_its_sinks_and_takes_no_demand_until_it_is_free() -> None:
    ponds = world()
    did(ponds, Wave(pond=SUMS))
    did(ponds, Stuck(pond=QUOTES, on=True))
    assert ponds.states[SUMS].is_blocked
    assert did(ponds, Tap(pond=QUOTES)) == []
    freed = did(ponds, Stuck(pond=QUOTES, on=False))
    assert not ponds.states[SUMS].is_blocked
    assert [each.want for each in freed if isinstance(each, Demanded)][:1] == [-1]
    did(ponds, Forgot(pond=QUOTES))
    assert [each.want for each in did(ponds, Tap(pond=SUMS)) if isinstance(each, Demanded)] == [-1]


def test_a_reactor_asks_a_pond_as_a_sink_would() -> None:
    ponds = MemoryPonds()
    ponds.define(PondShape.of("orders@1", {"raw": ()}))
    step(ponds, [Deploy(pond=PondKey("orders@1"), definition="1")], 0)
    started = did(ponds, Asked(pond=PondKey("orders@1"), want=-1), now=5)
    assert any(isinstance(each, StartRun) for each in started)
