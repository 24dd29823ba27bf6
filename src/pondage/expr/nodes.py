"""The tree of an expression: small tagged values that are stored as JSON in a plan."""

from __future__ import annotations

import msgspec


class _Node(msgspec.Struct, frozen=True, tag_field="node", tag=str.lower, array_like=False):
    pass


class Constant(_Node, frozen=True):
    """A literal: a number, a text, True, False or None."""

    value: int | float | str | bool | None


class Name(_Node, frozen=True):
    """A bare name, or `global` or `context` themselves."""

    name: str


class Dot(_Node, frozen=True):
    """`value.field`: a look-up in a dictionary, never an attribute."""

    value: Node
    field: str


class Item(_Node, frozen=True):
    """`value[key]`: a look-up in a dictionary or a list."""

    value: Node
    key: Node


class Unary(_Node, frozen=True):
    """`not x`, `-x` or `+x`."""

    operator: str
    value: Node


class Binary(_Node, frozen=True):
    """`+ - * / // %`."""

    operator: str
    left: Node
    right: Node


class Compare(_Node, frozen=True):
    """`a < b <= c …`: `operators[i]` stands between the values i and i + 1."""

    operators: tuple[str, ...]
    values: tuple[Node, ...]


class Logic(_Node, frozen=True):
    """`and` or `or` of several values, evaluated from the left until one decides."""

    operator: str
    values: tuple[Node, ...]


class Call(_Node, frozen=True):
    """One of the allowed functions."""

    function: str
    arguments: tuple[Node, ...]


class Sequence(_Node, frozen=True):
    """A list or tuple display."""

    values: tuple[Node, ...]


Node = Constant | Name | Dot | Item | Unary | Binary | Compare | Logic | Call | Sequence


def children(node: Node) -> tuple[Node, ...]:
    """Give the nodes directly below."""
    match node:
        case Dot() | Unary():
            return (node.value,)
        case Item():
            return (node.value, node.key)
        case Binary():
            return (node.left, node.right)
        case Compare() | Logic() | Sequence():
            return node.values
        case Call():
            return node.arguments
        case _:
            return ()
