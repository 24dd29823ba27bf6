"""Where a query has several right answers, so that computing a part of it again may give another one."""

from __future__ import annotations

from collections.abc import Iterator

from pondage.plan.incremental import known
from pondage.plan.incremental.algebra import Expression, Node

_ANY = known.AGGREGATES_ANY | known.WINDOW_ANY
_KEEPS_VALUES = known.TRANSPARENT | {"Project"}


def choosing_nodes(root: Node) -> Iterator[Node]:
    """Go through the operators that may choose: which row stays, which row is first, how a sum is rounded.

    A rounded sum counts only where something above depends on its exact value.
    """
    yield from _choosing(root, is_exact=False)


def _choosing(node: Node, *, is_exact: bool) -> Iterator[Node]:
    if node.kind == "Deduplicate" or node.kind in known.LIMITS or _chooses(node, is_exact=is_exact):
        yield node
    below = is_exact or node.kind not in _KEEPS_VALUES
    for child in node.children:
        yield from _choosing(child, is_exact=below)


def _chooses(node: Node, *, is_exact: bool) -> bool:
    if node.kind not in ("Aggregate", "Window"):
        return False
    if is_exact and node.rounds:
        return True
    for expression in node.expressions():
        for each in expression.walk():
            if each.kind in _ANY or _is_row_frame(each):
                return True
    return False


def _is_row_frame(each: Expression) -> bool:
    return each.kind == "SpecifiedWindowFrame" and "RangeFrame" not in str(each.detail)
