"""Who reads, and the Runs of which nothing was read."""

from __future__ import annotations

import time

import msgspec
import pytest

from pondage.cli.look.readers import strip_lines
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import questions
from pondage.ledger.act.shown_tables import Reader
from pondage.ledger.tables.reads import Door
from pondage.operations import readers
from pondage.views.ponds.readers import DAY_US, HOUR_US, ReadersView
from tests.cli.conftest import Call
from tests.ledger.harness import SECOND, World
from tests.operations.calling import Here

HOUR = 3_600 * SECOND


def pulse(world: World, *ponds: str) -> None:
    for each in ponds:
        world.send(Pulse(pond=PondKey(f"{each}@1")))
        worker = world.worker()
        while (held := worker.claim()) is not None:
            world.clock.time += SECOND
            assert worker.finish(held)
    world.clock.time += 60 * SECOND


def read(world: World, pond: str, *, reader: str = "anna", door: Door = "query") -> None:
    asked = questions.submit(
        world.ledger, "main", f"select * from {pond}", limit=1, tables=frozenset({pond}), reader=Reader(reader, door)
    )
    questions.withdraw(world.ledger, asked)
    world.ledger.reads.flush()


def seen(world: World, **asked: object) -> ReadersView:
    return Here(world.ledger).ask(readers.readers, **asked)  # type: ignore[arg-type]


def unread(world: World) -> dict[str, tuple[int, int]]:
    return {each.pond: (each.runs, each.unread) for each in seen(world).unread}


def test_readers_are_counted_by_door_and_hour(world: World) -> None:
    world.clock.time = 30 * DAY_US + HOUR // 2
    pulse(world, "reports")
    read(world, "reports")
    read(world, "reports")
    read(world, "reports", reader="bi", door="sql")
    world.clock.time += 25 * HOUR
    read(world, "reports")
    read(world, "orders")
    view = seen(world, rows=True)
    reports, orders = view.ponds
    assert (reports.pond, reports.reads, orders.pond, orders.reads) == ("reports@1", 4, "orders@1", 1)
    assert [(each.reader, each.door, each.reads) for each in reports.readers] == [
        ("anna", "query", 3),
        ("bi", "sql", 1),
    ]
    assert [(hour, count) for hour, count in enumerate(reports.week) if count] == [(142, 3), (167, 1)]
    assert 25 * HOUR // 4 <= reports.age_us < 25 * HOUR // 4 + 10 * 60 * SECOND
    assert sum(row.count for row in view.reads) == 5
    assert seen(world).reads == (), "rows are for whoever asks for them"
    assert [each.pond for each in seen(world, pond="orders").ponds] == ["orders@1"]
    assert seen(world, days=1).ponds[0].reads == 1


def test_a_run_counts_as_read_through_what_was_made_of_it(world: World) -> None:
    pulse(world, "reports")
    read(world, "reports")
    pulse(world, "reports")
    pulse(world, "reports")
    assert unread(world) == {"orders@1": (2, 1), "sales@1": (2, 1), "reports@1": (2, 1)}
    read(world, "sales")
    pulse(world, "reports")
    assert unread(world) == {"orders@1": (3, 1), "sales@1": (3, 1), "reports@1": (3, 2)}
    most = seen(world).unread
    assert [each.unread_us for each in most] == sorted((each.unread_us for each in most), reverse=True)
    assert all(0 < each.unread_us < each.spent_us for each in most)


def test_the_run_that_is_shown_may_still_be_read(world: World) -> None:
    pulse(world, "orders")
    assert unread(world) == {}


def test_the_verb_prints_who_reads_and_what_nobody_read(world: World, call: Call) -> None:
    world.clock.time = time.time_ns() // 1_000 - HOUR
    pulse(world, "reports")
    pulse(world, "reports")
    read(world, "reports", reader="bi", door="sql")
    said = call("readers")
    assert said.code == 0, said.err
    assert "bi (sql)" in said.out
    assert "Runs of which nothing was read" in said.out
    strip = call("readers", "reports").out.splitlines()
    assert any("█" in line for line in strip)
    decoded = msgspec.convert(call("readers", "--json").json, ReadersView)
    assert [(row.pond, row.door, row.reader, row.count) for row in decoded.reads] == [("reports@1", "sql", "bi", 1)]


def test_the_verb_says_when_nobody_has_read_anything(world: World, call: Call) -> None:
    assert "nobody has read anything in the last 7 days" in call("readers").out


@pytest.mark.parametrize("most", [1, 5, 1_000])
def test_the_fullest_hour_is_full_and_no_read_is_invisible(most: int) -> None:
    week = [0] * 168
    week[0], week[30] = 1, most
    lines = strip_lines(tuple(week), 4 * DAY_US)
    assert lines[1].startswith("Mon 05 Jan ")
    assert lines[1].count("·") == 23
    assert lines[2].removeprefix("Tue 06 Jan ")[6] == "█"
    assert HOUR_US == HOUR
