"""Walking the tree with a budget of steps; the result depends on the values alone, never on a clock.

One step is one node visited, plus one for each 100 elements or 1,000 characters (nested ones counted) in the operands
of a comparison, `in`, `min` and `max`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pondage.expr.lexemes import MAX_INT_BITS
from pondage.expr.nodes import Binary, Call, Compare, Constant, Dot, Item, Logic, Name, Node, Sequence, Unary

MAX_TEXT = 10_000
MAX_DIGITS = 400
DEFAULT_STEPS = 10_000


class ExprError(Exception):
    """The evaluation failed: wrong types, a division by zero, an unknown context variable, a value out of bounds."""


class ExprTimeout(Exception):
    """The budget of steps is spent."""


class Missing(Exception):
    """A global or an after-variable does not exist; a condition is then False as a whole."""


class Environment(Protocol):
    """Where names are looked up."""

    def name(self, name: str) -> object:
        """Give the value of a bare name, or raise Missing."""

    def glob(self, key: str) -> object:
        """Give a global, or raise Missing."""

    @property
    def context(self) -> Mapping[str, object]:
        """Give the read-only context."""


def is_true(node: Node, environment: Environment, steps: int = DEFAULT_STEPS) -> bool:
    """Evaluate a condition: missing names make it False; raises ExprError or ExprTimeout."""
    try:
        return bool(evaluate(node, environment, steps))
    except Missing:
        return False


def evaluate(node: Node, environment: Environment, steps: int = DEFAULT_STEPS) -> object:
    """Evaluate an expression; raises Missing, ExprError or ExprTimeout, and nothing else."""
    try:
        return _Walk(environment, steps).visit(node)
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise ExprError(f"{type(error).__name__}: {error}") from error


class _Root:
    def __init__(self, name: str) -> None:
        self.name = name


class _Walk:
    def __init__(self, environment: Environment, steps: int) -> None:
        self.environment = environment
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise ExprTimeout("the expression exceeded its budget of steps")

    def visit(self, node: Node) -> Any:
        value = self.look(node)
        if isinstance(value, _Root):
            raise ExprError(f"{value.name} is no value; write {value.name}.NAME")
        return value

    def look(self, node: Node) -> Any:
        self.spend()
        match node:
            case Constant():
                return node.value
            case Name():
                return _Root(node.name) if node.name in ("global", "context") else self.environment.name(node.name)
            case Dot():
                return self.field(self.look(node.value), node.field)
            case Item():
                return self.field(self.look(node.value), self.visit(node.key))
            case Unary():
                return self.unary(node)
            case Binary():
                return _bounded(_ARITHMETIC[node.operator](self.visit(node.left), self.visit(node.right)))
            case Compare():
                return self.compare(node)
            case Logic():
                return self.logic(node)
            case Sequence():
                return [self.visit(value) for value in node.values]
            case Call():
                return self.call(node)

    def field(self, value: object, key: object) -> object:
        if isinstance(value, _Root):
            if not isinstance(key, str):
                raise ExprError(f"{value.name}[…] takes a text")
            if value.name == "global":
                return self.environment.glob(key)
            if key not in self.environment.context:
                raise ExprError(f"the context has no variable {key!r}")
            return self.environment.context[key]
        if isinstance(value, dict):
            if key not in value:
                raise Missing(key)
            return value[key]
        if isinstance(value, list | tuple | str) and isinstance(key, int) and not isinstance(key, bool):
            return value[key]
        raise ExprError(f"{_kind(value)} has no {key!r}")

    def unary(self, node: Unary) -> object:
        value = self.visit(node.value)
        if node.operator == "not":
            return not value
        number = _number(value, node.operator)
        return -number if node.operator == "-" else number

    def compare(self, node: Compare) -> bool:
        left = self.visit(node.values[0])
        for operator, following in zip(node.operators, node.values[1:], strict=True):
            right = self.visit(following)
            self.spend(_weight(left) + _weight(right))
            if not _COMPARISONS[operator](left, right):
                return False
            left = right
        return True

    def logic(self, node: Logic) -> object:
        value: object = None
        for operand in node.values:
            value = self.visit(operand)
            if bool(value) == (node.operator == "or"):
                return value
        return value

    def call(self, node: Call) -> object:
        values = [self.visit(argument) for argument in node.arguments]
        if node.function in ("min", "max"):
            self.spend(sum(_weight(value) for value in values))
        return _bounded(_FUNCTIONS[node.function](*values))


def _weight(value: object) -> int:
    elements, characters, stack = 0, 0, [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, dict):
            elements += len(one)
            stack.extend(one.values())
            characters += sum(len(key) for key in one if isinstance(key, str))
        elif isinstance(one, list | tuple):
            elements += len(one)
            stack.extend(one)
    return elements // 100 + characters // 1_000


def _kind(value: object) -> str:
    return type(value).__name__


def _number(value: object, operator: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ExprError(f"TypeError: {operator} takes numbers, not {_kind(value)}")
    return value


def _bounded(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > MAX_INT_BITS:
        raise ExprError(f"integers have at most {MAX_INT_BITS} bits")
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise ExprError(f"texts have at most {MAX_TEXT} characters")
    return value


def _plus(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MAX_TEXT:
            raise ExprError(f"texts have at most {MAX_TEXT} characters")
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        if len(left) + len(right) > MAX_TEXT:
            raise ExprError(f"lists have at most {MAX_TEXT} elements")
        return left + right
    return _number(left, "+") + _number(right, "+")


def _arithmetic(sign: str, operate: Callable[[Any, Any], object]) -> Callable[[Any, Any], object]:
    return lambda left, right: operate(_number(left, sign), _number(right, sign))


def _contains(left: object, right: object) -> bool:
    if isinstance(right, str) and not isinstance(left, str):
        raise ExprError(f"TypeError: in a text only a text can be, not {_kind(left)}")
    if not isinstance(right, str | list | tuple | dict):
        raise ExprError(f"TypeError: {_kind(right)} contains nothing")
    return left in right


def _text(value: object, function: str) -> str:
    if not isinstance(value, str):
        raise ExprError(f"TypeError: {function} takes a text, not {_kind(value)}")
    return value


def _whole(value: object) -> int:
    if isinstance(value, str) and len(value) > MAX_DIGITS:
        raise ExprError(f"int reads at most {MAX_DIGITS} characters")
    if not isinstance(value, str | int | float):
        raise ExprError(f"TypeError: int does not read {_kind(value)}")
    return int(value)


def _real(value: object) -> float:
    if isinstance(value, str) and len(value) > MAX_DIGITS:
        raise ExprError(f"float reads at most {MAX_DIGITS} characters")
    if not isinstance(value, str | int | float):
        raise ExprError(f"TypeError: float does not read {_kind(value)}")
    return float(value)


def _round(value: object, digits: object = None) -> object:
    if digits is None:
        return round(_number(value, "round"))
    if isinstance(digits, bool) or not isinstance(digits, int) or abs(digits) > MAX_DIGITS:
        raise ExprError("round takes a small number of digits")
    return round(_number(value, "round"), digits)


_ARITHMETIC: dict[str, Callable[[Any, Any], object]] = {
    "+": _plus,
    "-": _arithmetic("-", lambda left, right: left - right),
    "*": _arithmetic("*", lambda left, right: left * right),
    "/": _arithmetic("/", lambda left, right: left / right),
    "//": _arithmetic("//", lambda left, right: left // right),
    "%": _arithmetic("%", lambda left, right: left % right),
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
    "in": _contains,
    "not in": lambda left, right: not _contains(left, right),
}
_FUNCTIONS: dict[str, Callable[..., object]] = {
    "len": len,
    "abs": lambda value: abs(_number(value, "abs")),
    "min": min,
    "max": max,
    "round": _round,
    "int": _whole,
    "float": _real,
    "lower": lambda value: _text(value, "lower").lower(),
    "upper": lambda value: _text(value, "upper").upper(),
    "startswith": lambda value, prefix: _text(value, "startswith").startswith(_text(prefix, "startswith")),
    "endswith": lambda value, suffix: _text(value, "endswith").endswith(_text(suffix, "endswith")),
}
