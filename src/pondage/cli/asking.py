"""Asking a worker something and printing what it answers: rows of a query, of a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.following import TookTooLong
from pondage.cli.session import Session
from pondage.cli.settings import Settings
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pondage.ledger.as_of import AsOf
    from pondage.views.answers import QueryView


def ask(
    opened: Session,
    sql: str,
    *,
    limit: int,
    timeout_s: float = 300.0,
    as_of: AsOf | None = None,
    tables: frozenset[str] | None = None,
) -> QueryView:
    """Let a worker answer a question; raises what the worker said, or `TookTooLong`. Ctrl-C withdraws it."""
    import msgspec

    from pondage.ledger import queries
    from pondage.views.answers import QueryView

    asked = queries.submit(opened.ledger, opened.environment, sql, limit=limit, as_of=as_of, tables=tables)
    return msgspec.json.decode(answer_of(opened, asked, timeout_s=timeout_s, hint="pondage show POND"), type=QueryView)


def answer_of(opened: Session, asked: int, *, timeout_s: float, hint: str, settings: Settings | None = None) -> str:
    """Wait for the answer of a dispatch and answer its JSON; raises what the worker said, or `TookTooLong`."""
    import time

    from pondage.ledger import queries

    changes = opened.ledger.driver.changes()
    deadline = time.monotonic() + timeout_s
    try:
        while (answer := queries.result(opened.ledger, asked)) is None:
            if time.monotonic() >= deadline:
                raise TookTooLong(f"no answer within {timeout_s:g} s", hint="pondage status --once")
            changes.wait(1.0)
    except BaseException:
        queries.withdraw(opened.ledger, asked)
        raise
    failure = answer.failure
    if failure is not None:
        if settings is not None and settings.is_traced and failure.trace:
            click.echo(failure.trace, err=True)
        raise PondageError(failure.message, place=failure.place, code=failure.code, hint=hint)
    return answer.result or "{}"


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
