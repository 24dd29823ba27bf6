"""The one sentence in which a Run of a table that is kept up to date says what it did, and why."""

from __future__ import annotations

from pondage.plan.incremental.recipe import How


def sentence(how: How, reason: str, *, changed: int, of: int, written: int, whole: int) -> str:
    """Answer it: so many of its inputs' rows changed, so many rows of the result were computed."""
    match how:
        case How.NOTHING:
            return f"{reason}, so its rows stay as they are"
        case How.APPEND:
            return f"{changed:,} of {of:,} rows are new; {reason}, so {written:,} were added to {whole:,}"
        case How.KEYED:
            return f"{changed:,} of {of:,} rows changed; {reason}, so {written:,} of {whole:,} were computed again"
    return f"everything was computed: {reason}"
