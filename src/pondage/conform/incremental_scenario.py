"""The cases of incremental maintenance: a query, its tables, how they change, and what must come out each time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Literal

import msgspec

from pondage.errors import PondageError
from pondage.plan.incremental.algebra import Sign
from pondage.plan.incremental.recipe import How

Row = list[object]

_NEEDS_MORE = frozenset({"left_join_distinct"})
"""Cases whose strongest strategy finds its keys by a query of its own, which is not built: everything is computed."""


_IN_PONDS = frozenset({"nothing", "append", "keyed"})


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What comes and goes in one table; an updated row does both."""

    plus: list[Row] = []
    minus: list[Row] = []


class CaseTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table as it is before the first step; `schema` is Spark's DDL."""

    schema: str
    rows: list[Row]
    mode: Literal["append", "merge", "bag"]

    @property
    def sign(self) -> Sign:
        """Answer how a table of this mode may change."""
        return Sign.APPEND if self.mode == "append" else Sign.CHANGE


class IncrementalCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case. `expected` is the result before the first step and after each, as a bag."""

    name: str
    sql: str
    tables: dict[str, CaseTable]
    steps: list[dict[str, Change]]
    columns: list[list[str]]
    expected: list[list[Row]]
    strongest: str = "any"
    trap: str = ""

    def versions(self, table: str) -> list[list[Row]]:
        """Answer the rows of a table before the first step and after each."""
        rows = list(self.tables[table].rows)
        found = [rows]
        for step in self.steps:
            change = step.get(table, Change())
            rows = list(rows)
            for gone in change.minus:
                rows.remove(gone)
            rows.extend(change.plus)
            found.append(rows)
        return found

    def is_too_weak(self, how: str) -> bool:
        """Answer whether a strategy is weaker than the strongest that is provably right here."""
        if self.strongest in ("any", "full") or self.name in _NEEDS_MORE:
            return False
        return _strength(how) > _strength(self.strongest)

    def is_too_weak_in_ponds(self, how: str) -> bool:
        """Answer the same of Ponds, which keep no states yet and go through no table row by row."""
        return self.strongest in _IN_PONDS and self.is_too_weak(how)


def read_incremental_cases(paths: Iterable[Path], only: str | None = None) -> list[IncrementalCase]:
    """Read the cases of these files, and of the `*.json` files of these directories, in order of their names.

    `only` is the name of the one that is wanted. Raises `PondageError` for a file that is not one, and for no case.
    """
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    found = [case for case in map(_read, files) if only in (None, case.name)]
    if not found:
        missing = "there is no case there" if only is None else f"no case has the name {only}"
        raise PondageError(missing, code="NOT_FOUND")
    return found


def _read(file: Path) -> IncrementalCase:
    try:
        return msgspec.json.decode(file.read_bytes(), type=IncrementalCase)
    except (OSError, msgspec.DecodeError) as error:
        raise PondageError(
            f"{file} is not a case of incremental maintenance: {error}",
            hint="conformance/incremental/README.md says what is in one",
            code="BAD_SCENARIO",
        ) from error


def is_same_bag(one: Sequence[Sequence[object]], other: Sequence[Sequence[object]]) -> bool:
    """Answer whether two bags have the same rows, each as often; doubles may differ by 1e-9 of themselves."""
    if len(one) != len(other):
        return False
    left, right = sorted(one, key=_order), sorted(other, key=_order)
    return all(
        _is_same(a, b) for mine, theirs in zip(left, right, strict=True) for a, b in zip(mine, theirs, strict=True)
    )


def plain(value: object) -> object:
    """Answer a value of a result as the cases write it: decimals, dates and times as text."""
    match value:
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.isoformat(sep=" ")
        case date():
            return value.isoformat()
        case list() | tuple():
            return [plain(each) for each in value]
        case Mapping():
            return {key: plain(each) for key, each in value.items()}
        case _:
            return value


def _order(row: Sequence[object]) -> str:
    # Doubles that differ in the last place must come in the same order.
    return json.dumps([f"{each:.6g}" if isinstance(each, float) else each for each in row], default=str)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return one == other


def _strength(how: str) -> float:
    """Answer a number that is higher for weaker strategies; a tip makes one weaker, but not as weak as the next."""
    name, _, tip = how.partition(",")
    return list(How).index(How(name)) + (0.5 if tip else 0)
