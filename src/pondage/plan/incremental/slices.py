"""Theorem 2: which rows of the tables make the rows of a result that have certain values of a key.

A *request* is a set of expressions over the columns of a node that are equal in all rows that matter. It is pushed
down to the tables; what arrives there is an expression by which the table may be restricted. To restrict less is right,
too: the result is filtered by its key again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from pondage.plan.incremental import known
from pondage.plan.incremental.algebra import Expression, JoinKind, Node, Path
from pondage.plan.incremental.choices import choosing_nodes

Request = frozenset[Expression]
Equalities = frozenset[tuple[Expression, Expression]]

_NONE: Request = frozenset()


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a node's result, as positions of its columns, and what it restricts.

    `leaves` has for each table that it names the expressions for those parts of the key that reach it (None for the
    others). `covers` are the changed tables whose every part is named: what is new in them says which keys change.
    """

    key: tuple[int, ...]
    leaves: Mapping[Path, tuple[Expression | None, ...]]
    covers: tuple[Path, ...]


def slices(node: Node, position: int) -> dict[Path, Expression]:
    """Answer by which expression each table may be restricted when this column of the result is in a set of keys."""
    column = node.output[position]
    if not known.is_key_type(column.type):
        return {}
    found: dict[Path, Expression] = {}
    _push(node, frozenset({column.expression()}), found)
    return found


def cover(node: Node, changed: Iterable[Path], most: int = 3) -> tuple[Group, ...] | None:
    """Answer keys of the node's result such that each changed table is reached by one of them; None when none do.

    Each is an attribute that covers the most tables that are left, together with further ones that reach the same. A
    column by whose slices something would be chosen anew for other rows, too, is no key.
    """
    left = list(dict.fromkeys(changed))
    choosing = [each.path for each in choosing_nodes(node)]
    columns = {at: found for at in range(len(node.output)) if (found := _closed(node, at, choosing))}
    groups: list[Group] = []
    while left:
        best = max(
            columns, key=lambda at: (sum(each in columns[at] for each in left), len(columns[at]), -at), default=None
        )
        covered = [] if best is None else [each for each in left if each in columns[best]]
        if best is None or not covered or len(groups) == most:
            return None
        key = [best]
        for at, found in columns.items():
            taken = [columns[each] for each in key]
            is_new = all(found.get(each) not in (known_by.get(each) for known_by in taken) for each in covered)
            if at != best and all(each in found for each in covered) and is_new:
                key.append(at)
        named = {path for at in key for path in columns[at]}
        groups.append(
            Group(
                key=tuple(key),
                leaves={path: tuple(columns[at].get(path) for at in key) for path in sorted(named)},
                covers=tuple(covered),
            )
        )
        left = [each for each in left if each not in covered]
    return tuple(groups)


def _closed(node: Node, position: int, choosing: Iterable[Path]) -> dict[Path, Expression]:
    """Answer the slices of a column, none when an operator that chooses would read whole tables for a slice."""
    found = slices(node, position)
    for path in choosing:
        below = [each.path for each in node.leaves if each.path[: len(path)] == path]
        if any(each not in found for each in below):
            return {}
    return found


def _push(node: Node, request: Request, found: dict[Path, Expression]) -> None:
    request = frozenset(each for each in request if each.references() and _is_comparable(each))
    if not request:
        return
    if node.source is not None:
        members = sorted((each for each in request if each.references() <= node.ids), key=_simplest)
        if members:
            found[node.path] = members[0]
        return
    for child, asked in zip(node.children, _requests(node, request), strict=True):
        _push(child, asked, found)


def _requests(node: Node, request: Request) -> tuple[Request, ...]:
    """Answer what a node asks of each of its children."""
    match node.kind:
        case "Project":
            return (_meaning(request, node.meanings()),)
        case "Filter":
            return (_close(request, _implied(node.lists["condition"])),)
        case "Aggregate":
            return (_meaning(request, node.meanings()) if node.lists["groups"] else _NONE,)
        case "Window":
            return (_functions_of(request, node.lists["partition"], node.children[0]),)
        case "Deduplicate":
            return (_functions_of(request, node.lists["keys"], node.children[0]),)
        case "Distinct":
            return (request,)
        case "Generate":
            return (_over(request, node.children[0]),)
        case "Expand":
            return (_meaning(request, _unchanged(node)),)
        case "Union" | "Intersect" | "Except":
            return tuple(_meaning(request, _by_position(node, child)) for child in node.children)
        case "Join":
            return _sides(node, request)
        case kind if kind in known.TRANSPARENT:
            return (request,)
        case _:
            return tuple(_NONE for _ in node.children)


def _sides(node: Node, request: Request) -> tuple[Request, Request]:
    left, right = node.children
    implied = _implied(node.lists["condition"])
    join = node.join
    if join is not None and join.is_inner:
        closed = _close(request, implied)
        return _over(closed, left), _over(closed, right)
    if join is not None and join.keeps_left:
        start = _over(request, left)
        # The preserved side gets the request itself: its rows without a match fulfil no condition.
        return start, _over(_close(start, implied), right)
    if join is JoinKind.RIGHT_OUTER:
        start = _over(request, right)
        return _over(_close(start, implied), left), start
    if join is JoinKind.FULL_OUTER:
        return _full_outer(request, implied, left, right)
    return _NONE, _NONE


def _full_outer(request: Request, implied: Equalities, left: Node, right: Node) -> tuple[Request, Request]:
    """A key of a full join is only what both sides have: `coalesce(a, b)` where the join asks for `a = b`."""
    for each in request:
        if each.kind != "Coalesce" or len(each.children) != 2:
            continue
        for one, other in (each.children, each.children[::-1]):
            is_asked = (_bare(one), _bare(other)) in implied or (_bare(other), _bare(one)) in implied
            if is_asked and _over(frozenset({one}), left) and _over(frozenset({other}), right):
                return frozenset({one}), frozenset({other})
    return _NONE, _NONE


def _meaning(request: Request, meanings: Mapping[int, Expression]) -> Request:
    return frozenset(meant for each in request if (meant := each.substituted(meanings)) is not None)


def _over(request: Request, child: Node) -> Request:
    return frozenset(each for each in request if each.references() and each.references() <= child.ids)


def _functions_of(request: Request, keys: Iterable[Expression], child: Node) -> Request:
    """Answer the members that only the keys decide."""
    whole = {_bare(each) for each in keys}
    ids = {each.id for each in whole if each.is_attribute}
    return frozenset(each for each in _over(request, child) if _bare(each) in whole or each.references() <= ids)


def _unchanged(node: Node) -> dict[int, Expression]:
    """Answer the columns of an Expand that are the same in each of the rows that it makes of one."""
    found: dict[int, Expression] = {}
    for position, column in enumerate(node.output):
        made = {row[position] for row in node.rows}
        if len(made) == 1 and (only := next(iter(made))).is_attribute:
            found[column.id] = only
    return found


def _by_position(node: Node, child: Node) -> dict[int, Expression]:
    return {column.id: below.expression() for column, below in zip(node.output, child.output, strict=True)}


def _close(request: Request, implied: Equalities) -> Request:
    """Answer the request with everything that is equal to one of its members."""
    closed = {_bare(each): each for each in request}
    is_growing = True
    while is_growing:
        is_growing = False
        for one, other in implied:
            for here, there in ((one, other), (other, one)):
                if here in closed and there not in closed and there.references():
                    closed[there] = there
                    is_growing = True
    return frozenset(closed.values())


def _implied(condition: Iterable[Expression]) -> Equalities:
    """Answer the equalities that hold in each row for which the condition is true."""
    found: Equalities = frozenset()
    for each in condition:
        match each.kind:
            case "And":
                found |= _implied(each.children)
            case "Or":
                one, other = each.children
                found |= _implied((one,)) & _implied((other,))
            case "EqualTo" | "EqualNullSafe" if all(_is_comparable(side) for side in each.children):
                found |= {(_bare(each.children[0]), _bare(each.children[1]))}
    return found


def _bare(each: Expression) -> Expression:
    """Answer an expression without the casts that only widen whole numbers: they tell no two values apart."""
    while each.kind == "Cast" and each.type in known.INTEGRAL and _widens(each.children[0].type, each.type):
        each = each.children[0]
    return each


def _widens(narrow: str, wide: str) -> bool:
    order = known.INTEGRAL
    return narrow in order and order.index(narrow) <= order.index(wide)


def _is_comparable(each: Expression) -> bool:
    """Answer whether it is made only of what can be compared and computed again, of types that are keys."""
    return all(
        part.kind in known.PRINTABLE
        and (not part.type or known.is_key_type(part.type))
        and (part.kind != "Literal" or (part.type in ("string", "integer") and ("value", "null") not in part.detail))
        and all(part.children[at].kind == "Literal" for at in known.CONSTANT_PARTS.get(part.kind, ()))
        and (part.kind != "StringTrim" or len(part.children) == 1)
        for part in each.walk()
    )


def _simplest(each: Expression) -> tuple[int, str]:
    return sum(1 for _ in each.walk()), repr(each)
