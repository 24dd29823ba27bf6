"""Patterns of authors meet texts of strangers here, and here only: in a time that grows with the text and no faster.

Python's own expressions go back and try again: `^([a-z0-9]+[.-]?)+@x$` takes twice as long for each further character,
so that a text of 40 holds up whoever reads it for hours. RE2 reads a text once. What it cannot do (look around, refer
back) nobody can do within a bound, and it is refused where it is declared.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pondage.errors import PondageError

if TYPE_CHECKING:
    import re2

MOST_BYTES = 8 << 20
"""How much memory one compiled pattern may take."""
KEPT = 32
_ENDLESS = re.compile(r"(?<!\\)\{(?:\d+,)?\d{5,}")
"""RE2 takes repetitions that are too many for any number as plain characters: the fence would be another one."""


def wrong_pattern(pattern: str) -> str:
    """Answer why a text is no pattern that is matched within a bound; nothing when it is one."""
    found = _compiled(pattern)
    return found if isinstance(found, str) else ""


def mismatch(pattern: str, text: str) -> str:
    """Answer why a text does not fit a pattern anywhere; nothing when it fits. No text fits what is no pattern."""
    found = _compiled(pattern)
    if isinstance(found, str):
        return f"is held against {pattern!r}, {found}"
    try:
        is_found = found.search(text) is not None
    except UnicodeEncodeError:  # half a character, which is part of no text
        is_found = False
    return "" if is_found else f"does not match {pattern!r}"


@lru_cache(KEPT)
def _compiled(pattern: str) -> re2._Regexp | str:
    try:
        import re2
    except ImportError:
        raise PondageError("patterns need google-re2", hint="pip install google-re2", code="NO_PACKAGE") from None
    if _ENDLESS.search(pattern):
        return "which repeats too often"
    options = re2.Options()
    options.max_mem = MOST_BYTES
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        return "which is no text"
    except re2.error as error:
        why = error.args[0].decode(errors="replace")
    return f"which only going back could match ({why})" if _is_one_of_python(pattern) else f"which is none: {why}"


def _is_one_of_python(pattern: str) -> bool:
    """Answer whether a pattern is sound, and only asks for more than can be done within a bound."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True
