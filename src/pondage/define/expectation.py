"""Expectations: rules that the rows a Ripple writes must keep, or they are not published.

`rows`, `not_null`, `between`, `bad_rows` are answered from the written files' footers; `in_set` and `check` in the
same Spark pass that writes. None of them costs a job of its own. `severity="fail"` (the default) fails the Ripple, so
that the last good data stays; `severity="warn"` records the result and publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from pondage.define.definition import ExpectationDefinition, Scalar
from pondage.define.names import checked_name
from pondage.define.place import place_of_caller, place_of_function
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
            raise _refused(f"rows() takes whole numbers from 0, not {number!r}", place)
    _checked_range("rows()", min, max, place)
    return _expectation("rows", f"rows({_range_text(min, max)})", severity, place, minimum=min, maximum=max)


def not_null(*columns: str, severity: Severity = "fail") -> tuple[Expectation, ...]:
    """Expect no null in each of the columns: one rule for each column."""
    place = place_of_caller()
    if not columns:
        raise _refused("not_null() needs at least one column", place)
    return tuple(
        _expectation("not_null", f"not_null({_column(column, place)})", severity, place, column=column)
        for column in columns
    )


def between(
    column: str,
    min: int | float | str | None = None,  # noqa: A002
    max: int | float | str | None = None,  # noqa: A002
    *,
    severity: Severity = "fail",
) -> Expectation:
    """Expect every value of the column that is not null to lie in `min` to `max`, both included."""
    place = place_of_caller()
    _checked_range(f"between({column!r})", min, max, place)
    name = f"between({_column(column, place)}, {_range_text(min, max)})"
    return _expectation("between", name, severity, place, column=column, minimum=min, maximum=max)


def in_set(column: str, values: Iterable[Scalar], *, severity: Severity = "fail") -> Expectation:
    """Expect every value of the column that is not null to be one of `values`."""
    place = place_of_caller()
    given = tuple(values) if not isinstance(values, str) else ()
    if not given or not all(isinstance(value, (str, int, float, bool)) for value in given):
        raise _refused(f"in_set({column!r}) needs a list of texts, numbers or truth values", place)
    name = f"in_set({_column(column, place)})"
    return _expectation("in_set", name, severity, place, column=column, values=given)


def bad_rows(max: float, *, column: str = "_bad", severity: Severity = "fail") -> Expectation:  # noqa: A002
    """Expect at most `max` rows that `pondage.sources` could not read: a number of rows, or a share such as 0.01."""
    place = place_of_caller()
    is_share = not isinstance(max, int) and 0.0 <= max < 1.0
    if not is_share and not _is_count(max):
        raise _refused(f"bad_rows() takes a number of rows or a share below 1, not {max!r}", place)
    shown = f"{max:.3%}" if is_share else str(max)
    return _expectation("bad_rows", f"bad_rows(..{shown})", severity, place, column=_column(column, place), maximum=max)


def check(name: str, column_function: Callable[[], Column], *, severity: Severity = "fail") -> Expectation:
    """Expect a condition of your own in every row: `check("has_total", lambda: F.col("total") > 0)`.

    The function is called by the worker only, never while a project is read, so it may use Spark's functions freely.
    """
    place = place_of_caller()
    checked_name(name, what="check", place=place)
    if not callable(column_function):
        raise _refused(f"check({name!r}) needs a function that returns a Column, not {column_function!r}", place)
    code = getattr(column_function, "__code__", None)
    if code is not None and code.co_argcount > len(getattr(column_function, "__defaults__", None) or ()):
        raise _refused(f"the function of check({name!r}) takes no argument", place_of_function(column_function))
    made = _expectation("check", name, severity, place)
    return Expectation(definition=made.definition, function=column_function)


def flattened(expectations: Expectations, *, place: str | None = None) -> tuple[Expectation, ...]:
    """Answer the rules one by one, or raise `DefinitionError` for something else or for two of one name."""
    found: dict[str, Expectation] = {}
    for each in [expectations] if isinstance(expectations, Expectation) else expectations:
        for one in each if isinstance(each, tuple) else (each,):
            if not isinstance(one, Expectation):
                raise _refused(f"expect= takes expectations, not {one!r}", place)
            if one.name in found:
                raise _refused(f"two expectations are named {one.name!r}", place)
            found[one.name] = one
    return tuple(found.values())


def _expectation(
    kind: Literal["rows", "not_null", "between", "in_set", "check", "bad_rows"],
    name: str,
    severity: Severity,
    place: str,
    *,
    column: str | None = None,
    minimum: Scalar = None,
    maximum: Scalar = None,
    values: tuple[Scalar, ...] = (),
) -> Expectation:
    if severity not in ("fail", "warn"):
        raise _refused(f'severity is "fail" or "warn", not {severity!r}', place)
    return Expectation(
        definition=ExpectationDefinition(
            name=name, kind=kind, column=column, minimum=minimum, maximum=maximum, values=values, severity=severity
        )
    )


def _checked_range(what: str, low: Scalar, high: Scalar, place: str) -> None:
    if low is None and high is None:
        raise _refused(f"{what} needs min= or max=", place)
    both_numbers = isinstance(low, (int, float)) and isinstance(high, (int, float))
    both_texts = isinstance(low, str) and isinstance(high, str)
    if low is not None and high is not None and not both_numbers and not both_texts:
        raise _refused(f"{what} compares {low!r} with {high!r}", place)
    if (both_numbers or both_texts) and low > high:  # type: ignore[operator]
        raise _refused(f"{what} has min {low!r} above max {high!r}", place)


def _column(column: object, place: str) -> str:
    if not isinstance(column, str) or not column:
        raise _refused(f"a column is named by a text, not {column!r}", place)
    return column


def _is_count(number: object) -> bool:
    return number is None or (isinstance(number, int) and not isinstance(number, bool) and number >= 0)


def _range_text(low: Scalar, high: Scalar) -> str:
    return f"{'' if low is None else low}..{'' if high is None else high}"


def _refused(message: str, place: str | None) -> DefinitionError:
    return DefinitionError(
        message,
        hint="see `rows`, `not_null`, `between`, `in_set`, `bad_rows`, `check`",
        place=place,
        code="BAD_EXPECTATION",
    )
