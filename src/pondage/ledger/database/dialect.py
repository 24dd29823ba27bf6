"""The shared dialect of statements in PostgreSQL's words."""

from __future__ import annotations

import re

from pondage.ledger.database.wire import Statement

CLOCK = "(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
"""In a subselect, so that a predicate with it can use an index: a bare call is evaluated for each row."""

STARTED = CLOCK.replace("clock_timestamp", "transaction_timestamp")
"""The time at which the transaction began: the same in all of its statements."""

_LOCKS = {
    "lock": "FOR NO KEY UPDATE",
    "lock skip": "FOR NO KEY UPDATE SKIP LOCKED",
    "exclusive": "FOR UPDATE",
    "exclusive skip": "FOR UPDATE SKIP LOCKED",
    "share": "FOR KEY SHARE",
}
_MARK = re.compile(r"/\*(lock skip|lock|exclusive skip|exclusive|share)(?: of (\w+))?\*/")
_TIME = re.compile(r"(?<!:):(?:clock|now)\b")
_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")


def translated(statement: str, *, clock: str = CLOCK, now: str = ":now") -> Statement:
    """Answer a statement of the shared dialect in PostgreSQL's: numbered values, the server's clock, row locks.

    `now` may be what the server knows itself, for statements that go out before the time has come back.
    """
    names: dict[str, int] = {}

    def lock(mark: re.Match[str]) -> str:
        words = _LOCKS[mark[1]].split(" SKIP")
        table = f" OF {mark[2]}" if mark[2] else ""
        return words[0] + table + (" SKIP" + words[1] if len(words) > 1 else "")

    def value(name: re.Match[str]) -> str:
        return f"${names.setdefault(name[1], len(names) + 1)}"

    times = {":clock": clock, ":now": now}
    timed = _TIME.sub(lambda time: times[time[0]], _MARK.sub(lock, statement))
    text = _NAME.sub(value, timed)
    return Statement(text.encode(), tuple(names))
