"""How two port types meet (flows.md 4, points 1 to 3): names first, structure otherwise, widening only when declared.

A producer's type is concrete; a consumer's may hold variables of its component. What several inputs bind
one variable to is joined, so that the order of the edges does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pondage.define.types.types import ANY, ERROR, Field, Type, parse_type, parts, resolved

_WIDER = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
    "date": ("timestamp",),
}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}

Bindings = dict[str, Type]
Structures = Mapping[str, Type]
"""What named types consist of, by `Name@major`."""


class Mismatch(Exception):
    """Two types do not meet; the text says where, `differences` each place on its own."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences


def unify(
    got: Type, want: Type, bindings: Bindings, *, accept: str = "exact", structures: Structures | None = None
) -> None:
    """Let what is produced meet what is wanted and bind the consumer's variables. Raises Mismatch with all places."""
    meeting = _Meeting(bindings, accept, structures or {})
    meeting.meet(got, want, "")
    if meeting.differences:
        raise Mismatch(meeting.differences)


def structure_of(given: Type, structures: Structures) -> Type | None:
    """Give what a Result or a named type consists of; None for anything else, and for a name that nobody explains."""
    if given.head == "Result":
        return Type("row", fields=(Field("ok", given.arguments[0]), Field("err", parse_type(ERROR))))
    if not given.is_named:
        return None
    if given.version:
        return structures.get(f"{given.head}@{given.version.partition('.')[0]}")
    fitting = [one for key, one in structures.items() if key.partition("@")[0] == given.head]
    return fitting[0] if len(fitting) == 1 else None


def explained(given: Type, structures: Structures) -> Type:
    """Put in what Results and named types consist of, everywhere inside a type; a name that nobody explains is Any."""
    inside = structure_of(given, structures)
    if inside is not None:
        return explained(inside, structures)
    # The media type of Bytes is an argument, too, but no type.
    if given.is_named or given.head == "Bytes":
        return ANY if given.is_named else given
    return msgspec.structs.replace(
        given,
        arguments=tuple(explained(one, structures) for one in given.arguments),
        fields=tuple(Field(one.name, explained(one.type, structures), one.is_nullable) for one in given.fields),
    )


class _Meeting:
    def __init__(self, bindings: Bindings, accept: str, structures: Structures) -> None:
        self.bindings = bindings
        self.accept = accept
        self.structures = structures
        self.differences: list[str] = []

    def differ(self, at: str, text: str) -> None:
        self.differences.append(f"{at or 'type'}: {text}")

    def meet(self, got: Type, want: Type, at: str) -> None:
        if want.head == "var":
            self.bind(want, got, at)
        elif "Any" in (got.head, want.head):
            self.forget(want)
        elif got.head == "row" and want.head == "row":
            self.meet_rows(got, want, at)
        elif {got.head, want.head} <= {"Table", "Stream"} or self.is_same(got, want):
            if want.is_ordered and not got.is_ordered:
                self.differ(at, f"the rows of {got.head} have no order, and are wanted ordered")
            for one, other in zip(got.arguments, want.arguments, strict=True):
                self.meet(one, other, at)
        elif want.head == "row" and (inside := structure_of(got, self.structures)) is not None:
            self.meet_rows(inside, want, at)
        elif got.is_named and want.is_named and got.head == want.head:
            self.differ(at, f"{got} and {want} are of different major versions")
        elif self.accept != "upcast" or not is_wider(want, got):
            self.differ(at, f"{got} is not {resolved(want, self.bindings)}")

    def is_same(self, got: Type, want: Type) -> bool:
        if got.head != want.head or got.numbers != want.numbers or len(got.arguments) != len(want.arguments):
            return False
        return not (got.version and want.version) or _major(got) == _major(want)

    def forget(self, want: Type) -> None:
        """What meets something unknown is unknown itself."""
        for one in parts(want):
            if one.head == "var" or one.rest:
                self.bindings[one.rest] = ANY

    def bind(self, want: Type, got: Type, at: str) -> None:
        is_row = got.head in ("row", "Any", "Result") or got.is_named
        if want.kind == "row" and not is_row:
            self.differ(at, f"{got} is no row, as {want} must be")
            return
        known = self.bindings.get(want.rest)
        found = got if known is None else joined(known, got)
        if found is None:
            self.differ(at, f"{want} is {known} and also {got}")
            return
        self.bindings[want.rest] = found

    def meet_rows(self, got: Type, want: Type, at: str) -> None:
        known = {field.name: field for field in got.fields}
        for field in want.fields:
            here = f"{at}.{field.name}" if at else field.name
            found = known.pop(field.name, None)
            if found is None:
                if self.accept == "exact" or not field.is_nullable:
                    self.differ(here, "the column is missing")
                continue
            if found.is_nullable and not field.is_nullable:
                self.differ(here, "it may be null, and is wanted not null")
            self.meet(found.type, field.type, here)
        if want.rest:
            left = Type("row", fields=tuple(known.values()))
            self.bind(Type("var", rest=want.rest, kind="row"), left, at or "row")
        elif known and self.accept == "exact":
            self.differ(at or "row", f"the columns {', '.join(known)} are too many")
        elif self.accept == "exact" and not self.differences and _names(got) != _names(want):
            self.differ(at or "row", "the columns stand in another order")


def is_wider(want: Type, got: Type) -> bool:
    """Does every value of one plain type fit into the other?"""
    if got.head == "void":
        return True
    if want.head != "decimal":
        return want.head in _WIDER.get(got.head, ())
    whole = want.numbers[0] - want.numbers[1]
    if got.head == "decimal":
        return whole >= got.numbers[0] - got.numbers[1] and want.numbers[1] >= got.numbers[1]
    return whole >= _DIGITS.get(got.head, 39)


def joined(one: Type, other: Type) -> Type | None:
    """Give the type of values of either; None when there is none. Only nullability and minor versions may differ."""
    if one == other:
        return one
    if "Any" in (one.head, other.head):
        return ANY
    same = (one.head, one.numbers, _names(one)) == (other.head, other.numbers, _names(other))
    if not same or (one.version and other.version and _major(one) != _major(other)):
        return None
    arguments = [joined(*pair) for pair in zip(one.arguments, other.arguments, strict=True)]
    types = [joined(first.type, second.type) for first, second in zip(one.fields, other.fields, strict=True)]
    if None in arguments or None in types:
        return None
    fields = tuple(
        Field(first.name, type_, first.is_nullable or second.is_nullable)
        for first, second, type_ in zip(one.fields, other.fields, types, strict=True)
        if type_ is not None
    )
    version = min(one.version, other.version, key=_numbers)
    kept = tuple(argument for argument in arguments if argument is not None)
    both = one.is_ordered and other.is_ordered
    return Type(one.head, kept, fields, one.rest, version, one.numbers, is_ordered=both)


def _names(row: Type) -> list[str]:
    return [field.name for field in row.fields]


def _major(named: Type) -> str:
    return named.version.partition(".")[0]


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part]
