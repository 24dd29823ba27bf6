"""`readers`: who reads which Pond, when and through which door; and the Runs of which nothing was read."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.layout import Cell
from pondage.cli.printing.output import print_table, print_title, print_view
from pondage.operations import readers as operations
from pondage.views.ponds.readers import HOUR_US, PondReaders, ReadersView
from pondage.views.ponds.unread import UnreadRuns
from pondage.views.words import age_text, count_text, duration_text, size_text

HEAT = " ▁▂▃▄▅▆▇█"


@verb
@click.argument("pond", required=False)
@click.option("--days", type=click.IntRange(1, 3_660), default=7, show_default=True, help="How far back to look.")
@settings_and_json
def readers(settings: Settings, pond: str | None, days: int, is_json: bool) -> None:
    """List who reads the Ponds, by which door, how old what they read was; and the Runs of which nothing was read.

    Of one Pond also the hours of the last week, in UTC. With --json the rows of the read log come along. Questions are
    counted, never kept. Whoever reads the files under their stable names is not seen.
    """
    view = asked(settings, operations.readers, pond=pond or "", days=days, rows=is_json)
    print_view(view, lambda: _print(settings, view, days, is_strip=pond is not None), is_json=is_json)


def _print(settings: Settings, view: ReadersView, days: int, *, is_strip: bool) -> None:
    if not view.ponds:
        click.echo(f"nobody has read anything in the last {count_text(days, 'day')}, by any door that is seen")
    elif not is_strip:
        columns = ("POND", "READS", "READ", "AGE", "LAST", "BY")
        print_table(settings, columns, [_pond(each, view.at) for each in view.ponds])
    for each in view.ponds if is_strip else ():
        print_title(f"{each.pond}: {count_text(each.reads, 'read')}, {_age(each)} old in the mean", settings)
        rows = [(one.reader, one.door, f"{one.reads:,}", age_text(one.last_at, view.at)) for one in each.readers]
        print_table(settings, ("READER", "DOOR", "READS", "LAST"), rows)
        click.echo("\n".join(strip_lines(each.week, view.week_from)))
    costly = [each for each in view.unread if each.unread]
    if costly:
        print_title("Runs of which nothing was read", settings)
        print_table(settings, ("POND", "RUNS", "UNREAD", "SPARK TIME", "UNREAD"), [_unread(each) for each in costly])


def _pond(pond: PondReaders, now: int) -> tuple[Cell | str, ...]:
    people = [f"{each.reader} ({each.door})" for each in pond.readers[:3]]
    more = [f"{len(pond.readers) - 3} more"] if len(pond.readers) > 3 else []
    return (
        pond.pond, f"{pond.reads:,}", size_text(pond.bytes), _age(pond), age_text(pond.last_at, now),
        ", ".join(people + more),
    )  # fmt: skip


def _age(pond: PondReaders) -> str:
    return duration_text(pond.age_us)


def _unread(runs: UnreadRuns) -> tuple[Cell | str, ...]:
    return (
        runs.pond, f"{runs.runs:,}", f"{runs.unread:,}", duration_text(runs.spent_us), duration_text(runs.unread_us),
    )  # fmt: skip


def strip_lines(week: tuple[int, ...], week_from: int) -> list[str]:
    """Answer the hours of a week as lines of days, the fuller the more was read."""
    most = max(week, default=0)
    days: dict[str, list[str]] = {}
    for position, count in enumerate(week):
        at = datetime.fromtimestamp((week_from + position * HOUR_US) / 1e6, UTC)
        level = 0 if not count else 1 + (count * (len(HEAT) - 2)) // most
        days.setdefault(f"{at:%a %d %b}", [" "] * 24)[at.hour] = HEAT[level] if count else "·"
    return ["           0     6     12    18", *(f"{day} {''.join(hours)}" for day, hours in days.items())]
