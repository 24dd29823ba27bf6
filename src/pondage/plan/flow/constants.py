"""Constants of a tree against the type that they say they have."""

from __future__ import annotations

from collections.abc import Iterator

from pondage.define.types.checking import Wrong, is_base64, wrong_value
from pondage.define.types.types import Type
from pondage.define.types.unify import Structures
from pondage.define.values.pointer import trail
from pondage.define.values.schema import shown


def wrong_constant(const: dict[str, object], type_: Type, structures: Structures, pointer: str) -> Iterator[Wrong]:
    """Give everything in a constant that does not fit its type. What a `ref` leads to is looked at when it is read."""
    path = trail(pointer)
    if "ref" in const:
        return
    if "bytes" in const:
        if type_.head != "Bytes":
            yield path.below("bytes"), type_, "bytes"
        elif not is_base64(const["bytes"]):
            yield path.below("bytes"), type_, f"no base64: {shown(const['bytes'])}"
        return
    value, where = const["value"], path.below("value")
    if type_.head in ("Table", "Stream"):
        if not isinstance(value, list):
            yield where, type_, shown(value)
            return
        for number, row in enumerate(value):
            yield from wrong_value(row, type_.arguments[0], structures, where.below(number))
    elif type_.head == "Value":
        yield from wrong_value(value, type_.arguments[0], structures, where)
    else:
        yield where, type_, shown(value)
