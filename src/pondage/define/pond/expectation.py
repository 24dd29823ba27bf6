"""Expectations: rules that the rows a Ripple writes must keep, or they are not published.

`rows`, `not_null`, `between`, `bad_rows` are answered from the written files' footers; `in_set`, `matches` and `check`
in the same Spark pass that writes. None of them costs a job of its own. (Rules of whole tables: `table_rules.py`.)
`severity="fail"` (the default) fails the Ripple, so that the last good data stays; `severity="warn"` records the result
and publishes. `quarantine=True` publishes without the rows that break the rule, which are set aside in a table of their
own; with `at_most=` (rows, or a share below 1) more of them fail the Ripple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from pondage.define.pond.definition import ExpectationDefinition, RuleKind, Scalar
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller, place_of_function
from pondage.errors import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import Column

Severity = Literal["fail", "warn"]


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. `function` is the author's Column of a `check`, None for every other kind.

    A `check` function takes no argument and returns a boolean Column: true for the rows that keep the rule. A null
    counts as broken.
    """

    definition: ExpectationDefinition
    function: Callable[[], Column] | None = None

    @property
    def name(self) -> str:
        """Answer the rule's name, unique within its Ripple."""
        return self.definition.name


Expectations = Iterable["Expectation | tuple[Expectation, ...]"]
"""What `expect=` takes: rules, and the groups of rules that `not_null("a", "b")` makes."""


def rows(*, min: int | None = None, max: int | None = None, severity: Severity = "fail") -> Expectation:  # noqa: A002
    """Expect at least `min` and at most `max` rows; at least one of the two must be given."""
    place = place_of_caller()
    for number in (min, max):
        if not _is_count(number):
            raise refused(f"rows() takes whole numbers from 0, not {number!r}", place)
    _checked_range("rows()", min, max, place)
    return made_rule("rows", f"rows({_range_text(min, max)})", severity, place, minimum=min, maximum=max)


def not_null(
    *columns: str, severity: Severity = "fail", quarantine: bool = False, at_most: float | None = None
) -> tuple[Expectation, ...]:
    """Expect no null in each of the columns: one rule for each column."""
    place = place_of_caller()
    if not columns:
        raise refused("not_null() needs at least one column", place)
    return tuple(
        made_rule(
            "not_null", f"not_null({checked_column(column, place)})", severity, place,
            column=column, quarantine=quarantine, at_most=at_most,
        )
        for column in columns
    )  # fmt: skip


def between(
    column: str,
    min: int | float | str | None = None,  # noqa: A002
    max: int | float | str | None = None,  # noqa: A002
    *,
    severity: Severity = "fail",
    quarantine: bool = False,
    at_most: float | None = None,
) -> Expectation:
    """Expect every value of the column that is not null to lie in `min` to `max`, both included."""
    place = place_of_caller()
    _checked_range(f"between({column!r})", min, max, place)
    name = f"between({checked_column(column, place)}, {_range_text(min, max)})"
    return made_rule(
        "between", name, severity, place,
        column=column, minimum=min, maximum=max, quarantine=quarantine, at_most=at_most,
    )  # fmt: skip


def in_set(
    column: str,
    values: Iterable[Scalar],
    *,
    severity: Severity = "fail",
    quarantine: bool = False,
    at_most: float | None = None,
) -> Expectation:
    """Expect every value of the column that is not null to be one of `values`."""
    place = place_of_caller()
    given = tuple(values) if not isinstance(values, str) else ()
    if not given or not all(isinstance(value, (str, int, float, bool)) for value in given):
        raise refused(f"in_set({column!r}) needs a list of texts, numbers or truth values", place)
    name = f"in_set({checked_column(column, place)})"
    return made_rule(
        "in_set", name, severity, place, column=column, values=given, quarantine=quarantine, at_most=at_most
    )


def matches(
    column: str,
    pattern: str,
    *,
    severity: Severity = "fail",
    quarantine: bool = False,
    at_most: float | None = None,
) -> Expectation:
    """Expect every text of the column that is not null to match the regular expression (Java's) from end to end."""
    place = place_of_caller()
    if not _is_text(pattern):
        raise refused(f"matches({column!r}) needs a regular expression, not {pattern!r}", place)
    name = f"matches({checked_column(column, place)})"
    return made_rule(
        "matches", name, severity, place, column=column, pattern=pattern, quarantine=quarantine, at_most=at_most
    )


def bad_rows(max: float, *, column: str = "_bad", severity: Severity = "fail") -> Expectation:  # noqa: A002
    """Expect at most `max` rows that `pondage.sources` could not read: a number of rows, or a share such as 0.01."""
    place = place_of_caller()
    is_share = isinstance(max, float)
    if not _is_limit(max):
        raise refused(f"bad_rows() takes a number of rows or a share below 1, not {max!r}", place)
    shown = f"{max:.3%}" if is_share else str(max)
    return made_rule(
        "bad_rows", f"bad_rows(..{shown})", severity, place, column=checked_column(column, place), maximum=max
    )


def check(
    name: str,
    column_function: Callable[[], Column],
    *,
    severity: Severity = "fail",
    quarantine: bool = False,
    at_most: float | None = None,
) -> Expectation:
    """Expect a condition of your own in every row: `check("has_total", lambda: F.col("total") > 0)`.

    The function is called by the worker only, never while a project is read, so it may use Spark's functions freely.
    """
    place = place_of_caller()
    checked_name(name, what="check", place=place)
    if not callable(column_function):
        raise refused(f"check({name!r}) needs a function that returns a Column, not {column_function!r}", place)
    code = getattr(column_function, "__code__", None)
    if code is not None and code.co_argcount > len(getattr(column_function, "__defaults__", None) or ()):
        raise refused(f"the function of check({name!r}) takes no argument", place_of_function(column_function))
    made = made_rule("check", name, severity, place, quarantine=quarantine, at_most=at_most)
    return Expectation(definition=made.definition, function=column_function)


def flattened(expectations: Expectations, *, place: str | None = None) -> tuple[Expectation, ...]:
    """Answer the rules one by one, or raise `DefinitionError` for something else or for two of one name."""
    found: dict[str, Expectation] = {}
    for each in [expectations] if isinstance(expectations, Expectation) else expectations:
        for one in each if isinstance(each, tuple) else (each,):
            if not isinstance(one, Expectation):
                raise refused(f"expect= takes expectations, not {one!r}", place)
            if one.name in found:
                raise refused(f"two expectations are named {one.name!r}", place)
            found[one.name] = one
    return tuple(found.values())


def made_rule(
    kind: RuleKind,
    name: str,
    severity: Severity,
    place: str,
    *,
    column: str | None = None,
    minimum: Scalar = None,
    maximum: Scalar = None,
    values: tuple[Scalar, ...] = (),
    columns: tuple[str, ...] = (),
    pattern: str = "",
    refers: str = "",
    key: str = "",
    within_us: int = 0,
    of_last: int = 0,
    quarantine: bool = False,
    at_most: float | None = None,
) -> Expectation:
    """Answer a rule, or raise `DefinitionError` for a severity or a limit that is none."""
    if severity not in ("fail", "warn"):
        raise refused(f'severity is "fail" or "warn", not {severity!r}', place)
    if at_most is not None and not quarantine:
        raise refused(f"{name}: at_most= limits the rows that quarantine=True sets aside", place)
    if at_most is not None and not _is_limit(at_most):
        raise refused(f"{name}: at_most= takes a number of rows or a share below 1, not {at_most!r}", place)
    return Expectation(
        definition=ExpectationDefinition(
            name=name, kind=kind, column=column, minimum=minimum, maximum=maximum, values=values, severity=severity,
            columns=columns, pattern=pattern, refers=refers, key=key, within_us=within_us, of_last=of_last,
            quarantine=quarantine, at_most=at_most,
        )
    )  # fmt: skip


def _checked_range(what: str, low: Scalar, high: Scalar, place: str) -> None:
    if low is None and high is None:
        raise refused(f"{what} needs min= or max=", place)
    both_numbers = isinstance(low, (int, float)) and isinstance(high, (int, float))
    both_texts = isinstance(low, str) and isinstance(high, str)
    if low is not None and high is not None and not both_numbers and not both_texts:
        raise refused(f"{what} compares {low!r} with {high!r}", place)
    if (both_numbers or both_texts) and low > high:  # type: ignore[operator]
        raise refused(f"{what} has min {low!r} above max {high!r}", place)


def checked_column(column: object, place: str) -> str:
    """Answer the name of a column, or raise `DefinitionError`."""
    if not isinstance(column, str) or not column:
        raise refused(f"a column is named by a text, not {column!r}", place)
    return column


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_limit(most: object) -> bool:
    """Answer whether this is a number of rows, or a share of them."""
    return 0.0 <= most < 1.0 if isinstance(most, float) else _is_count(most)


def _is_count(number: object) -> bool:
    return number is None or (isinstance(number, int) and not isinstance(number, bool) and number >= 0)


def _range_text(low: Scalar, high: Scalar) -> str:
    return f"{'' if low is None else low}..{'' if high is None else high}"


def refused(message: str, place: str | None) -> DefinitionError:
    """Answer the error for a rule that makes no sense."""
    return DefinitionError(
        message,
        hint="docs/checks.md lists every rule and what it takes",
        place=place,
        code="BAD_EXPECTATION",
    )
