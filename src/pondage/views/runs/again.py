"""Work that waits after it was tried before: what became of it then, in words."""

from __future__ import annotations

from pondage.views.words import age_text


def crash_text(crashes: int, budget: int, *, is_isolated: bool) -> str:
    """Answer how work goes on that was near a crash: `tried alone after a crash, 2 of 4 used`.

    Alone when several pieces of work died with the same process: which of them took it down shows itself then, and
    none of those crashes is used.
    """
    return f"tried {'alone' if is_isolated else 'again'} after a crash, {crashes} of {budget} used"


def wait_text(available_at: int, now: int, *, epoch: int, reason: str) -> str:
    """Answer what happens at a moment: `is tried again in 4 s`, or `starts in 1 s` when nothing was tried before."""
    is_again = epoch > 0 or reason == "retry"
    return f"{'is tried again' if is_again else 'starts'} {age_text(available_at, now)}"
