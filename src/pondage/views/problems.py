"""An error as an object: what the API answers, and what is kept with a question that failed."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong: `code` is stable, `hint` says what to do next, `place` where it is."""

    code: str
    message: str
    place: str | None = None
    hint: str | None = None
