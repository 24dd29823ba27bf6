"""What workers answer to questions about data, as it is shown: rows, samples, schemas."""

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
    """The rows of one Ripple in a sample. `breaks` says how its schema breaks the contract of its major version.

    `rows` is null for a Ripple that called `run.unchanged()`: it has no rows of its own.
    """

    ripple: str
    rows: QueryView | None
    breaks: tuple[str, ...] = ()


class InferredSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The schema (Spark's JSON) that a table (`sales@1.clean`) would get, or why it is not known without running it.

    `upkeep` says of a table with `mode="auto"` what its Runs can do.
    """

    table: str
    schema: str | None = None
    upkeep: str | None = None
    breaks: tuple[str, ...] = ()
    code: str | None = None
    problem: str | None = None
    place: str | None = None


class BrokenRule(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that break one rule."""

    rule: str
    rows: QueryView
