"""What reading asks of a Pond: nothing, a Tap with the first read of each Run, or a Pulse that the reader waits for."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition, ReadingDefinition
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Follow, Pulse, Tide
from pondage.kernel.demand.state import decode_state
from pondage.ledger.act import questions
from pondage.ledger.act.as_of import AsOf
from pondage.ledger.act.shown_tables import Reader
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.query import QueryTask
from pondage.ledger.tables.read_log import ReadLog
from tests.ledger.harness import SECOND, World, pond

KEY = PondKey("reports@1")
ADA = Reader("ada", "query")
MINUTE = 60 * SECOND


def reports(reading: ReadingDefinition, *, code: str = "c1") -> PondDefinition:
    return msgspec.structs.replace(pond("reports", code=code, always=True), reading=reading)


def asking(world: World, reading: ReadingDefinition) -> World:
    """A Pond of which reading asks that, with one Run that took ten seconds."""
    world.ledger.reads = ReadLog(world.ledger.transaction, pause=lambda _: True)
    world.deploy(reports(reading))
    world.send(Pulse(pond=KEY))
    run(world)
    return world


def run(world: World, seconds: int = 10) -> None:
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    world.clock.time += seconds * SECOND
    assert worker.finish(held)


def ask(world: World, *, as_of: AsOf | None = None) -> int:
    tables = frozenset({"reports"})
    return questions.submit(
        world.ledger, "main", "select * from reports", limit=1, tables=tables, reader=ADA, as_of=as_of
    )


def begun(world: World) -> list[str]:
    """The kinds of work that can be begun now; a question is begun and given up."""
    found: list[Work] = []
    worker = world.worker()
    while (held := worker.claim()) is not None:
        found.append(held)
    return [held.claim.kind for held in found]


def shown(world: World) -> str:
    """The snapshot that the question is begun with, which somebody can begin now."""
    held = world.worker().claim()
    assert held is not None
    assert held.claim.kind == "query"
    return held.given(QueryTask).views["reports"].path


def newest(world: World) -> str:
    return str(world.one("SELECT path FROM snapshots ORDER BY id DESC LIMIT 1"))


def test_reading_asks_for_nothing_unless_the_author_says_so(world: World) -> None:
    asking(world, ReadingDefinition())
    ask(world)
    assert begun(world) == ["query"]


def test_the_first_read_of_each_run_is_a_tap_and_no_further_one(world: World) -> None:
    asking(world, ReadingDefinition(asks="tap"))
    for _ in range(3):
        ask(world)
    assert sorted(begun(world)) == ["query", "query", "query", "ripple"], "nobody waits"
    assert world.one("SELECT count(*) FROM runs") == 2
    ask(world)
    assert world.one("SELECT count(*) FROM runs") == 2, "what is read is still the first Run"


def test_a_newer_run_may_be_tapped_again_and_an_older_one_may_not(world: World) -> None:
    asking(world, ReadingDefinition(asks="tap"))
    ask(world)
    assert world.worker().claim() is not None  # the question, which nobody answers here
    run(world)
    ask(world)
    assert world.one("SELECT count(*) FROM runs") == 3
    first = int(str(world.one("SELECT min(id) FROM runs")))
    ask(world, as_of=AsOf(at=0, runs={KEY: first}))
    assert world.one("SELECT count(*) FROM runs") == 3, "the past asks for nothing"


def test_a_pulse_is_waited_for_and_the_question_sees_its_run(world: World) -> None:
    asking(world, ReadingDefinition(asks="pulse", wait_us=MINUTE))
    before = newest(world)
    ask(world)
    assert world.one("SELECT count(*) FROM awaited") == 1
    run(world)  # the question cannot be begun yet: this claims the Ripple
    assert shown(world) == newest(world) != before
    assert world.one("SELECT count(*) FROM awaited") == 0


def test_whoever_has_waited_long_enough_gets_what_is_there(world: World) -> None:
    asking(world, ReadingDefinition(asks="pulse", wait_us=MINUTE))
    there = newest(world)
    ask(world)
    worker = world.worker()
    ripple = worker.claim()
    assert ripple is not None
    assert worker.claim() is None
    world.clock.time += MINUTE + SECOND
    assert shown(world) == there


def test_it_waits_for_twice_the_lead_unless_somebody_says_how_long_and_with_0_not_at_all(world: World) -> None:
    asking(world, ReadingDefinition(asks="pulse"))
    ask(world)
    waits = int(str(world.one("SELECT until FROM awaited"))) - world.clock.time
    assert 19 * SECOND <= waits <= 22 * SECOND, "its only Run took ten seconds"
    run(world)
    world.deploy(reports(ReadingDefinition(asks="pulse", wait_us=0), code="c2"))
    ask(world)
    assert world.one("SELECT count(*) FROM awaited") == 0
    assert "query" in begun(world)


def test_a_run_of_older_data_than_the_question_wants_ends_no_wait(world: World) -> None:
    asking(world, ReadingDefinition(asks="pulse", wait_us=MINUTE))
    world.send(Pulse(pond=KEY))
    worker = world.worker()
    under_way = worker.claim()
    assert under_way is not None
    world.clock.time += 5 * SECOND
    ask(world)
    assert worker.finish(under_way)
    assert world.one("SELECT count(*) FROM awaited") == 1, "it began before somebody asked"
    run(world)
    assert shown(world) == newest(world)


def test_reading_at_rest_wakes_at_once_and_whoever_reads_until_the_run_has_ended_waits_for_it(world: World) -> None:
    asking(world, ReadingDefinition(asks="tap"))
    world.send(Tide(pond=KEY, limit=15 * MINUTE, follow=Follow(is_resting=True)))
    world.clock.time += 60 * MINUTE
    ask(world)
    (state,) = world.rows("SELECT state FROM ponds")
    assert not decode_state(str(state["state"])).following["tide"].is_resting, "before the read log is written"
    assert world.one("SELECT count(*) FROM tapped") == 0, "the trigger's own rule takes the place of reading="
    world.clock.time += SECOND
    ask(world)
    assert world.one("SELECT count(*) FROM awaited") == 2
    run(world)
    assert shown(world) == newest(world)
    assert shown(world) == newest(world)
    ask(world)
    assert world.one("SELECT count(*) FROM awaited") == 0, "it is awake: what is there is answered"


@pytest.mark.parametrize("asks", ["tap", "pulse"])
def test_what_waited_goes_with_its_pond(world: World, asks: str) -> None:
    asking(world, msgspec.convert({"asks": asks, "wait_us": MINUTE}, ReadingDefinition))
    ask(world)
    world.deploy(removed=(KEY,))
    assert [world.one(f"SELECT count(*) FROM {table}") for table in ("tapped", "awaited", "profiles")] == [0, 0, 0]
