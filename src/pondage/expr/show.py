"""Trees as texts again, to show a part of an expression."""

from __future__ import annotations

import json

from pondage.expr.nodes import Binary, Call, Compare, Constant, Dot, Item, Logic, Name, Node, Sequence, Unary


def shown(node: Node) -> str:
    """Write an expression with parentheses around every part, so that it reads as it is evaluated."""
    match node:
        case Constant():
            return json.dumps(node.value, ensure_ascii=False) if isinstance(node.value, str) else repr(node.value)
        case Name():
            return node.name
        case Dot():
            return f"{_inner(node.value)}.{node.field}"
        case Item():
            return f"{_inner(node.value)}[{shown(node.key)}]"
        case Unary():
            space = " " if node.operator == "not" else ""
            return f"{node.operator}{space}{_inner(node.value)}"
        case Binary():
            return f"{_inner(node.left)} {node.operator} {_inner(node.right)}"
        case Compare():
            rest = (f" {sign} {_inner(one)}" for sign, one in zip(node.operators, node.values[1:], strict=True))
            return _inner(node.values[0]) + "".join(rest)
        case Logic():
            return f" {node.operator} ".join(map(_inner, node.values))
        case Sequence():
            return f"[{', '.join(map(shown, node.values))}]"
        case Call():
            return f"{node.function}({', '.join(map(shown, node.arguments))})"


def _inner(node: Node) -> str:
    return f"({shown(node)})" if isinstance(node, Binary | Compare | Logic | Unary) else shown(node)
