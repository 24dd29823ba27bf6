"""The shared dialect of statements in PostgreSQL's words."""

from __future__ import annotations

import re

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


def translated(statement: str, *, clock: str = CLOCK) -> str:
    """Answer a statement of the shared dialect in PostgreSQL's: named values, the server's clock, row locks."""

    def lock(mark: re.Match[str]) -> str:
        words = _LOCKS[mark[1]].split(" SKIP")
        table = f" OF {mark[2]}" if mark[2] else ""
        return words[0] + table + (" SKIP" + words[1] if len(words) > 1 else "")

    marked = _MARK.sub(lock, statement.replace("%", "%%"))
    return _NAME.sub(lambda name: clock if name[1] == "clock" else f"%({name[1]})s", marked)
