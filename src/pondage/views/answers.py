"""The answer of a query, and the checks of `doctor`, as objects."""

from __future__ import annotations

import msgspec

from pondage.work.answers import SampleTable


class SampleView(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond of the project's files, tried on at most `rows` rows of each input."""

    pond: str
    version: str
    rows: int
    tables: tuple[SampleTable, ...]


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """One check: what was looked at, whether it is well, what was found, what to do."""

    check: str
    ok: bool
    detail: str = ""
    hint: str | None = None


class DoctorView(msgspec.Struct, frozen=True, kw_only=True):
    """All checks. `ok` only when every one is."""

    ok: bool
    checks: tuple[CheckView, ...]
