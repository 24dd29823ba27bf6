"""The shared dialect of statements in PostgreSQL's words."""

from __future__ import annotations

import re

from pondage.ledger.wire import Statement

CLOCK = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
"""In a subselect, so that a predicate with it can use an index: a bare call is evaluated for each row."""

_LOCKS = {
    "lock": "FOR NO KEY UPDATE",
    "lock skip": "FOR NO KEY UPDATE SKIP LOCKED",
    "exclusive skip": "FOR UPDATE SKIP LOCKED",
    "share": "FOR KEY SHARE",
}
_MARK = re.compile(r"/\*(lock skip|lock|exclusive skip|share)(?: of (\w+))?\*/")
_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")


def translated(statement: str, *, clock: str = CLOCK) -> Statement:
    """Answer a statement of the shared dialect in PostgreSQL's: numbered values, the server's clock, row locks."""
    names: dict[str, int] = {}

    def lock(mark: re.Match[str]) -> str:
        words = _LOCKS[mark[1]].split(" SKIP")
        table = f" OF {mark[2]}" if mark[2] else ""
        return words[0] + table + (" SKIP" + words[1] if len(words) > 1 else "")

    def value(name: re.Match[str]) -> str:
        return clock if name[1] == "clock" else f"${names.setdefault(name[1], len(names) + 1)}"

    # The clock of a test is a value itself.
    text = _NAME.sub(value, _NAME.sub(value, _MARK.sub(lock, statement)))
    return Statement(text.encode(), tuple(names))
