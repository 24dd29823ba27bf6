"""Verbs that bring data: `run` (pulse, follow, print the rows) and `query`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pondage.cli.session import Session, session, workers
from pondage.cli.settings import Settings, json_option, pass_settings, verb
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.views.answers import QueryView
    from pondage.views.status import PondView, StatusView


class RunFailed(PondageError):
    """A Run that somebody waited for did not complete."""

    code = "RUN_FAILED"


class TookTooLong(PondageError):
    """What was waited for did not come within `--timeout`. It goes on by itself."""

    code = "TIMEOUT"


@verb
@click.argument("pond", metavar="POND")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), help="Stop waiting after so many seconds.")
@click.option("--limit", "-n", type=click.IntRange(0, 10_000), default=20, show_default=True, help="Rows to print.")
@json_option
@pass_settings
def run(settings: Settings, pond: str, timeout_s: float | None, limit: int, is_json: bool) -> None:
    """Pulse a Pond, follow it until it is as fresh as now, and print its rows.

    Everything above it that is older runs first. Exit code 1 when a Run fails; what was published stays.
    Without a running `pondage dev` a supervisor is started for as long as the call lasts.
    """
    from pondage.cli.output import print_json
    from pondage.cli.triggers import find_ponds

    with session(settings) as opened:
        key = find_ponds(opened, (pond,))[0]
        with workers(opened):
            pulse_and_follow(settings, opened, key, timeout_s=timeout_s, is_quiet=is_json)
            answers = {table: ask(opened, everything_of(table), limit=limit) for table in tables_of(opened, key)}
    if is_json:
        print_json(answers)
        return
    for table, answer in answers.items():
        click.echo()
        click.echo(f"{table}:")
        print_answer(settings, answer)


def pulse_and_follow(
    settings: Settings, opened: Session, key: str, *, timeout_s: float | None = None, is_quiet: bool = False
) -> StatusView:
    """Pulse a Pond and show it and everything above it until it is fresh; raises `RunFailed` or `TookTooLong`."""
    from pondage.cli.live import follow, screen
    from pondage.kernel.demand.events import Pulse
    from pondage.kernel.demand.shape import PondKey
    from pondage.ledger.verbs import send
    from pondage.views.status import status

    with opened.ledger.reading() as tx:
        before, at = status(tx, opened.environment), tx.now
    _require_open(before, key)
    send(opened.ledger, opened.environment, Pulse(pond=PondKey(key), at=at))

    def is_over(view: StatusView) -> bool:
        pond = view.pond(key)
        return (
            pond is None or _is_fresh(pond, at) or (pond.state in ("failed", "blocked", "killed") and not pond.active)
        )

    if is_quiet:
        view = follow(opened, _Nothing(), is_over, timeout_s=timeout_s)
    else:
        with screen(settings, above(before, key)) as shown:
            view = follow(opened, shown, is_over, timeout_s=timeout_s)
    if view is None:
        raise TookTooLong(
            f"{key} is not fresh after {timeout_s:g} s; it goes on without us", hint=f"pondage why {_short(key)}"
        )
    pond = view.pond(key)
    if pond is None or not _is_fresh(pond, at):
        raise _failure(settings, opened, view, key)
    return view


class _Nothing:
    def show(self, view: StatusView, now: int, *, is_last: bool = False) -> None:
        """Show nothing."""


def _is_fresh(pond: PondView, at: int) -> bool:
    return pond.freshness is not None and pond.freshness >= at


def _short(key: str) -> str:
    return key.partition("@")[0]


def _require_open(view: StatusView, key: str) -> None:
    pond = view.pond(key)
    if pond is not None and pond.state in ("failed", "blocked", "killed") and not pond.active:
        cause = next((each for each in view.ponds if each.key in above(view, key) and each.state == "failed"), pond)
        raise RunFailed(
            f"{key} is {pond.state}, so it would not run: {pond.next.text}",
            hint=f"pondage clear {cause.name}",
            code="POND_BLOCKED",
        )


def above(view: StatusView, key: str) -> frozenset[str]:
    """Answer a Pond and everything that it reads, directly or not."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        each = waiting.pop()
        pond = view.pond(each)
        if each not in found and pond is not None:
            found.add(each)
            waiting += pond.sources
    return frozenset(found)


def _failure(settings: Settings, opened: Session, view: StatusView, key: str) -> RunFailed:
    """Answer why a Pond did not become fresh: its own failure, or that of the Pond that blocks it."""
    from pondage.views.runs import runs

    bad = [each for each in view.ponds if each.key in above(view, key) and each.state in ("failed", "killed")]
    own = view.pond(key)
    cause = own if own is not None and own in bad else next(iter(bad), own)
    name = _short(key) if cause is None else cause.name
    if cause is None or cause.state != "failed":
        state = "gone" if cause is None else cause.state
        return RunFailed(f"{name} is {state}, so {_short(key)} did not run", hint=f"pondage why {_short(key)}")
    with opened.ledger.reading() as tx:
        failed = runs(tx, opened.environment, pond=cause.key, state="failed", limit=1).runs
    if not failed or failed[0].error is None:
        return RunFailed(f"{name} failed", hint=f"pondage logs {name}")
    error = failed[0].error
    if settings.is_traced and error.trace:
        click.echo(error.trace, err=True)
    where = f"{name}.{failed[0].ripple}" if failed[0].ripple else name
    return RunFailed(
        f"{where} failed: {error.message}",
        place=error.place,
        hint=f"pondage logs {name}, and when it is mended: pondage deploy && pondage clear {name}",
        code=error.code,
    )


def tables_of(opened: Session, key: str) -> list[str]:
    """Answer how a query calls the results of a Pond."""
    from pondage.views import find
    from pondage.views.show import show_pond

    with opened.ledger.reading() as tx:
        row = find.pond(tx, find.environment_id(tx, opened.environment), key)
        shown = show_pond(tx, opened.environment, row)
    return [ripple.table for ripple in shown.ripples if ripple.is_outlet and ripple.published is not None]


def everything_of(table: str) -> str:
    """Answer the question for all rows of a table. Its name is made of checked names only."""
    return f"SELECT * FROM {table}"  # noqa: S608 - names of Ponds and Ripples are identifiers


@verb
@click.argument("sql", metavar="SQL")
@click.option("--limit", "-n", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Rows at most.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), default=300.0, show_default=True)
@json_option
@pass_settings
def query(settings: Settings, sql: str, limit: int, timeout_s: float, is_json: bool) -> None:
    """Ask the published tables something in SQL (- reads it from the input).

    A Pond is a table of its name, a Ripple is pond.ripple: `SELECT * FROM reports`. Only questions are answered: a
    query can change nothing and read no files. What it sees is the last completed Run of each Pond.
    """
    from pondage.cli.output import print_json

    text = sys.stdin.read() if sql == "-" else sql
    with session(settings) as opened, workers(opened):
        answer = ask(opened, text, limit=limit, timeout_s=timeout_s)
    if is_json:
        print_json(answer)
    else:
        print_answer(settings, answer)


def ask(opened: Session, sql: str, *, limit: int, timeout_s: float = 300.0) -> QueryView:
    """Let a worker answer a question; raises what the worker said, or `TookTooLong`. Ctrl-C withdraws it."""
    import time

    import msgspec

    from pondage.ledger import queries
    from pondage.views.answers import QueryView

    changes = opened.ledger.driver.changes()
    asked = queries.submit(opened.ledger, opened.environment, sql, limit=limit)
    deadline = time.monotonic() + timeout_s
    try:
        while (answer := queries.result(opened.ledger, asked)) is None:
            if time.monotonic() >= deadline:
                raise TookTooLong(f"no answer within {timeout_s:g} s", hint="pondage status --once")
            changes.wait(1.0)
    except BaseException:
        queries.withdraw(opened.ledger, asked)
        raise
    if answer.failure is not None:
        failure = answer.failure
        raise PondageError(failure.message, place=failure.place, code=failure.code, hint="pondage show POND")
    return msgspec.json.decode(answer.result or "{}", type=QueryView)


_NUMBERS = ("int", "bigint", "smallint", "tinyint", "long", "integer", "short", "byte", "float", "double", "decimal")


def print_answer(settings: Settings, answer: QueryView) -> None:
    """Print rows as a table."""
    from pondage.cli.output import print_table
    from pondage.views.words import count_text

    numbers = [
        name for name, kind in zip(answer.columns, answer.types, strict=False) if kind.partition("(")[0] in _NUMBERS
    ]
    print_table(
        settings, answer.columns, [[value_text(value) for value in row] for row in answer.rows], numbers=numbers
    )
    more = ", and there are more (see --limit)" if answer.truncated else ""
    click.echo(f"{count_text(len(answer.rows), 'row')}{more}")


def value_text(value: object) -> str:
    """Answer a value of a row as text: null is told from an empty text."""
    import json

    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
