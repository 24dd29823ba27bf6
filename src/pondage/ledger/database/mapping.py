"""Rows to values: one function makes structs, tuples and single values of what a statement answered, on every database.

A *kind* says what a row becomes: a struct has a field for each column, a tuple an element for each column in their
order, and everything else is the one column that was asked for. What a database cannot keep is translated on the way:
a `bool` is 0 or 1, and a list, a mapping or a struct inside of a row is JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin

import msgspec

Kind = TypeVar("Kind")
Made = TypeVar("Made", bound=msgspec.Struct)
_Rows = Sequence[dict[str, object]]
_Cell = Callable[[Any], object]
_Maker = Callable[[_Rows], list[Any]]

_JSON = (list, dict, tuple, set, frozenset)


def mapped(rows: _Rows, kind: type[Kind]) -> list[Kind]:
    """Answer the rows as values of a kind. The rows are used up.

    Raises `AssertionError` for a field without a default whose column was not asked for, for a column without a field,
    and for a value that is not of its field's type, null included.
    """
    if not rows:
        return []
    maker: _Maker = _maker(kind, tuple(rows[0]))  # type: ignore[arg-type] # mypy takes a type for not hashable
    try:
        return maker(rows)
    except msgspec.ValidationError as error:
        raise AssertionError(f"{kind}: {error}") from error


def first(rows: _Rows, kind: type[Kind]) -> Kind | None:
    """Answer the first row as `mapped` does; None when there is none, or when the one column asked for is null."""
    if not rows:
        return None
    if len(rows[0]) == 1:
        (value,) = rows[0].values()
        if type(value) is kind:
            return value
        if value is None and not (_is_struct(kind) or _is_tuple(kind)):
            return None
    return mapped(rows[:1], kind)[0]


def of_row(kind: type[Made], row: msgspec.Struct, /, **others: object) -> Made:
    """Answer a struct with the fields that a row has under the same names, and with these others.

    For what is shown of a row when only some of its fields are. Raises `TypeError` for a field that nobody gives.
    """
    same = {name: getattr(row, name) for name in _shared(kind, type(row)) if name not in others}
    return kind(**same, **others)


@lru_cache(maxsize=2_000)
def _shared(kind: type[msgspec.Struct], row: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name in row.__struct_fields__)


@lru_cache(maxsize=2_000)
def _maker(kind: type, columns: tuple[str, ...]) -> _Maker:
    """Answer what makes checked values of rows with these columns."""
    cells = _taker(kind, columns)
    if _is_struct(kind):
        return lambda rows: [msgspec.convert(row, kind) for row in cells(rows)]
    # msgspec keeps what it finds out about types with a struct, and finds it out anew for everything else.
    holder = msgspec.defstruct("Rows", [("rows", list[kind])])  # type: ignore[valid-type]
    return lambda rows: msgspec.convert({"rows": cells(rows)}, holder).rows  # type: ignore[attr-defined]


def _taker(kind: type, columns: tuple[str, ...]) -> Callable[[_Rows], Sequence[Any]]:
    asked = f"{kind} of the columns {', '.join(columns)}"
    if _is_struct(kind):
        fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        needed = {name for name, field in fields.items() if field.required}
        assert needed <= set(columns) <= set(fields), f"{asked}: {', '.join(sorted(needed ^ set(columns)))}"
        return _in_place(_translated((name, fields[name].type) for name in columns))
    if _is_tuple(kind):
        types = get_args(kind)
        assert len(types) == len(columns), asked
        named = _in_place(_translated(zip(columns, types, strict=True)))
        return lambda rows: [tuple(row.values()) for row in named(rows)]
    assert len(columns) == 1, asked
    (only,) = columns
    cell = _cell(kind)
    return lambda rows: [row[only] if cell is None else cell(row[only]) for row in rows]


def _in_place(cells: list[tuple[str, _Cell]]) -> Callable[[_Rows], _Rows]:
    """Answer what translates these cells of rows, those that are null excepted."""

    def replaced(rows: _Rows) -> _Rows:
        for row in rows:
            for name, cell in cells:
                value = row[name]
                if value is not None:
                    row[name] = cell(value)
        return rows

    return replaced if cells else lambda rows: rows


def _translated(types: Iterable[tuple[str, Any]]) -> list[tuple[str, _Cell]]:
    return [(name, cell) for name, kind in types if (cell := _cell(kind)) is not None]


def _cell(kind: Any) -> _Cell | None:
    """Answer what makes a value of this type of what a database keeps; None where they are the same."""
    parts = [part for part in get_args(kind) if part is not NoneType] if NoneType in get_args(kind) else [kind]
    if parts == [bool]:
        return bool
    if any(_is_struct(part) or (get_origin(part) or part) in _JSON for part in parts):
        return msgspec.json.Decoder(kind).decode
    return None


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple and Ellipsis not in get_args(kind)
