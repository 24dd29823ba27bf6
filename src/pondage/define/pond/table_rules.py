"""Expectations about a table as a whole: keys, references to other tables, age, and size beside the last ones.

`unique` and `foreign_key` read the files that were just written once more, before anybody sees them. `fresh` is seen in
the pass that writes, `volume` by the ledger: neither costs a Spark job.
"""

from __future__ import annotations

from collections.abc import Callable

from pondage.define.pond.expectation import Expectation, Severity, checked_column, made_rule, refused
from pondage.define.pond.ripple import RippleReference
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller


def unique(*columns: str, severity: Severity = "fail") -> Expectation:
    """Expect no two rows with equal values in all of these columns. A row with a null in one of them is left out.

    Of a table that grows by batches it judges one batch; `mode="merge"` keeps its keys unique by itself.
    """
    place = place_of_caller()
    if not columns:
        raise refused("unique() needs at least one column", place)
    names = tuple(dict.fromkeys(checked_column(each, place) for each in columns))
    return made_rule("unique", f"unique({', '.join(names)})", severity, place, columns=names)


def foreign_key(
    column: str,
    refers: str | RippleReference | Callable[..., object],
    *,
    severity: Severity = "fail",
    quarantine: bool = False,
    at_most: float | None = None,
) -> Expectation:
    """Expect every value of the column that is not null to be in a column of another table.

    `refers` is `"pond.ripple.column"`, `"name.column"` for a sibling Ripple (or a Pond whose Ripple has its name), or
    `source["ripple"]` or a Ripple of this Pond, whose column then has the same name. The other table is an input like
    any other: the Ripple waits for it, and is checked against the Run that it pinned.
    """
    place = place_of_caller()
    table, key = _target(checked_column(column, place), refers, place)
    name = f"foreign_key({column}, {table}.{key})"
    return made_rule(
        "foreign_key", name, severity, place,
        column=column, refers=table, key=key, quarantine=quarantine, at_most=at_most,
    )  # fmt: skip


def fresh(column: str, within: str, *, severity: Severity = "fail") -> Expectation:
    """Expect the newest value of a timestamp or date column to be at most `within` ("2h") before the Run's freshness.

    Such a result depends on the time, so it is never reused for another Run. A table without a value is not fresh.
    """
    place = place_of_caller()
    length = parsed_duration(within, what="within", place=place)
    name = f"fresh({checked_column(column, place)}, {within})"
    return made_rule("fresh", name, severity, place, column=column, within_us=length)


def volume(*, within: float, of_last: int = 5, severity: Severity = "fail") -> Expectation:
    """Expect about as many rows as before: at most the share `within` (0.5) off the median of the last snapshots.

    `of_last` says how many of them count; without any, or when they were empty, the rule is kept.
    """
    place = place_of_caller()
    if not _is_number(within, int, float) or within <= 0:
        raise refused(f"volume() takes within= as a share above 0, not {within!r}", place)
    if not _is_number(of_last, int) or not 1 <= of_last <= 100:
        raise refused(f"volume() takes of_last= from 1 to 100, not {of_last!r}", place)
    name = f"volume({within:.0%} of the last {of_last})"
    return made_rule("volume", name, severity, place, maximum=float(within), of_last=of_last)


def _is_number(value: object, *types: type) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


def _target(column: str, refers: object, place: str) -> tuple[str, str]:
    """Answer the table as a Ripple would name it, and its column."""
    if isinstance(refers, RippleReference):
        return f"{refers.pond}.{refers.ripple}", column
    if isinstance(refers, str):
        parts = refers.split(".", 2)
        if len(parts) < 2 or not parts[-1]:
            raise refused(f'foreign_key({column!r}) points to "pond.ripple.column", not {refers!r}', place)
        for each in parts[:-1]:
            checked_name(each, what="table", place=place)
        return ".".join(parts[:-1]), parts[-1]
    name = getattr(refers, "__name__", None) or getattr(refers, "name", None)
    if not callable(refers) or not isinstance(name, str):
        raise refused(f"foreign_key({column!r}) points to a table, not {refers!r}", place)
    return checked_name(name, what="Ripple", place=place), column
