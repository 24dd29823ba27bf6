"""What somebody most likely meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(wrong: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Answer the known name that somebody most likely meant, or None."""
    found = get_close_matches(wrong, list(known), n=1, cutoff=likeness)
    return found[0] if found else None


def meant(wrong: str, known: Iterable[str]) -> str:
    """Answer the end of a message that names the nearest known name; nothing when none is near."""
    near = nearest(wrong, known, likeness=0.7)
    return "" if near is None else f"; did you mean {near!r}?"
