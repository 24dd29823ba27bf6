"""Tables in partitions: by which columns, and the values that name a partition.

Values of time are texts that sort as they follow each other: `2026`, `2026-03`, `2026-03-01`, `2026-03-01T05`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from pondage.define.values.duration import parsed_duration
from pondage.errors import DefinitionError

Unit = Literal["hour", "day", "month", "year"]
Late = Literal["refuse", "quarantine", "ignore"]
Nulls = Literal["refuse", "own"]
Expected = Literal["hourly", "daily", "monthly", "yearly"]
Partition = tuple[str | int | bool | None, ...]
"""The values that name a partition, one for each column of `by`."""

MOST_COLUMNS = 3
UNITS: dict[Unit, int] = {"year": 4, "month": 7, "day": 10, "hour": 13}
"""How many characters of a moment (`2026-03-01T05:00:00`) name a unit."""
_EXPECTED: dict[str, Unit] = {"hourly": "hour", "daily": "day", "monthly": "month", "yearly": "year"}
_MOST_VALUES = 100_000


class PartitionColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column that partitions are made by: its values, or the `unit` of its moments in a time zone."""

    column: str
    unit: Unit | None = None
    tz: str = "UTC"

    @property
    def text(self) -> str:
        """Answer it as an author writes it: `day`, `at:day`, `at:day:Europe/Berlin`."""
        if self.unit is None:
            return self.column
        return f"{self.column}:{self.unit}" + ("" if self.tz == "UTC" else f":{self.tz}")


class PartitionDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """How a table is cut into partitions, and which rows it takes.

    `has_null`: rows whose value is null are a partition of their own. `within_us` says how old a partition may be that
    a Run still changes (0: any), `late` what becomes of rows of an older one. `expected` is the unit of which every
    value should be there.
    """

    by: tuple[PartitionColumn, ...]
    has_null: bool = False
    within_us: int = 0
    late: Late = "refuse"
    expected: Unit | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Answer the columns as an author writes them."""
        return tuple(each.text for each in self.by)

    @property
    def time(self) -> PartitionColumn:
        """Answer the column that says how old a partition is: the first that is derived, else the first."""
        return next((each for each in self.by if each.unit is not None), self.by[0])

    def oldest(self, freshness_us: int) -> tuple[PartitionColumn, str] | None:
        """Answer the column of time and the moment in its zone before which a partition is too old; None: never."""
        if not self.within_us:
            return None
        column = self.time
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=freshness_us - self.within_us)
        return column, moment.astimezone(ZoneInfo(column.tz)).strftime("%Y-%m-%dT%H:%M:%S")


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """The partitions that one Run of a backfill computes again. `by` are their columns, as an author writes them."""

    by: tuple[str, ...]
    partitions: tuple[Partition, ...]
    schema: str = ""
    """The columns of the table that they are part of, as Spark's JSON."""

    def among(self, schema: str, only: Iterable[str] = ()) -> tuple[tuple[PartitionColumn, ...], set[Partition]] | None:
        """Answer by which columns rows of this schema can be told to be of these partitions, with their values.

        None when they cannot: only columns of the same name and type mean the same. `only` are those that are read.
        """
        own, theirs, read = _types(self.schema), _types(schema), set(only)
        shared = [
            (place, each)
            for place, each in enumerate(parsed(self.by))
            if own.get(each.column) == theirs.get(each.column, b"") and (not read or each.column in read)
        ]
        if not shared:
            return None
        return tuple(each for _, each in shared), {
            tuple(each[place] for place, _ in shared) for each in self.partitions
        }

    def values(self, column: str) -> tuple[str | int | bool | None, ...]:
        """Answer the values of one column, each once, in the order of the partitions; raises ValueError for another."""
        place = self.by.index(column)
        return tuple(dict.fromkeys(each[place] for each in self.partitions))


def checked_partition(
    mode: str,
    by: Iterable[str],
    *,
    null: str,
    within: str | None,
    late: str,
    expected: str | None,
    place: str,
) -> PartitionDefinition | None:
    """Answer how a Pond's tables are cut, None when its mode is another; raises `DefinitionError`."""
    given = [by] if isinstance(by, str) else list(by)
    if mode != "partition":
        extra = [("by", given), ("within", within), ("expected", expected)]
        named = [name for name, value in extra if value]
        named += [name for name, value in (("null", null), ("late", late)) if value != "refuse"]
        if named:
            raise _refused(
                f'{named[0]}= is given with mode="{mode}"', f'{named[0]}= belongs to mode="partition"', place
            )
        return None
    if not 1 <= len(given) <= MOST_COLUMNS:
        raise _refused(
            f'mode="partition" with {len(given)} columns in by=',
            f'say what a partition is, with one to {MOST_COLUMNS} columns: by=["day"]',
            place,
        )
    columns = tuple(_column(each, place) for each in given)
    if len({each.text for each in columns}) < len(columns):
        raise _refused(f"by={given!r} names a column twice", "name each column once", place)
    if null not in ("refuse", "own"):
        raise _refused(f"null is {null!r}", 'choose "refuse" or "own"', place)
    if late not in ("refuse", "quarantine", "ignore"):
        raise _refused(f"late is {late!r}", 'choose "refuse", "quarantine" or "ignore"', place)
    if late != "refuse" and within is None:
        raise _refused(f'late="{late}" without within=', 'say from when on rows are late: within="90d"', place)
    if expected is not None and expected not in _EXPECTED:
        raise _refused(f"expected is {expected!r}", 'choose "hourly", "daily", "monthly" or "yearly"', place)
    unit = None if expected is None else _EXPECTED[expected]
    made = PartitionDefinition(
        by=columns,
        has_null=null == "own",
        within_us=0 if within is None else parsed_duration(within, what="within", place=place),
        late=late,  # type: ignore[arg-type]  # checked above
        expected=unit,
    )
    if unit is not None and made.time.unit not in (None, unit):
        raise _refused(
            f'expected="{expected}" with by={given!r}', f"{made.time.text} gives a partition for each {made.time.unit}",
            place,
        )  # fmt: skip
    return made


def _column(text: object, place: str) -> PartitionColumn:
    if not isinstance(text, str) or not text:
        raise _refused(f"by= takes names of columns, not {text!r}", 'write by=["day"] or by=["at:day"]', place)
    column, _, rest = text.partition(":")
    if not rest:
        return PartitionColumn(column=text)
    unit, _, tz = rest.partition(":")
    if unit not in UNITS or not column:
        raise _refused(f"by= has {text!r}", 'write "at:day": hour, day, month or year of a column', place)
    try:
        ZoneInfo(tz or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise _refused(
            f"by= has {text!r}, and there is no time zone {tz!r}", 'write "at:day:Europe/Berlin"', place
        ) from None
    return PartitionColumn(column=column, unit=unit, tz=tz or "UTC")


def parsed(texts: Iterable[str]) -> tuple[PartitionColumn, ...]:
    """Answer the columns of `by` that were written down as texts."""
    return tuple(_column(each, "") for each in texts)


def as_text(value: str | int | bool) -> str:
    """Answer a value as Spark casts it to a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def unit_of(value: object) -> Unit | None:
    """Answer which unit of time a value names, None when it is no time."""
    found = None if not isinstance(value, str) else next((u for u, size in UNITS.items() if size == len(value)), None)
    try:
        return None if found is None or _text(_start(str(value)), found) != value else found
    except ValueError:
        return None


def missing(values: Iterable[str], unit: Unit) -> list[str]:
    """Answer the values of a unit between the first and the last that are not among these."""
    there = {value for value in values if unit_of(value) == unit}
    if not there:
        return []
    return [value for value in _between(_start(min(there)), _start(max(there)), unit) if value not in there]


def between(first: str, last: str) -> list[str]:
    """Answer the values of time from one to another, both included; the unit is that of the first."""
    unit = unit_of(first)
    if unit is None or unit_of(last) is None:
        return []
    end = _next(_start(last), unit_of(last) or unit) - timedelta(microseconds=1)
    return list(_between(_start(first), end, unit))


def start_us(value: str) -> int:
    """Answer when a value of time begins, in microseconds."""
    return (_start(value) - _start("1970")) // timedelta(microseconds=1)


def around(value: str, *, before_us: int, after_us: int) -> list[str] | None:
    """Answer the values of the same unit that lie up to so long before and after this one; None: it is no time."""
    unit = unit_of(value)
    if unit is None:
        return None
    start = _start(value)
    end = _next(start, unit) - timedelta(microseconds=1)
    return list(_between(start - timedelta(microseconds=before_us), end + timedelta(microseconds=after_us), unit))


def _between(first: datetime, last: datetime, unit: Unit) -> Iterator[str]:
    at = _start(_text(first, unit))
    for _ in range(_MOST_VALUES):
        if at > last:
            return
        yield _text(at, unit)
        at = _next(at, unit)


def _next(at: datetime, unit: Unit) -> datetime:
    match unit:
        case "hour":
            return at + timedelta(hours=1)
        case "day":
            return at + timedelta(days=1)
        case "month":
            return at.replace(year=at.year + at.month // 12, month=at.month % 12 + 1)
    return at.replace(year=at.year + 1)


def _start(value: str) -> datetime:
    return datetime.fromisoformat(value + "0001-01-01T00:00:00"[len(value) :])


def _text(at: datetime, unit: Unit) -> str:
    return at.isoformat()[: UNITS[unit]]


def _refused(message: str, hint: str, place: str) -> DefinitionError:
    return DefinitionError(message, hint=hint, place=place, code="BAD_PARTITION")


def _types(schema: str) -> dict[str, bytes]:
    fields = msgspec.json.decode(schema)["fields"] if schema else []
    return {each["name"]: msgspec.json.encode(each["type"]) for each in fields}
