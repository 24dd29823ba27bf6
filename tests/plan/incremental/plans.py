"""Plans as values, written down by hand: tables, and operators over them, with paths and ids put in at the end."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.plan.incremental.algebra import Attribute, Expression, JoinKind, Node


def column(number: int, type_name: str = "integer") -> Expression:
    return Expression(kind="AttributeReference", id=number, type=type_name)


def call(kind: str, *children: Expression, type_name: str = "") -> Expression:
    return Expression(kind=kind, children=children, type=type_name)


def named(number: int, expression: Expression) -> Expression:
    return Expression(kind="Alias", id=number, children=(expression,))


def equal(one: int, other: int) -> Expression:
    return call("EqualTo", column(one), column(other))


def aggregate_of(function: str, *arguments: Expression, is_distinct: bool = False) -> Expression:
    inner = call(function, *arguments)
    return Expression(kind="AggregateExpression", children=(inner,), detail=(("distinct", str(is_distinct)),))


def table(source: str, *ids: int) -> Node:
    return Node(kind="Leaf", path=(), output=outputs(*ids), source=source)


def outputs(*ids: int) -> tuple[Attribute, ...]:
    return tuple(Attribute(id=each, name=f"c{each}", type="integer") for each in ids)


def project(child: Node, *columns: Expression) -> Node:
    return _over(child, "Project", {"columns": columns}, _made(columns))


def where(child: Node, *condition: Expression) -> Node:
    return _over(child, "Filter", {"condition": condition}, child.output)


def aggregate(child: Node, groups: Sequence[Expression], *columns: Expression, rounds: bool = False) -> Node:
    made = _over(child, "Aggregate", {"groups": tuple(groups), "columns": columns}, _made(columns))
    return msgspec.structs.replace(made, rounds=rounds)


def window(child: Node, partition: Sequence[int], made: Expression) -> Node:
    lists = {"columns": (made,), "partition": tuple(column(each) for each in partition), "order": ()}
    return _over(child, "Window", lists, child.output + _made((made,)))


def only(kind: str, child: Node, **lists: tuple[Expression, ...]) -> Node:
    return _over(child, kind, lists, child.output)


def join(kind: JoinKind, left: Node, right: Node, *condition: Expression) -> Node:
    output = left.output
    if kind is JoinKind.EXISTENCE:
        output += (Attribute(id=99, name="exists", type="boolean"),)
    elif kind not in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI):
        output += right.output
    return Node(
        kind="Join", path=(), output=output, children=(left, right), join=kind, lists={"condition": condition}
    )  # fmt: skip


def several(kind: str, *children: Node) -> Node:
    return Node(kind=kind, path=(), output=children[0].output, children=children)


def placed(node: Node, path: tuple[int, ...] = ()) -> Node:
    """Answer the plan with the paths of its nodes: what a test gives to the rules."""
    children = tuple(placed(each, (*path, number)) for number, each in enumerate(node.children))
    return msgspec.structs.replace(node, path=path, children=children)


def _over(child: Node, kind: str, lists: dict[str, tuple[Expression, ...]], output: tuple[Attribute, ...]) -> Node:
    return Node(kind=kind, path=(), output=output, children=(child,), lists=lists)


def _made(columns: Sequence[Expression]) -> tuple[Attribute, ...]:
    return outputs(*(each.id for each in columns if each.id is not None))
