"""How a result is kept up to date: decided from its plan and from the ways in which its tables change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from pondage.plan.incremental import known
from pondage.plan.incremental.algebra import Expression, Node, Path, Sign
from pondage.plan.incremental.choices import choosing_nodes
from pondage.plan.incremental.linear import linear_leaves
from pondage.plan.incremental.slices import Group, cover

RULES = 1
"""The version of these rules: what was remembered under another one is not gone on with."""


class How(StrEnum):
    """What a Run does with a part of the plan."""

    NOTHING = "nothing"
    APPEND = "append"
    MERGE = "merge"
    KEYED = "keyed"
    BAG = "bagdiff"
    FULL = "full"


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the plan that is kept: `path` leads to it from the root.

    `how` is MERGE or KEYED. A merge without groups adds the terms in which its child is linear; one with a group takes
    back and adds the slices of the node at `base`, which lies below it.
    """

    how: How
    path: Path
    groups: tuple[Group, ...] = ()
    base: Path = ()


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How the whole is kept up to date. `reason` says in words why, of a full one what stops it."""

    how: How
    reason: str
    cuts: tuple[Cut, ...] = ()
    groups: tuple[Group, ...] = ()
    has_tip: bool = False

    @property
    def name(self) -> str:
        """Answer it in the words of the conformance cases: `merge`, or `merge,then tip`."""
        return f"{self.how},then tip" if self.has_tip else str(self.how)


def full(reason: str) -> Recipe:
    """Answer the recipe that computes everything, and why."""
    return Recipe(how=How.FULL, reason=reason)


def decide(root: Node, kinds: Mapping[str, Sign], *, has_states: bool = True) -> Recipe:
    """Answer how the result is kept up to date when its tables change in these ways.

    Without `has_states` nothing but the result itself is kept: parts of it are not, and neither is it gone through row
    by row.

    A table that is not in `kinds` does not change. The first of these that is proved: rows are appended; aggregates are
    added to; slices of the result are computed again; parts of it are kept, and what is above them is computed from
    them; rows are added and taken out one by one; everything is computed.
    """
    if any(source in kinds for source in root.all_hidden):
        return full("a subquery that is no join reads a table that changes")
    signs = root.changed_as(kinds)
    changed = tuple(signs)
    if not changed:
        return Recipe(how=How.NOTHING, reason="none of the tables that change is read")
    is_linear = set(changed) <= linear_leaves(root) and not any(True for _ in choosing_nodes(root))
    if is_linear and Sign.CHANGE not in signs.values():
        return Recipe(how=How.APPEND, reason="each new row of a table gives rows of its own")
    if not has_states:
        return _keyed(root, changed) or full(_stopped_by(root, changed))
    for recipe in (_added(root, changed, kinds), _keyed(root, changed), _kept(root, changed, kinds)):
        if recipe is not None:
            return recipe
    if is_linear:
        return Recipe(how=How.BAG, reason="each row gives rows of its own, which have no key")
    return full(_stopped_by(root, changed))


def _added(root: Node, changed: tuple[Path, ...], kinds: Mapping[str, Sign]) -> Recipe | None:
    """An aggregate whose partial results are added, at the root or below what only picks among its rows."""
    node, has_tip = root, False
    while node.kind in known.ROW_WISE | known.LIMITS:
        has_tip = has_tip or _is_tip(node)
        node = node.children[0]
    if node.kind != "Aggregate" or not _adds(node, changed, kinds):
        return None
    return Recipe(
        how=How.MERGE,
        reason="the sums of what changed are added",
        cuts=(Cut(how=How.MERGE, path=node.path),),
        has_tip=has_tip,
    )


def _keyed(root: Node, changed: tuple[Path, ...]) -> Recipe | None:
    groups = cover(root, changed)
    if groups is None:
        return None
    return Recipe(how=How.KEYED, reason="rows depend only on rows with the same key", groups=groups)


def _kept(root: Node, changed: tuple[Path, ...], kinds: Mapping[str, Sign]) -> Recipe | None:
    """Parts of the plan such that each changed table is below exactly one."""
    cuts = _cuts(root, changed, kinds, is_picked=True, is_limited=False)
    if cuts is None:
        return None
    first = cuts[0]
    on_the_way = [each for each in root.walk() if each.path != first.path and first.path[: len(each.path)] == each.path]
    has_tip = len(cuts) > 1 or any(_is_tip(each) for each in on_the_way)
    hows = {each.how for each in cuts}
    how = How.KEYED if How.KEYED in hows else How.MERGE
    return Recipe(
        how=how, reason="a part of it is kept, and what is above is computed from that", cuts=cuts, has_tip=has_tip
    )


def _cuts(
    node: Node, changed: tuple[Path, ...], kinds: Mapping[str, Sign], *, is_picked: bool, is_limited: bool
) -> tuple[Cut, ...] | None:
    """Answer the cuts of a subtree, none when nothing below it changes; None when some table is below none.

    `is_picked`: above it rows are only picked, projected, sorted and limited. `is_limited`: something above it takes
    the first of its rows.
    """
    below = tuple(each for each in changed if each[: len(node.path)] == node.path)
    if not below:
        return ()
    # What is kept has no order: a limit must find the sort that it stands on above the cut.
    cut = None if is_limited and _is_sorted(node) else _cut(node, below, kinds, is_picked=is_picked)
    if cut is not None:
        return (cut,)
    if node.source is not None:
        return None
    found: list[Cut] = []
    for child in node.children:
        some = _cuts(
            child, changed, kinds,
            is_picked=is_picked and node.kind in known.ROW_WISE | known.LIMITS,
            is_limited=is_limited or node.kind in known.LIMITS,
        )  # fmt: skip
        if some is None:
            return None
        found.extend(some)
    return tuple(found)


def _cut(node: Node, changed: tuple[Path, ...], kinds: Mapping[str, Sign], *, is_picked: bool) -> Cut | None:
    if node.kind == "Aggregate" and _adds(node, changed, kinds):
        return Cut(how=How.MERGE, path=node.path)
    # A table itself is no part worth keeping beside the table.
    if node.source is None and node.path and (is_picked or node.kind in ("Aggregate", "Distinct", "Deduplicate")):
        groups = cover(node, changed)
        if groups is not None and not _is_only_read(node):
            return Cut(how=How.KEYED, path=node.path, groups=groups)
    if node.kind == "Aggregate":
        return _retracted(node, changed)
    return None


def _is_sorted(node: Node) -> bool:
    """Answer whether the order of its rows is that of a sort in it."""
    while node.kind in known.ROW_WISE:
        if node.kind == "Sort":
            return True
        node = node.children[0]
    return False


def _retracted(node: Node, changed: tuple[Path, ...]) -> Cut | None:
    """Merge (b): slices of what is aggregated, as they were and as they are, taken back and added."""
    if not _is_mergeable(node, forgets=True) or any(True for _ in choosing_nodes(node)):
        return None
    base = node.children[0]
    while True:
        groups = cover(base, changed, most=1)
        if groups is not None:
            return Cut(how=How.MERGE, path=node.path, groups=groups, base=base.path)
        if base.kind not in known.ROW_WISE:
            return None
        base = base.children[0]


def _adds(node: Node, changed: tuple[Path, ...], kinds: Mapping[str, Sign]) -> bool:
    """Answer whether the terms of an aggregate's child can be added to what is kept."""
    child = node.children[0]
    # Asked of the node itself: what is below an aggregate is depended on to the last digit.
    if not set(changed) <= linear_leaves(child) or any(True for _ in choosing_nodes(node)):
        return False
    return _is_mergeable(node, forgets=Sign.CHANGE in node.changed_as(kinds).values())


def _is_mergeable(node: Node, *, forgets: bool) -> bool:
    """Answer whether the aggregate's functions can be added, and taken back when rows go.

    Sums of floats can be taken in, not taken back.
    """
    if forgets and node.rounds:
        return False
    allowed = known.AGGREGATES_SIGNED if forgets else known.AGGREGATES_SIGNED | known.AGGREGATES_GROWING
    for each in aggregates(node):
        function = each.children[0]
        if ("distinct", "True") in each.detail or function.kind not in allowed:
            return False
    return True


def aggregates(node: Node) -> Iterator[Expression]:
    """Go through the aggregate functions of an Aggregate, in the order in which its columns have them."""
    for column in node.lists["columns"]:
        yield from _aggregates(column)


def _aggregates(expression: Expression) -> Iterator[Expression]:
    if expression.kind == "AggregateExpression":
        yield expression
        return
    for each in expression.children:
        yield from _aggregates(each)


def _is_tip(node: Node) -> bool:
    """Answer whether a node above a cut does more than to name and order columns."""
    if node.kind in known.TRANSPARENT:
        return node.kind in ("Sort",)
    return node.kind != "Project" or any(
        not (each.is_attribute or (each.kind == "Alias" and each.children[0].is_attribute))
        for each in node.lists["columns"]
    )


def _is_only_read(node: Node) -> bool:
    """Answer whether a node only reads one table, row by row."""
    while node.kind in known.TRANSPARENT:
        node = node.children[0]
    return node.source is not None


def _stopped_by(root: Node, changed: tuple[Path, ...]) -> str:
    """Answer the node nearest to a changed table at which neither theorem goes on, in words."""
    linear = set(linear_leaves(root))
    leaf = next((each for each in changed if each not in linear), changed[0])
    node, way = root, []
    while node.path != leaf:
        way.append(node)
        node = node.children[leaf[len(node.path)]]
    for each in reversed(way):
        match each.kind:
            case "Window" if not each.lists["partition"]:
                return "Window has no partition, so every row may depend on every other"
            case kind if kind in known.LIMITS:
                return f"{kind}: which rows are among the first depends on all of them"
            case "Aggregate" if not each.lists["groups"]:
                return "an aggregate over everything cannot be added to"
            case kind if kind not in known.ROW_WISE:
                if cover(each, [leaf]) is None:
                    name = each.join.value if each.join is not None else kind
                    return f"{name}: no column of it says which of its rows a change reaches"
    return "no column of the result says which of its rows a change reaches"
