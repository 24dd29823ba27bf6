"""Triggers that follow their readers, on a ledger: what is stored, when it wakes, and what idle ones cost."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pondage.define.pond.definition import FollowDefinition, TideDefinition, Triggers
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Calm, Follow, Pulse, Sleep, Tide
from pondage.kernel.demand.state import PondState, decode_state
from pondage.ledger.act import questions
from pondage.ledger.act.shown_tables import Reader
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.step import advance
from pondage.ledger.tables import profiles
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.tables.read_log import ReadLog
from pondage.ledger.upkeep.replay import replay
from tests.ledger.harness import SECOND, World, pond
from tests.ledger.meter import Meter

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
DAY = 24 * HOUR
KEY = PondKey("reports@1")
FOLLOW = Follow(tz="Europe/Berlin", is_resting=True)


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()) * SECOND


@pytest.fixture
def followed(world: World) -> World:
    """A Pond that has run once, on a Monday at midnight, and a read log that is written when a test says so."""
    world.clock.time = moment("2026-03-02T00:00")
    world.ledger.reads = ReadLog(world.ledger.transaction, pause=lambda _: True)
    world.deploy(pond("reports", always=True))
    world.send(Pulse(pond=KEY))
    assert world.worker().drain() == ["reports"]
    return world


def state(followed: World) -> PondState:
    return decode_state(str(followed.one("SELECT state FROM ponds WHERE name = 'reports'")))


def read(followed: World, at: str | None = None) -> None:
    """Read as people do: a question, whose Ponds the read log writes aside."""
    if at is not None:
        live(followed, at)
    ada = Reader("ada", "query")
    tables = frozenset({"reports"})
    asked = questions.submit(followed.ledger, "main", "select * from reports", limit=1, tables=tables, reader=ada)
    questions.withdraw(followed.ledger, asked)  # there is no Spark here that would answer
    followed.ledger.reads.flush()


def live(followed: World, until: str) -> list[int]:
    """Let time pass up to a moment, with every timer in between, and a worker who works.

    Answers the minutes in which it ran.
    """
    end, ran = moment(until), []
    while (at := _next(followed)) is not None and at <= end:
        followed.clock.time = max(at, followed.clock.time)
        advance.advance_due(followed.ledger, process=None)
        if followed.worker().drain():
            ran.append(followed.clock.time // MINUTE * MINUTE)
    followed.clock.time = end
    return ran


def _next(followed: World) -> int | None:
    with followed.ledger.reading() as tx:
        return advance.next_due(tx)


def learned(followed: World) -> None:
    """Two weeks of readers, from Monday to Friday at 08:30, of a Tide of 15 minutes."""
    followed.send(Tide(pond=KEY, limit=15 * MINUTE, follow=FOLLOW))
    for day in (2, 3, 4, 5, 6, 9, 10, 11, 12, 13):
        read(followed, f"2026-03-{day:02}T08:31")


def test_a_read_ends_the_rest_and_the_trigger_rests_again_when_the_hold_is_over(followed: World) -> None:
    followed.send(Tide(pond=KEY, limit=15 * MINUTE, follow=FOLLOW))
    assert state(followed).following["tide"].is_resting
    assert followed.worker().drain() == [], "it asks for nothing"
    read(followed, "2026-03-02T08:31")
    assert followed.worker().drain() == ["reports"], "somebody reads: the data of this moment, as a Pulse would ask"
    assert not state(followed).following["tide"].is_resting
    ran = live(followed, "2026-03-02T12:00")
    assert ran == [moment("2026-03-02T08:46"), moment("2026-03-02T09:01")], "for half an hour after the last reader"
    assert state(followed).following["tide"].is_resting


def test_it_wakes_before_the_reader_who_comes_every_workday_and_not_at_the_weekend(followed: World) -> None:
    learned(followed)
    live(followed, "2026-03-13T23:00")
    assert live(followed, "2026-03-16T08:00") == [], "nobody reads on Saturday and Sunday"
    ran = live(followed, "2026-03-16T08:40")
    assert ran[0] == moment("2026-03-16T08:30"), "its Runs take no time here, so it wakes when he is expected"


def test_the_timer_is_one_row_and_goes_on_after_the_ledger_was_down_over_the_slot(followed: World) -> None:
    learned(followed)
    live(followed, "2026-03-13T23:00")
    assert followed.one("SELECT count(*) FROM signals WHERE kind = 'tick'") == 1
    followed.clock.time = moment("2026-03-16T11:00")
    advance.advance_due(followed.ledger, process=None)
    assert state(followed).following["tide"].is_resting, "the reader of 08:30 is not waited for at 11:00"
    assert followed.worker().drain() == []
    with followed.ledger.reading() as tx:
        profile = profiles.load(tx, 1, "tide")
    assert profile.missed_days == 0, "on a day on which nobody looked nobody was missed"
    ran = live(followed, "2026-03-17T08:35")
    assert ran[0] == moment("2026-03-17T08:30")


def test_after_two_days_without_the_expected_reader_it_rests_until_somebody_reads(followed: World) -> None:
    learned(followed)
    live(followed, "2026-03-13T23:00")
    ran = live(followed, "2026-04-20T00:00")
    assert {datetime.fromtimestamp(at / SECOND, BERLIN).day for at in ran} == {16, 17}
    assert _next(followed) is None, "it has no timer any more"
    read(followed, "2026-04-20T10:00")
    assert followed.worker().drain() == ["reports"]


def test_a_redeploy_that_changes_the_limit_keeps_what_was_learned_and_holds_by_the_new_one(followed: World) -> None:
    def deploy(limit: int) -> None:
        follow = FollowDefinition(tz="Europe/Berlin", is_resting=True)
        followed.deploy(pond("reports", triggers=Triggers(tides=(TideDefinition(limit_us=limit, follow=follow),))))

    deploy(15 * MINUTE)
    for day in (2, 3, 4, 5, 6):
        read(followed, f"2026-03-{day:02}T08:31")
    live(followed, "2026-03-06T08:40")
    deploy(2 * HOUR)
    following = state(followed).following["tide"]
    assert following.until == moment("2026-03-06T12:31") + 1, "twice the limit after the last read"
    ran = live(followed, "2026-03-09T08:40")
    assert ran[-1] in (moment("2026-03-09T08:29"), moment("2026-03-09T08:30")), "what was learned is still known"


def test_reads_are_told_once_a_minute_and_only_to_ponds_that_follow(followed: World) -> None:
    followed.deploy(pond("reports"), pond("other"))
    before = followed.one("SELECT count(*) FROM advancements")
    read(followed, "2026-03-02T08:00")
    assert followed.one("SELECT count(*) FROM advancements") == before, "nobody follows"
    followed.send(Tide(pond=KEY, limit=15 * MINUTE, follow=FOLLOW))
    read(followed, "2026-03-02T08:31")
    before = followed.one("SELECT count(*) FROM advancements")
    read(followed)
    read(followed, "2026-03-02T08:31:30")
    assert followed.one("SELECT count(*) FROM advancements") == before
    read(followed, "2026-03-02T08:32")
    assert followed.one("SELECT count(*) FROM advancements") != before


def test_the_history_gives_what_was_learned_again_and_a_foreign_write_is_seen(followed: World) -> None:
    learned(followed)
    live(followed, "2026-03-20T12:00")
    with followed.ledger.reading() as tx:
        replayed = replay(tx, followed.ledger, environment_id(tx, "main"))
    assert replayed.is_complete
    assert replayed.differences == ()
    with followed.ledger.transaction() as tx:
        tx.change("""UPDATE profiles SET body = replace(body, '"missed_days":', '"missed_days":1')""")
    with followed.ledger.reading() as tx:
        assert [each.pond for each in replay(tx, followed.ledger, environment_id(tx, "main")).differences] == [KEY]


def test_whoever_takes_the_trigger_away_takes_what_it_learned(followed: World) -> None:
    learned(followed)
    live(followed, "2026-03-16T00:00")
    followed.send(Calm(pond=KEY))
    assert state(followed).following == {}
    live(followed, "2026-03-16T08:31")
    before = followed.one("SELECT count(*) FROM advancements")
    read(followed)
    assert followed.one("SELECT count(*) FROM advancements") == before, "nobody is told"
    followed.send(Tide(pond=KEY, limit=15 * MINUTE, follow=FOLLOW))
    assert state(followed).following["tide"].until < 0, "another of the same name has learned nothing"
    followed.send(Sleep(pond=KEY))
    assert followed.one("SELECT count(*) FROM profiles") == 0


def test_ten_thousand_ponds_that_follow_their_readers_cost_no_more_when_idle_than_one(tmp_path: Path) -> None:
    def idle(count: int) -> tuple[int, int]:
        meters: list[Meter] = []

        def metered(clock: FakeClock) -> Driver:
            meters.append(Meter(SqliteDriver(tmp_path / f"{count}.db", clock)))
            return meters[-1]

        followed = World(metered)
        followed.clock.time = moment("2026-03-02T00:00")
        followed.deploy(pond("reports"))
        followed.send(Tide(pond=KEY, limit=15 * MINUTE, follow=FOLLOW))
        copy_pond(followed, count - 1)
        meter = meters[0]
        meter.statements, meter.visited = 0, 0
        for _ in range(10):
            followed.clock.time += MINUTE
            assert advance.advance_due(followed.ledger, process=None) == 0
            assert advance.next_in(followed.ledger) is not None
        return meter.statements, meter.visited

    assert idle(10_000) == idle(1)


def copy_pond(followed: World, count: int) -> None:
    """Make so many more of the only Pond, with its trigger, its profile and a timer of its own for tomorrow."""
    tomorrow = moment("2026-03-03T00:00")
    with followed.ledger.transaction() as tx:
        numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= {count})"
        tx.change(
            f"""INSERT INTO ponds (actor, environment, name, major, project, state, definition)
                {numbers} SELECT actor, environment, name || i, major, project, state, definition
                FROM ponds, n WHERE name = 'reports' AND i <= {count}"""
        )
        tx.change(
            """INSERT INTO profiles (pond, "trigger", body, last_read) SELECT p.id, f."trigger", f.body, f.last_read
               FROM ponds p, profiles f WHERE p.id <> f.pond"""
        )
        tx.change(
            """INSERT INTO signals (actor, kind, pond, payload, due_at)
               SELECT actor, 'tick', name || '@1', '{}', :tomorrow FROM ponds""",
            tomorrow=tomorrow,
        )
