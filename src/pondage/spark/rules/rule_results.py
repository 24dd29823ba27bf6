"""From what was counted to results: which rule is kept, which is broken, in words and in numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from statistics import median

from pondage.define.pond.definition import ExpectationDefinition
from pondage.spark.files.footers import merged
from pondage.spark.files.write import WrittenFiles
from pondage.spark.rules.rules import Question
from pondage.work.snapshot import ExpectationResult

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def footer_result(question: Question, written: WrittenFiles, freshness_us: int) -> ExpectationResult:
    """Answer a rule from the footers; where they say nothing it counts as broken."""
    rule = question.rule
    if rule.kind == "rows":
        passed = not _is_outside(written.rows, rule.minimum, rule.maximum)
        return _result(rule, passed, _rows(written.rows), value=written.rows)
    column = merged(written.footers, question.column)
    if rule.kind == "bad_rows":
        return _bad_rows(rule, column.nulls, written.rows)
    if rule.kind == "not_null":
        if column.nulls is None:
            return _result(rule, False, f"the files do not say how many {question.column} are null")
        return counted(rule, column.nulls, written.rows)
    if not column.is_bounded:
        return _result(rule, False, f"the files do not say between what {question.column} lies")
    if rule.kind == "fresh":
        newest = column.maximum
        assert newest is None or isinstance(newest, date), "the rule asks for a date"
        end = None if newest is None else datetime(newest.year, newest.month, newest.day, tzinfo=UTC)
        return aged(rule, None if end is None else (end - _EPOCH) // timedelta(microseconds=1), freshness_us)
    if column.minimum is None or column.maximum is None:
        return _result(rule, True, f"no value of {question.column}")
    passed = not any(
        _is_outside(value, question.minimum, question.maximum) for value in (column.minimum, column.maximum)
    )
    seen = f"{question.column} lies between {column.minimum!s} and {column.maximum!s}"
    return _result(rule, passed, seen if passed else f"{seen}, not in {_range(rule)}")


def counted(rule: ExpectationDefinition, broken: int, rows: int) -> ExpectationResult:
    """Answer a rule of single rows, or of keys, from the number of rows that break it."""
    what = {
        "not_null": f"{rule.column} null",
        "between": f"{rule.column} outside of {_range(rule)}",
        "in_set": f"{rule.column} not in {_values(rule)}",
        "matches": f"{rule.column} not matching {rule.pattern}",
        "foreign_key": f"{rule.column} not in {rule.refers}.{rule.key}",
        "unique": f"{', '.join(rule.columns)} in common with another",
        "check": f"{rule.name} not true",
    }[rule.kind]
    return _result(rule, broken == 0, f"{broken:,} of {rows:,} rows have {what}", broken=broken)


def set_aside(rule: ExpectationDefinition, broken: int, rows: int) -> ExpectationResult:
    """Answer a rule whose breaking rows are kept out of the table: kept unless there are more than it allows."""
    plain = counted(rule, broken, rows)
    if not broken:
        return plain
    is_within = not is_over(broken, rows, rule.at_most)
    said = "set aside" if is_within else f"more than the {_limit(rule.at_most)} that may be set aside"
    return _result(rule, is_within, f"{plain.observed}: {said}", broken=broken, is_set_aside=is_within)


def aged(rule: ExpectationDefinition, newest_us: int | None, freshness_us: int) -> ExpectationResult:
    """Answer `fresh` from the newest moment; none at all is not fresh."""
    if newest_us is None:
        return _result(rule, False, f"no value of {rule.column}")
    age = freshness_us - newest_us
    shown = (_EPOCH + timedelta(microseconds=newest_us)).isoformat(timespec="seconds").replace("+00:00", "Z")
    seen = f"the newest {rule.column} is {shown}, {timedelta(seconds=abs(age) // 1_000_000)}"
    order = "before" if age >= 0 else "after"
    return _result(rule, age <= rule.within_us, f"{seen} {order} the Run's freshness", value=age / 1e6)


def beside_the_last(rule: ExpectationDefinition, rows: int, volumes: tuple[int, ...]) -> ExpectationResult:
    """Answer `volume` from the sizes of the last snapshots."""
    last = volumes[: rule.of_last]
    usual = median(last) if last else 0
    if not usual:
        return _result(
            rule, True, f"{_rows(rows)}, and nothing to compare {'it' if rows == 1 else 'them'} with", value=rows
        )
    share = rows / usual - 1.0
    assert isinstance(rule.maximum, float)
    what = f"{_rows(rows)}, {share:+.1%} beside {usual:,.0f}, the median of the last {len(last)}"
    return _result(rule, abs(share) <= rule.maximum, what, value=rows)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def is_over(broken: int, rows: int, most: float | None) -> bool:
    """Answer whether these are more rows than a number, or a share, allows; None allows all."""
    return most is not None and broken > _rows_of(most, rows)


def _rows_of(most: int | float, rows: int) -> float:
    return most * rows if isinstance(most, float) else most


def _bad_rows(rule: ExpectationDefinition, nulls: int | None, rows: int) -> ExpectationResult:
    if nulls is None:
        return _result(rule, False, f"the files do not say how many {rule.column} are null")
    bad, most = rows - nulls, rule.maximum
    assert not isinstance(most, str), "the limit is a number"
    return _result(rule, not is_over(bad, rows, most), f"{bad:,} of {rows:,} rows could not be read", broken=bad)


def _is_outside(value: object, minimum: object, maximum: object) -> bool:
    """Answer whether `value` is outside of the bounds; a bound of None is none. All three are of comparable types."""
    return (minimum is not None and value < minimum) or (maximum is not None and value > maximum)  # type: ignore[operator]


def _range(rule: ExpectationDefinition) -> str:
    return f"{'' if rule.minimum is None else rule.minimum}..{'' if rule.maximum is None else rule.maximum}"


def _values(rule: ExpectationDefinition) -> str:
    shown = ", ".join(str(value) for value in rule.values[:5])
    return f"({shown}{', …' if len(rule.values) > 5 else ''})"


def _limit(most: float | None) -> str:
    return f"{most:.3%}" if isinstance(most, float) else f"{most:,}"


def _result(
    rule: ExpectationDefinition,
    passed: bool,
    observed: str,
    *,
    broken: int | None = None,
    value: float | None = None,
    is_set_aside: bool = False,
) -> ExpectationResult:
    return ExpectationResult(
        name=rule.name, severity=rule.severity, passed=passed, observed=observed,
        broken=broken, value=value, is_set_aside=is_set_aside,
    )  # fmt: skip
