"""Schedules send Pulses by the ledger's clock, and missed times follow `catch_up`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pondage.define.pond.definition import ScheduleDefinition, TideDefinition, Triggers
from pondage.define.values.cron import checked_cron
from pondage.define.values.names import PondKey
from pondage.errors import DefinitionError
from pondage.kernel.demand.events import Clear, Kill, Pause, Resume, Sleep, Wake
from pondage.ledger.tables.schedules import next_time
from pondage.ledger.upkeep.replay import replay
from tests.ledger.harness import SECOND, World, pond, state


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


@pytest.mark.parametrize("line", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 6 30,31 feb *", "0 0 31 4/5 *"])
def test_a_day_that_never_comes_is_refused_when_it_is_declared(line: str) -> None:
    """It was taken, and the deploy failed as a mistake of Pondage."""
    with pytest.raises(DefinitionError, match="none of these months has such a day") as refused:
        checked_cron(line)
    assert refused.value.code == "BAD_SCHEDULE"


def _item(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda both: f"{min(both)}-{max(both)}")
    whole = st.one_of(st.just("*"), number.map(str), span)
    return st.one_of(whole, st.tuples(whole, st.integers(1, high)).map(lambda both: f"{both[0]}/{both[1]}"))


FIELDS = [st.lists(_item(*bounds), min_size=1, max_size=3).map(",".join)
          for bounds in ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))]  # fmt: skip


@given(st.tuples(*FIELDS).map(" ".join), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu"]))
@settings(max_examples=500, deadline=None)
def test_whatever_line_is_taken_has_a_next_time(line: str, zone: str) -> None:
    now = moment("2026-11-19T12:00:00")
    try:
        checked_cron(line)
    except DefinitionError:
        return
    assert next_time(line, zone, now) > now


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("2026-03-28T12:00:00", "2026-03-29T01:00:00"),  # 02:30 does not exist that night: 03:00 local
        ("2026-10-24T12:00:00", "2026-10-25T00:30:00"),  # 02:30 exists twice: the first one
        ("2026-07-01T12:00:00", "2026-07-02T00:30:00"),
    ],
)
def test_local_times_follow_the_zones_clock_changes(after: str, expected: str) -> None:
    assert next_time("30 2 * * *", "Europe/Berlin", moment(after)) == moment(expected)


def scheduled(catch_up: str) -> Triggers:
    return Triggers(schedules=(ScheduleDefinition(cron="0 6 * * *", catch_up=catch_up),))  # type: ignore[arg-type]


def test_a_schedule_pulses_at_its_time_and_not_before(world: World) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    world.deploy(pond("orders", triggers=scheduled("latest")))
    worker = world.worker()
    world.clock.time = moment("2026-01-01T05:59:59")
    world.pass_time(0)
    assert worker.claim() is None
    world.pass_time(1)
    assert worker.drain() == ["orders"]
    world.pass_time(1)
    assert worker.claim() is None


@pytest.mark.parametrize(("catch_up", "targets"), [("none", 0), ("latest", 1), ("all", 3)])
def test_missed_times_follow_catch_up(world: World, catch_up: str, targets: int) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}, triggers=scheduled(catch_up)))
    world.clock.time = moment("2026-01-03T09:00:00")
    world.pass_time(0)
    sent = world.rows("SELECT signals FROM advancements")
    assert sum(str(row["signals"]).count('"due"') for row in sent) == targets
    world.worker().drain()
    assert len(world.runs("sales")) == min(targets, 1)


def test_declared_triggers_follow_the_code_and_those_set_by_hand_stay(world: World) -> None:
    from pondage.kernel.demand.events import Tide

    world.deploy(pond("orders", triggers=Triggers(wave=True, tides=(TideDefinition(limit_us=SECOND, name="a"),))))
    world.send(Tide(pond="orders@1", limit=5 * SECOND, name="mine"))
    world.deploy(pond("orders", triggers=Triggers(tides=(TideDefinition(limit_us=2 * SECOND, name="b"),))))
    held = state(world, "orders@1")
    assert held["wave"] is None
    assert held["tides"] == {"mine": 5 * SECOND, "b": 2 * SECOND}
    world.deploy(pond("orders"))
    assert state(world, "orders@1")["tides"] == {"mine": 5 * SECOND}
    assert world.one("SELECT count(*) FROM schedules") == 0


def pulsed_at_six(world: World, day: int) -> list[str]:
    """What ran because of the schedule of that day."""
    world.clock.time = moment(f"2026-01-{day:02d}T06:00:00")
    world.pass_time(0)
    return world.worker().drain()


@pytest.mark.parametrize("silencing", [(Sleep,), (Kill,), (Kill, Clear)])
def test_a_schedule_is_silent_after_sleep_after_kill_and_after_clear_until_wake(
    world: World, silencing: tuple[type[Sleep] | type[Kill] | type[Clear], ...]
) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    world.deploy(pond("orders", triggers=scheduled("all")))
    for verb in silencing:
        world.send(verb(pond=PondKey("orders@1")))
    assert pulsed_at_six(world, 1) == []
    world.deploy(pond("orders", code="c2", triggers=scheduled("all")))
    assert pulsed_at_six(world, 2) == [], "a deploy that leaves the schedule as it was does not wake it"
    world.send(Wake(pond=PondKey("orders@1")))
    world.worker().drain()
    assert pulsed_at_six(world, 3) == ["orders"]
    assert len(world.runs("orders")) == 2, "what was missed in its sleep is not caught up with"


def test_a_paused_schedule_stays_so_when_something_else_is_deployed_and_asks_when_it_is_another(world: World) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    world.deploy(pond("orders", triggers=scheduled("latest")))
    world.send(Pause(pond=PondKey("orders@1"), name="schedule"))
    world.deploy(pond("orders", code="c2", triggers=scheduled("latest")), pond("other"))
    assert pulsed_at_six(world, 1) == []
    world.deploy(pond("orders", code="c2", triggers=scheduled("all")), pond("other"))
    assert pulsed_at_six(world, 2) == ["orders"]


def test_what_a_paused_schedule_did_not_ask_is_replayed_as_it_was(world: World) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    world.deploy(pond("orders", triggers=scheduled("latest")))
    world.send(Sleep(pond=PondKey("orders@1")))
    pulsed_at_six(world, 1)
    world.send(Resume(pond=PondKey("orders@1")))
    pulsed_at_six(world, 2)
    with world.ledger.reading() as tx:
        replayed = replay(tx, world.ledger, 1)
    assert replayed.is_complete
    assert replayed.differences == ()
