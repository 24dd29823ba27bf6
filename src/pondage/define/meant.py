"""What somebody most likely meant by a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(wrong: str, known: Iterable[str]) -> str:
    """Answer the end of a message that names the nearest known name; nothing when none is near."""
    near = get_close_matches(wrong, list(known), n=1, cutoff=0.7)
    return f"; did you mean {near[0]!r}?" if near else ""
