"""Asking a worker something and printing what it answers: rows of a query, of a sample."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal, TypeVar

import click
import msgspec

from pondage.cli.client.desk import Desk
from pondage.cli.client.settings import Settings
from pondage.cli.follow.ponds import TookTooLong
from pondage.cli.printing.output import print_table
from pondage.define.values.suggestion import nearest
from pondage.errors import PondageError
from pondage.operations import ponds
from pondage.views.words import count_text
from pondage.work.answers import QueryView

Answer = TypeVar("Answer")


def ask(
    opened: Desk,
    sql: str,
    *,
    limit: int,
    timeout_s: float = 300.0,
    as_of: int | str | None = None,
    engine: Literal["spark", "duckdb"] = "spark",
) -> QueryView:
    """Let a worker, or the embedded engine, answer a question; raises what that said, or `TookTooLong`.

    Ctrl-C withdraws it.
    """
    from pondage.operations import questions

    asked = opened.ask(questions.query, sql=sql, limit=limit, as_of=as_of, door="query", engine=engine)
    if asked.state == "done":
        return msgspec.json.decode(asked.result, type=QueryView)
    try:
        answer = answer_of(opened, asked.id, QueryView, timeout_s=timeout_s, hint="pondage show POND")
        return msgspec.structs.replace(answer, notes=asked.notes)
    except PondageError as error:
        if error.code == "NO_SUCH_TABLE":
            error.hint = _meant(opened, sql)
        elif "PATH_NOT_FOUND" in error.message:
            error.hint = "its files are gone; which, and what makes them anew: pondage restore --check"
        raise


def _meant(opened: Desk, sql: str) -> str:
    """Answer what to type about a table that is not there: the Pond that was meant, or a look at all of them."""
    from pondage.project.sql import tables_or_none

    known = {pond.name: pond for pond in opened.ask(ponds.status).ponds}
    for table in sorted(tables_or_none(sql) or ()):
        name = table.partition(".")[0]
        if name not in known:
            close = nearest(name, known)
            return f"did you mean {close}? all of them: pondage status --once" if close else "pondage status --once"
        if known[name].freshness is None:
            return f"{name} has published nothing yet: pondage run {name}"
    return "pondage show POND"


def answer_of(
    opened: Desk, asked: str, kind: type[Answer], *, timeout_s: float, hint: str, settings: Settings | None = None
) -> Answer:
    """Wait for the answer of a question, with somebody who works; raises what the worker said, or `TookTooLong`."""
    from pondage.operations import questions

    changes = opened.changes()
    # Inside, because workers that end wait for what they do; outside, because they may never have begun.
    with _withdrawn_if_left(opened, asked), opened.workers(), _withdrawn_if_left(opened, asked):
        deadline = time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            answer = opened.ask(questions.answer, answer=asked, wait=min(20.0, left_s))
            if answer.state in ("done", "failed"):
                break
            if left_s == 0.0:
                raise TookTooLong(f"no answer within {timeout_s:g} s", hint="pondage status --once")
            changes.wait(1.0)
    if answer.error is not None:
        if settings is not None and settings.is_traced and answer.trace:
            click.echo(answer.trace, err=True)
        failure = answer.error
        raise PondageError(failure.message, place=failure.place, code=failure.code, hint=_HINTS.get(failure.code, hint))
    return msgspec.json.decode(answer.result, type=kind)


_LESS = "ask for less, or give it more memory: [questions] memory in pondage.toml"
_HINTS = {
    "TIMEOUT": "ask for less, or give it more time: [questions] timeout_s in pondage.toml",
    "QUERY_LOST": _LESS,
    "OUT_OF_MEMORY": _LESS,
}
"""What to do about failures that are the same whatever was asked."""


@contextmanager
def _withdrawn_if_left(opened: Desk, asked: str) -> Iterator[None]:
    """Say that nobody waits any more when the block is left by an error, by Ctrl-C too."""
    from pondage.operations import questions

    try:
        yield
    except BaseException:
        with suppress(PondageError):
            opened.ask(questions.withdraw, answer=asked)
        raise


_NUMBERS = ("int", "bigint", "smallint", "tinyint", "long", "integer", "short", "byte", "float", "double", "decimal")


def print_answer(settings: Settings, answer: QueryView) -> None:
    """Print rows as a table."""
    numbers = [
        name for name, kind in zip(answer.columns, answer.types, strict=False) if kind.partition("(")[0] in _NUMBERS
    ]
    rows = [[value_text(value) for value in row] for row in answer.rows]
    print_table(settings, answer.columns, rows, numbers=numbers, is_endless=True)
    for note in answer.notes:
        click.echo(f"note: {note}", err=True)
    more = ", and there are more (see --limit)" if answer.truncated else ""
    click.echo(f"{count_text(len(answer.rows), 'row')}{more}")


def value_text(value: object) -> str:
    """Answer a value of a row as text: null is told from an empty text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
