"""Checking expectations without a Spark job of their own.

How each rule is answered is decided from the schema before the write: from the footers where they are sure to know,
else by one aggregate that is observed in the same pass as the write. `unknown` is never taken for `kept`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructType,
    UserDefinedType,
    VariantType,
)

from pondage.define.definition import ExpectationDefinition, Scalar
from pondage.define.snapshot import ExpectationResult
from pondage.errors import PondageError
from pondage.spark.footers import merged
from pondage.spark.write import WrittenFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHOLE_NUMBERS = (ByteType, ShortType, IntegerType, LongType)
_NESTED = (StructType, ArrayType, MapType, VariantType, UserDefinedType)
_METRICS_TIMEOUT_S = 120.0

Check = Callable[[], Column]


class ExpectationFailed(PondageError):
    """Rows break a rule whose severity is `fail`. `results` has every rule of the Ripple, kept and broken."""

    code = "EXPECTATION"

    def __init__(self, message: str, results: tuple[ExpectationResult, ...]) -> None:
        super().__init__(message, hint="nothing was published; the last good data stays")
        self.results = results


class BadExpectation(PondageError):
    """A rule that cannot be asked of this result: a column that does not exist, a bound of another type."""

    code = "BAD_EXPECTATION"


class _Question(msgspec.Struct, frozen=True, kw_only=True):
    """How one rule will be answered. `broken` is the condition of a row that breaks it; None means from the footers."""

    rule: ExpectationDefinition
    column: str = ""
    minimum: int | float | Decimal | date | None = None
    maximum: int | float | Decimal | date | None = None
    broken: Column | None = None


class ExpectationPlan:
    """The decided questions of one Ripple; used once: `observed` before the write, `results` after it."""

    def __init__(self, questions: tuple[_Question, ...]) -> None:
        self._questions = questions
        self._observation: Observation | None = None

    @classmethod
    def decide(
        cls,
        schema: StructType,
        rules: tuple[ExpectationDefinition, ...],
        checks: Mapping[str, Check],
        *,
        only: Column | None = None,
    ) -> ExpectationPlan:
        """Decide how each rule is answered; raises `BadExpectation` for one that cannot be.

        With `only` the rules judge those rows alone, but for `rows`, which counts all that are written.
        """
        return cls(tuple(_question(rule, schema, checks, only) for rule in rules))

    def observed(self, frame: DataFrame) -> DataFrame:
        """Answer the DataFrame to write: the same rows, with one aggregate on the way for each rule that needs it."""
        aggregates = [
            F.count(F.when(question.broken, F.lit(1))).alias(f"broken_{number}")
            for number, question in enumerate(self._questions)
            if question.broken is not None
        ]
        if not aggregates:
            return frame
        self._observation = Observation()
        return frame.observe(self._observation, *aggregates)

    def results(self, written: WrittenFiles) -> tuple[ExpectationResult, ...]:
        """Answer how every rule went. The write must have succeeded: only then are the observed numbers there."""
        metrics = {} if self._observation is None else _metrics(self._observation)
        return tuple(
            _footer_result(question, written)
            if question.broken is None
            else _counted(question.rule, metrics[f"broken_{number}"], written.rows)
            for number, question in enumerate(self._questions)
        )


def require_kept(results: tuple[ExpectationResult, ...], *, where: str) -> None:
    """Raise `ExpectationFailed` when a rule of severity `fail` is broken; the message names each that is."""
    broken = [result for result in results if not result.passed and result.severity == "fail"]
    if broken:
        listed = "; ".join(f"{result.name}: {result.observed}" for result in broken)
        what = "expectation" if len(broken) == 1 else f"{len(broken)} expectations"
        raise ExpectationFailed(f"{where} breaks {what} {listed}", results)


def _question(
    rule: ExpectationDefinition, schema: StructType, checks: Mapping[str, Check], only: Column | None
) -> _Question:
    found = _asked(rule, schema, checks, is_footer_enough=only is None)
    if only is None or found.broken is None:
        return found
    return msgspec.structs.replace(found, broken=only & found.broken)


def _asked(
    rule: ExpectationDefinition, schema: StructType, checks: Mapping[str, Check], *, is_footer_enough: bool
) -> _Question:
    if rule.kind == "rows":
        return _Question(rule=rule)
    if rule.kind == "check":
        return _Question(rule=rule, broken=~F.coalesce(_checked_column(rule, checks), F.lit(False)))
    name, column, type_ = _found(rule, schema)
    is_flat = is_footer_enough and name is not None and not isinstance(type_, _NESTED)
    if rule.kind == "bad_rows":
        return _Question(rule=rule, column=name or "")
    if rule.kind == "not_null":
        # The footer of a nested column counts the nulls of its leaves, which is another question.
        return _Question(rule=rule, column=name or "", broken=None if is_flat else column.isNull())
    if rule.kind == "in_set":
        return _Question(rule=rule, broken=column.isNotNull() & ~column.isin(*rule.values))
    if is_flat and isinstance(type_, (*_WHOLE_NUMBERS, DateType, DecimalType)):
        return _Question(
            rule=rule, column=name or "",
            minimum=_bound(rule, rule.minimum, type_), maximum=_bound(rule, rule.maximum, type_),
        )  # fmt: skip
    # Texts have cut bounds, timestamps may be stored without any, and a footer is silent where there is a NaN.
    return _Question(rule=rule, broken=column.isNotNull() & _outside(rule, column, type_))


def _outside(rule: ExpectationDefinition, column: Column, type_: DataType) -> Column:
    conditions = [F.isnan(column)] if isinstance(type_, (FloatType, DoubleType)) else []
    if rule.minimum is not None:
        conditions.append(column < F.lit(rule.minimum))
    if rule.maximum is not None:
        conditions.append(column > F.lit(rule.maximum))
    outside = conditions[0]
    for condition in conditions[1:]:
        outside = outside | condition
    return outside


def _checked_column(rule: ExpectationDefinition, checks: Mapping[str, Check]) -> Column:
    if rule.name not in checks:
        raise BadExpectation(f"the code has no check named {rule.name}", hint="deploy the project again")
    column: object = checks[rule.name]()
    if not isinstance(column, Column):
        raise BadExpectation(
            f"check {rule.name} returned {type(column).__name__}, not a Column",
            hint=f'write it like check("{rule.name}", lambda: F.col("amount") > 0)',
        )
    return column


def _found(rule: ExpectationDefinition, schema: StructType) -> tuple[str | None, Column, DataType]:
    """Answer the rule's column: its name when it is one of the table's own, else None for a field inside a struct."""
    wanted = rule.column or ""
    name = _spelled(schema, wanted)
    if name is not None:
        return name, F.col(_quoted(name)), schema[name].dataType
    inside: DataType = schema
    path: list[str] = []
    for part in wanted.split("."):
        step = _spelled(inside, part) if isinstance(inside, StructType) else None
        if step is None or not isinstance(inside, StructType):
            raise BadExpectation(
                f"expectation {rule.name}: the result has no column {wanted}; it has {', '.join(schema.names)}",
                hint="correct the expectation, or the name in the result",
            )
        path.append(step)
        inside = inside[step].dataType
    return None, F.col(".".join(_quoted(part) for part in path)), inside


def _spelled(schema: StructType, name: str) -> str | None:
    """Answer the column's own spelling: upper and lower case are the same to Spark."""
    if name in schema.names:
        return name
    return next((each for each in schema.names if each.casefold() == name.casefold()), None)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _bound(rule: ExpectationDefinition, bound: Scalar, type_: DataType) -> int | float | Decimal | date | None:
    if bound is None:
        return None
    try:
        if isinstance(type_, DateType):
            return date.fromisoformat(str(bound))
        return bound if isinstance(bound, (int, float)) else Decimal(bound)
    except (ValueError, InvalidOperation):
        raise BadExpectation(
            f"expectation {rule.name}: {bound!r} cannot be compared with {type_.simpleString()} values",
            hint="write a number for numbers and 2026-01-31 for dates",
        ) from None


def _footer_result(question: _Question, written: WrittenFiles) -> ExpectationResult:
    rule = question.rule
    if rule.kind == "rows":
        passed = not _is_outside(written.rows, rule.minimum, rule.maximum)
        return _result(rule, passed, f"{written.rows:,} rows")
    column = merged(written.footers, question.column)
    if rule.kind == "bad_rows":
        return _bad_rows(rule, column.nulls, written.rows)
    if rule.kind == "not_null":
        if column.nulls is None:
            return _result(rule, False, f"the files do not say how many {question.column} are null")
        return _counted(rule, column.nulls, written.rows)
    if not column.is_bounded:
        return _result(rule, False, f"the files do not say between what {question.column} lies")
    if column.minimum is None or column.maximum is None:
        return _result(rule, True, f"no value of {question.column}")
    passed = not any(
        _is_outside(value, question.minimum, question.maximum) for value in (column.minimum, column.maximum)
    )
    seen = f"{question.column} lies between {column.minimum!s} and {column.maximum!s}"
    return _result(rule, passed, seen if passed else f"{seen}, not in {_range(rule)}")


def _is_outside(value: object, minimum: object, maximum: object) -> bool:
    """Answer whether `value` is outside of the bounds; a bound of None is none. All three are of comparable types."""
    return (minimum is not None and value < minimum) or (maximum is not None and value > maximum)  # type: ignore[operator]


def _counted(rule: ExpectationDefinition, broken: int, rows: int) -> ExpectationResult:
    what = {
        "not_null": f"{rule.column} null",
        "between": f"{rule.column} outside of {_range(rule)}",
        "in_set": f"{rule.column} not in {_values(rule)}",
        "check": f"{rule.name} not true",
    }[rule.kind]
    return _result(rule, broken == 0, f"{broken:,} of {rows:,} rows have {what}")


def _bad_rows(rule: ExpectationDefinition, nulls: int | None, rows: int) -> ExpectationResult:
    if nulls is None:
        return _result(rule, False, f"the files do not say how many {rule.column} are null")
    bad, most = rows - nulls, rule.maximum
    limit = most * rows if isinstance(most, float) else most
    return _result(rule, not _is_outside(bad, None, limit), f"{bad:,} of {rows:,} rows could not be read")


def _range(rule: ExpectationDefinition) -> str:
    return f"{'' if rule.minimum is None else rule.minimum}..{'' if rule.maximum is None else rule.maximum}"


def _values(rule: ExpectationDefinition) -> str:
    shown = ", ".join(str(value) for value in rule.values[:5])
    return f"({shown}{', …' if len(rule.values) > 5 else ''})"


def _result(rule: ExpectationDefinition, passed: bool, observed: str) -> ExpectationResult:
    return ExpectationResult(name=rule.name, severity=rule.severity, passed=passed, observed=observed)


def _metrics(observation: Observation) -> dict[str, int]:
    """Answer the observed numbers. Spark hands them over on a thread of its own, shortly after the write."""
    found: dict[str, int] = {}
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            found.update(observation.get)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            problems.append(error)

    # `get` waits without a limit, and Spark drops events when it is flooded: a rule must not hang an attempt.
    thread = threading.Thread(target=ask, name="pondage-observation", daemon=True)
    thread.start()
    thread.join(_METRICS_TIMEOUT_S)
    if problems:
        raise problems[0]
    if thread.is_alive():
        raise PondageError("Spark did not report what it observed during the write", code="SPARK_LOST")
    return found
