"""Theorem 1: where the result of a sum of rows is the sum of the results."""

from __future__ import annotations

from pondage.plan.incremental import known
from pondage.plan.incremental.algebra import JoinKind, Node

_UNARY = known.ROW_WISE | {"Generate", "Expand"}


def linear_leaves(node: Node) -> frozenset[tuple[int, ...]]:
    """Answer the paths of the tables in which the node is linear: P(A + B) = P(A) + P(B), and P of nothing is nothing.

    Of a union that holds for one branch only while the others are empty.
    """
    if node.source is not None:
        return frozenset({node.path})
    if node.kind in _UNARY:
        return linear_leaves(node.children[0])
    if node.kind == "Union":
        return frozenset[tuple[int, ...]]().union(*(linear_leaves(each) for each in node.children))
    if node.kind == "Join" and node.join is not None:
        left, right = node.children
        if node.join.is_inner:
            return linear_leaves(left) | linear_leaves(right)
        if node.join.keeps_left:
            return linear_leaves(left)
        if node.join is JoinKind.RIGHT_OUTER:
            return linear_leaves(right)
    return frozenset()


def emptied_branches(node: Node, leaf: tuple[int, ...]) -> tuple[Node, ...]:
    """Answer the branches of unions that must be empty in the term of this table, or they would be added again."""
    found: list[Node] = []
    while node.source is None:
        on_the_way = node.children[leaf[len(node.path)]]
        if node.kind == "Union":
            found.extend(each for each in node.children if each is not on_the_way)
        node = on_the_way
    return tuple(found)
