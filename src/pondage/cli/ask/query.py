"""Verbs that bring data: `run` (pulse, follow, print the rows; or try code that is not deployed) and `query`."""

from __future__ import annotations

import sys

import click

from pondage.cli.client.desk import Desk, about, desk
from pondage.cli.client.settings import Settings, json_option, pass_settings, verb
from pondage.cli.follow.answer import ask, print_answer
from pondage.cli.follow.ponds import pulse_and_follow


@verb
@click.argument("pond", metavar="POND[.RIPPLE]")
@click.option("--sample", is_flag=True, help="Try the project's code on a few published rows. Nothing is deployed.")
@click.option(
    "--rows",
    type=click.IntRange(1, 1_000_000),
    default=1_000,
    show_default=True,
    help="With --sample: rows of each input.",
)
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), help="Stop waiting after so many seconds.")
@click.option("--limit", "-n", type=click.IntRange(0, 10_000), default=20, show_default=True, help="Rows to print.")
@json_option
@pass_settings
def run(
    settings: Settings, pond: str, sample: bool, rows: int, timeout_s: float | None, limit: int, is_json: bool
) -> None:
    """Pulse a Pond, follow it until it is as fresh as now, and print its rows.

    Everything above it that is older runs first. Exit code 1 when a Run fails; what was published stays.
    Without a running `pondage dev` a supervisor is started for as long as the call lasts.

    With --sample the code as it is in your files is run on a few rows of what its Sources have published: all Ripples
    of the Pond one after the other, or the one you name. The rows are shown, and nothing else happens: nothing is
    deployed, written or published, and expectations are not checked.
    """
    from pondage.cli.ask.pulse import find_ponds
    from pondage.cli.printing.output import print_json

    if sample:
        from pondage.cli.ask.sampling import run_sample

        run_sample(settings, pond, rows=rows, limit=limit, timeout_s=timeout_s, is_json=is_json)
        return
    if "." in pond:
        name = pond.partition(".")[0]
        raise click.UsageError(
            f"a Pond is published whole, so one Ripple alone cannot be run; try: pondage run {name}, "
            f"or to look at this one: pondage run {pond} --sample"
        )
    with desk(settings) as opened:
        key = find_ponds(opened, (pond,))[0]
        with opened.workers():
            pulse_and_follow(settings, opened, key, timeout_s=timeout_s, is_quiet=is_json)
            answers = {table: ask(opened, everything_of(table), limit=limit) for table in tables_of(opened, key)}
    if is_json:
        print_json(answers)
        return
    for table, answer in answers.items():
        click.echo()
        click.echo(f"{table}:")
        print_answer(settings, answer)


def tables_of(opened: Desk, key: str) -> list[str]:
    """Answer how a query calls the results of a Pond."""
    from pondage.cli.asks import looking
    from pondage.views.ponds.show import PondShow

    shown = opened.ask(looking.show, subject=key)
    assert isinstance(shown, PondShow), key
    return [ripple.table for ripple in shown.ripples if ripple.is_outlet and ripple.published is not None]


def everything_of(table: str) -> str:
    """Answer the question for all rows of a table. Its name is made of checked names only."""
    return f"SELECT * FROM {table}"  # noqa: S608 - names of Ponds and Ripples are identifiers


@verb
@click.argument("sql", metavar="SQL")
@click.option("--tap", "is_tap", is_flag=True, help="Tap the Ponds it reads, and do not wait: the next reader gains.")
@click.option(
    "--pulse", "is_pulse", is_flag=True, help="Pulse the Ponds it reads, wait until they are fresh, then read."
)
@click.option(
    "--as-of",
    "then",
    metavar="WHEN",
    help="Read the past: a freshness (2h is two hours ago, 2026-05-04T06:00) or a Run (its id, or sales#12).",
)
@click.option("--limit", "-n", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Rows at most.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), default=300.0, show_default=True)
@json_option
@pass_settings
def query(
    settings: Settings,
    sql: str,
    is_tap: bool,
    is_pulse: bool,
    then: str | None,
    limit: int,
    timeout_s: float,
    is_json: bool,
) -> None:
    """Ask the published tables something in SQL (- reads it from the input).

    A Pond is a table of its name, a Ripple is pond.ripple: `SELECT * FROM reports`. Only questions are answered: a
    query can change nothing and read no files. What it sees is the last completed Run of each Pond.

    With --as-of a time it sees the newest data that is not fresher than that; with --as-of a Run that Run, what it read
    of its Sources, and everything else as fresh as it was. Only what is still retained can be read.
    """
    from pondage.cli.printing.output import print_json
    from pondage.project.sql import tables_or_none

    if sum((is_tap, is_pulse, then is not None)) > 1:
        raise click.UsageError("give only one of --tap, --pulse and --as-of")
    text = sys.stdin.read() if sql == "-" else sql
    tables = tables_or_none(text)
    with desk(settings) as opened, opened.workers():
        as_of = None if then is None else _as_of(opened, then)
        if is_tap or is_pulse:
            keys = _ponds(opened, text, tables)
            if is_tap:
                _tap(opened, keys)
            elif keys:
                pulse_and_follow(settings, opened, *keys, timeout_s=timeout_s, is_quiet=is_json)
        answer = ask(opened, text, limit=limit, timeout_s=timeout_s, as_of=as_of)
    if is_json:
        print_json(answer)
    else:
        print_answer(settings, answer)


def _ponds(opened: Desk, sql: str, tables: frozenset[str] | None) -> list[str]:
    """Answer the keys of the Ponds that a question reads, of each name the newest major version, as a query does."""
    from pondage.cli.asks import looking
    from pondage.ledger.act.questions import words_of

    names = words_of(sql) if tables is None else tables
    found = {pond.name: pond.key for pond in opened.ask(looking.status).ponds if pond.name in names}
    return list(found.values())


def _tap(opened: Desk, keys: list[str]) -> None:
    from pondage.cli.asks import demanding

    for key in keys:
        opened.ask(demanding.tap, pond=key)
        click.echo(f"{key} was tapped; the rows here are those of before", err=True)


def _as_of(opened: Desk, then: str) -> int | str:
    """Answer a moment, or else what must be a Run: whoever answers knows."""
    from pondage.cli.ask.moment import parsed_moment

    at = parsed_moment(then, opened.ask(about).at)
    return then if at is None else at
