"""The answer of a query, and the checks of `doctor`, as objects."""

from __future__ import annotations

import msgspec


class QueryView(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of an answer, each a list in the order of `columns`. `truncated`: there are more than were asked for.

    `notes` say which major version a name means where several have published.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[list[object], ...]
    truncated: bool = False
    notes: tuple[str, ...] = ()


class SampleTable(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one Ripple in a sample; null when it said that nothing changed. `breaks` is against the contract."""

    ripple: str
    rows: QueryView | None
    breaks: tuple[str, ...] = ()


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
