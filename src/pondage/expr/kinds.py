"""The kinds of an expression over typed columns, told without a row: what can never be computed is said before a run.

The rules are those of the expression language on Columns. Where a kind is not known nothing is said about it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

import msgspec

from pondage.expr.nodes import Binary, Call, Compare, Constant, Dot, Item, Logic, Name, Node, Sequence, Unary
from pondage.expr.show import shown

NUMBERS = frozenset({"int", "decimal", "float"})
MOMENTS = frozenset({"date", "timestamp", "timestamp_ntz"})
_NO_ORDER = frozenset({"null", "row", "list", "other"})
_TEXT_FUNCTIONS = {"lower": "text", "upper": "text", "startswith": "bool", "endswith": "bool"}


class Shape(msgspec.Struct, frozen=True):
    """A kind (`int`, `text`, `list` …; empty when unknown), with that of a list's elements or a row's fields."""

    kind: str = ""
    element: Shape | None = None
    fields: Mapping[str, Shape] = {}
    literal: str | None = None
    """A text as it is written in the expression: beside a date it is read as one."""

    @property
    def is_number(self) -> bool:
        """Is it a number?"""
        return self.kind in NUMBERS


UNKNOWN = Shape()


class KindClash(Exception):
    """An expression puts together what does not belong together; the message shows the part that does."""


def shape_of(node: Node, columns: Mapping[str, Shape]) -> Shape:
    """Answer the shape of what an expression gives; raises `KindClash` when it cannot give anything in any row."""
    return _Walk(columns).visit(node)


class _Walk:
    def __init__(self, columns: Mapping[str, Shape]) -> None:
        self.columns = columns

    def visit(self, node: Node) -> Shape:
        try:
            return self.look(node)
        except _Wrong as wrong:
            raise KindClash(f"{wrong}: in {shown(node)}") from None

    def look(self, node: Node) -> Shape:
        match node:
            case Constant():
                return _constant(node.value)
            case Name("global" | "context"):
                raise _Wrong(f"{node.name} is no value")
            case Name():
                return self.columns.get(node.name, UNKNOWN)
            case Dot():
                return self.field(node.value, node.field)
            case Item(key=Constant(value=str() as field)):
                return self.field(node.value, field)
            case Item():
                return _element(self.visit(node.value), self.visit(node.key), shown(node.value))
            case Unary():
                value = self.visit(node.value)
                return Shape("bool") if node.operator == "not" else _number(node.operator, value)
            case Binary():
                return _arithmetic(node.operator, self.visit(node.left), self.visit(node.right))
            case Compare():
                for at, operator in enumerate(node.operators):
                    self.compare(operator, node.values[at], node.values[at + 1])
                return Shape("bool")
            case Logic():
                return _of_one_kind(f"`{node.operator}`", [self.visit(value) for value in node.values])
            case Sequence():
                raise _Wrong("a list can only stand on the right of `in`")
            case Call():
                return _called(node.function, [self.visit(argument) for argument in node.arguments])

    def field(self, of: Node, name: str) -> Shape:
        if isinstance(of, Name) and of.name in ("global", "context"):
            return UNKNOWN
        value = self.visit(of)
        if not value.kind:
            return UNKNOWN
        if value.kind != "row":
            raise _Wrong(f"{shown(of)} has no fields")
        if name not in value.fields:
            raise _Wrong(f"{shown(of)} has no field {name!r}")
        return value.fields[name]

    def compare(self, operator: str, left: Node, right: Node) -> None:
        value = self.visit(left)
        if operator not in ("in", "not in"):
            other = self.visit(right)
            _alike(value, other)
            if operator not in ("==", "!="):
                _require_order(value, other)
        elif isinstance(right, Sequence):
            for one in right.values:
                _alike(value, self.visit(one))
        else:
            _contained(value, self.visit(right))


class _Wrong(Exception):
    """What is wrong; where is added by the walk."""


def _constant(value: object) -> Shape:
    match value:
        case None:
            return Shape("null")
        case bool():
            return Shape("bool")
        case int():
            if not -(2**63) <= value < 2**63:
                raise _Wrong(f"{value} does not fit into 64 bits")
            return Shape("int")
        case float():
            return Shape("float")
        case _:
            return Shape("text", literal=str(value))


def _element(value: Shape, key: Shape, place: str) -> Shape:
    if key.kind not in ("", "int"):
        raise _Wrong("an index is a whole number")
    if value.kind in ("", "text"):
        return Shape(value.kind)
    if value.kind != "list":
        raise _Wrong(f"{place} has no elements")
    return value.element or UNKNOWN


def _number(name: str, value: Shape) -> Shape:
    if value.kind and not value.is_number:
        raise _Wrong(f"`{name}` takes numbers, not {value.kind}")
    return Shape(value.kind)


def _arithmetic(operator: str, left: Shape, right: Shape) -> Shape:
    kinds = {left.kind, right.kind}
    if operator == "+" and "text" in kinds and kinds <= {"", "text"}:
        return Shape("text" if kinds == {"text"} else "")
    for value in (left, right):
        _number(operator, value)
    if "" in kinds:
        return UNKNOWN
    kind = "float" if "float" in kinds else "decimal" if "decimal" in kinds else "int"
    return Shape("float" if operator == "/" and kind == "int" else kind)


def _alike(left: Shape, right: Shape) -> None:
    kinds = {left.kind, right.kind}
    if len(kinds) == 1 or kinds & {"", "null"} or (left.is_number and right.is_number):
        return
    moments = kinds & MOMENTS
    if moments and "text" in kinds:
        text = left if left.kind == "text" else right
        (kind,) = moments
        if text.literal is None:
            raise _Wrong(f"only a written text can be compared with a {kind}")
        _require_moment(text.literal, kind)
        return
    raise _Wrong(f"{left.kind} cannot be compared with {right.kind}")


def _require_moment(text: str, kind: str) -> None:
    try:
        (datetime.date if kind == "date" else datetime.datetime).fromisoformat(text)
    except ValueError:
        raise _Wrong(f"{text!r} is no {kind}") from None


def _require_order(left: Shape, right: Shape) -> None:
    if "null" in (left.kind, right.kind) or left.kind in _NO_ORDER or right.kind in _NO_ORDER:
        raise _Wrong(f"{left.kind or 'this'} and {right.kind or 'this'} have no order")


def _contained(left: Shape, right: Shape) -> None:
    if right.kind == "text":
        if left.kind not in ("", "text"):
            raise _Wrong(f"in a text only a text can be, not {left.kind}")
    elif right.kind == "list":
        inner = (right.element or UNKNOWN).kind
        is_number = left.is_number and inner in NUMBERS
        if inner and left.kind not in ("", "null", inner) and not is_number:
            raise _Wrong(f"{left.kind} cannot be in a list of {inner}")
    elif right.kind:
        raise _Wrong(f"{right.kind} contains nothing")


def _of_one_kind(name: str, values: Iterable[Shape]) -> Shape:
    found = list(values)
    kinds = {value.kind for value in found if value.kind not in ("", "null")}
    if len(kinds) > 1:
        raise _Wrong(f"{name} takes values of one kind, not {' and '.join(sorted(kinds))}")
    if any(not value.kind for value in found) or not kinds:
        return UNKNOWN
    return next(value for value in found if value.kind in kinds)


def _called(function: str, values: list[Shape]) -> Shape:
    first = values[0]
    if function in ("min", "max"):
        return _extreme(function, values)
    if function in _TEXT_FUNCTIONS:
        for value in values:
            if value.kind not in ("", "text"):
                raise _Wrong(f"{function} takes a text, not {value.kind}")
        return Shape(_TEXT_FUNCTIONS[function])
    if function == "len":
        if first.kind not in ("", "text", "list"):
            raise _Wrong(f"len takes a text or a list, not {first.kind}")
        return Shape("int")
    if function in ("int", "float"):
        if first.kind not in ("", "text", "bool") and not first.is_number:
            raise _Wrong(f"{function} does not read {first.kind}")
        return Shape(function)
    number = _number(function, first)
    return Shape("int") if function == "round" and len(values) == 1 else number


def _extreme(function: str, values: list[Shape]) -> Shape:
    first = values[0]
    if len(values) == 1:
        if first.kind not in ("", "list"):
            raise _Wrong(f"{function} takes several values or a list, not {first.kind}")
        return first.element or UNKNOWN
    kinds = {value.kind for value in values if value.kind}
    if len(kinds) > 1 and not kinds <= NUMBERS:
        raise _Wrong(f"{function} takes values of one kind, not {' and '.join(sorted(kinds))}")
    if kinds & _NO_ORDER:
        raise _Wrong(f"values of the kind {' and '.join(sorted(kinds))} have no order")
    if any(not value.kind for value in values):
        return UNKNOWN
    return Shape(first.kind if len(kinds) == 1 else "float" if "float" in kinds else "decimal")
