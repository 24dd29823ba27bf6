"""Schedules send Pulses by the ledger's clock, and missed times follow `catch_up`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pondage.define.pond.definition import ScheduleDefinition, TideDefinition, Triggers
from pondage.ledger.tables.schedules import next_time
from tests.ledger.harness import SECOND, World, pond, state


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


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
    assert sum(str(row["signals"]).count('"pulse"') for row in sent) == targets
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
