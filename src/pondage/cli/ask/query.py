"""`query`: ask the published tables something in SQL."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Literal

import click

from pondage.cli.ask.moment import as_of
from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.answer import ask, print_answer
from pondage.cli.follow.ponds import pulse_and_follow
from pondage.cli.printing.output import print_view
from pondage.define.values.names import split_key
from pondage.ledger.act.questions import words_of
from pondage.operations import demand, ponds


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
@click.option(
    "--engine",
    type=click.Choice(["spark", "duckdb"]),
    default="spark",
    show_default=True,
    help="Who answers: Spark on a worker, or DuckDB here and at once, in its own SQL.",
)
@click.option("--limit", "-n", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Rows at most.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), default=300.0, show_default=True)
@settings_and_json
def query(
    settings: Settings,
    sql: str,
    is_tap: bool,
    is_pulse: bool,
    then: str | None,
    engine: Literal["spark", "duckdb"],
    limit: int,
    timeout_s: float,
    is_json: bool,
) -> None:
    """Ask the published tables something in SQL (- reads it from the input).

    A Pond is a table of its name, a Ripple is pond.ripple: `SELECT * FROM reports`. Only questions are answered: a
    query can change nothing and read no files. What it sees is the last completed Run of each Pond: of the newest major
    version that has one, or of the one that is named (reports@1).

    With --as-of a time it sees the newest data that is not fresher than that; with --as-of a Run that Run, what it read
    of its Sources, and everything else as fresh as it was. Only what is still retained can be read.

    With --engine duckdb no worker is needed; a Ripple is one quoted name there: `SELECT * FROM "sales.clean"`.
    """
    from pondage.project.sql import tables_or_none, with_majors_quoted

    if sum((is_tap, is_pulse, then is not None)) > 1:
        raise click.UsageError("give only one of --tap, --pulse and --as-of")
    text = sys.stdin.read() if sql == "-" else sql
    text = text if engine == "duckdb" else with_majors_quoted(text)
    tables = tables_or_none(text)
    needs_workers = engine == "spark" or is_pulse
    with desk(settings) as opened, opened.workers() if needs_workers else nullcontext():
        moment = None if then is None else as_of(opened, then)
        if is_tap or is_pulse:
            keys = _ponds(opened, text, tables)
            if is_tap:
                _tap(opened, keys)
            elif keys:
                pulse_and_follow(settings, opened, *keys, timeout_s=timeout_s, is_quiet=is_json)
        answer = ask(opened, text, limit=limit, timeout_s=timeout_s, as_of=moment, engine=engine)
    print_view(answer, lambda: print_answer(settings, answer), is_json=is_json)


def _ponds(opened: Desk, sql: str, tables: frozenset[str] | None) -> list[str]:
    """Answer the keys of the Ponds that a question reads: those it names with a major version, and else, as a query
    does, the newest that has published."""
    names = words_of(sql) if tables is None else tables
    there = opened.ask(ponds.status).ponds
    newest = sorted(there, key=lambda pond: (pond.freshness is not None, split_key(pond.key)[1]))
    meant = {pond.name: pond.key for pond in newest if pond.name in names}
    return list(dict.fromkeys([*meant.values(), *(pond.key for pond in there if pond.key in names)]))


def _tap(opened: Desk, keys: list[str]) -> None:
    for key in keys:
        opened.ask(demand.tap, pond=key)
        click.echo(f"{key} was tapped; the rows here are those of before", err=True)
