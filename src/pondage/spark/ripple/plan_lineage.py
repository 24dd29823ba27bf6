"""From Spark's analysed plan, as its JSON form, to the columns that each output column is made of.

The JSON is a list of nodes in preorder, each with the number of its children; an expression is such a list too. A node
that is not known here passes on what its children give, or all of it where it says that its output is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pondage.work.lineage import ColumnLineage, Origin

Node = Mapping[str, object]
Origins = frozenset[Origin]

_NOTHING: Origins = frozenset()
_ROWS = {"Filter": "condition", "Join": "condition", "Aggregate": "groupingExpressions", "Deduplicate": "keys"}
"""Where a node says which columns decide about its rows."""
_LISTS = {"Project": "projectList", "Aggregate": "aggregateExpressions"}
_LEFT_ONLY = ("LeftSemi$", "LeftAnti$")


class _Column(msgspec.Struct, frozen=True):
    name: str
    id: int
    origins: Origins


class PlanLineage:
    """One reading of a plan.

    `tables`: what each leaf of the plan reads, in order, None for anything that is no input. `known`: the columns that
    subqueries read, by id.
    """

    def __init__(self, tables: Sequence[str | None], known: Mapping[int, Origin]) -> None:
        self._tables = list(tables)
        self._known = known
        self._rows: set[Origin] = set()
        self._common: dict[int, list[_Column]] = {}

    def read(self, nodes: Sequence[Node]) -> ColumnLineage:
        """Answer the lineage of the plan's output."""
        tables = iter(self._tables)
        marked = [(node, next(tables, None) if _count(node) == 0 else None) for node in nodes]
        for start, node in enumerate(nodes):
            if _kind(node) == "CTERelationDef":
                # Defined before the plan that refers to it, but read after it: so it is read twice.
                self._common[_number(node, "id")] = self._output(marked[start : _end(nodes, start)])
        output = self._output(marked)
        columns = {each.name: tuple(sorted(each.origins)) for each in output}
        return ColumnLineage(columns=columns, rows=tuple(sorted(self._rows)))

    def _output(self, marked: Sequence[tuple[Node, str | None]]) -> list[_Column]:
        """Answer the columns of the first node; from the last to the first, so that children come before parents."""
        stack: list[list[_Column]] = []
        for node, table in reversed(marked):
            children = [stack.pop() for _ in range(_count(node))]
            stack.append(self._columns(node, children, table))
        return stack.pop() if stack else []

    def _columns(self, node: Node, children: list[list[_Column]], table: str | None) -> list[_Column]:
        kind = _kind(node)
        scope = {column.id: column.origins for child in children for column in child}
        if kind in _ROWS:
            self._rows |= self._references(node.get(_ROWS[kind]), scope)
        if kind in _LISTS:
            return [self._named(each, scope) for each in _expressions(node.get(_LISTS[kind]))]
        match kind:
            case "Window":
                return children[0] + [self._named(each, scope) for each in _expressions(node.get("windowExpressions"))]
            case "Generate":
                origins = self._references(node.get("generator"), scope)
                return children[0] + _attributes(node.get("generatorOutput"), origins)
            case "Union":
                return [_joined(same) for same in zip(*children, strict=False)]
            case "Except" | "Intersect":
                self._rows |= {origin for child in children for column in child for origin in column.origins}
                return children[0]
            case "Join":
                return children[0] if _text(node.get("joinType")).endswith(_LEFT_ONLY) else children[0] + children[1]
            case "WithCTE":
                return children[-1]
            case "CTERelationRef":
                defined = self._common.get(_number(node, "cteId"), [])
                given = _attributes(node.get("output"), _NOTHING)
                pairs = zip(given, defined, strict=False)
                return [_Column(new.name, new.id, old.origins) for new, old in pairs]
            case "Expand":
                return self._expanded(node, scope)
        if not children:
            return self._relation(node, table)
        if node.get("output") is not None:
            # Somebody's function: each of its columns may come from everything it was given.
            return _attributes(node.get("output"), frozenset().union(*scope.values()))
        return [column for child in children for column in child]

    def _relation(self, node: Node, table: str | None) -> list[_Column]:
        found = []
        for column in _attributes(node.get("output"), _NOTHING):
            if table is not None:
                origins: Origins = frozenset((Origin(table, column.name),))
            else:
                known = self._known.get(column.id)
                origins = _NOTHING if known is None else frozenset((known,))
            found.append(_Column(column.name, column.id, origins))
        return found

    def _expanded(self, node: Node, scope: Mapping[int, Origins]) -> list[_Column]:
        """Answer the columns of a rollup, a cube or grouping sets: each row of the child becomes several."""
        output = _attributes(node.get("output"), _NOTHING)
        found = [_NOTHING] * len(output)
        projections = node.get("projections")
        for projection in projections if isinstance(projections, list) else []:
            for place, each in enumerate(_expressions(projection)):
                if place < len(found):
                    found[place] |= self._references(each, scope)
        return [_Column(column.name, column.id, origins) for column, origins in zip(output, found, strict=True)]

    def _named(self, expression: Sequence[Node], scope: Mapping[int, Origins]) -> _Column:
        root = expression[0]
        return _Column(str(root.get("name", "")), _identity(root), self._references(expression, scope))

    def _references(self, expression: object, scope: Mapping[int, Origins]) -> Origins:
        """Answer the origins of everything that an expression, or a list of them, refers to, in subqueries too."""
        found: set[Origin] = set()
        for node in _nodes(expression):
            if _kind(node) == "AttributeReference":
                found |= scope.get(_identity(node), _NOTHING)
            plan = node.get("plan")
            if isinstance(plan, list):
                for column in self._output([(each, None) for each in plan]):
                    found |= column.origins
        return frozenset(found)


def _joined(same: Sequence[_Column]) -> _Column:
    return _Column(same[0].name, same[0].id, frozenset().union(*(each.origins for each in same)))


def _kind(node: Node) -> str:
    return str(node.get("class", "")).rpartition(".")[2]


def _count(node: Node) -> int:
    return _number(node, "num-children")


def _number(node: Node, key: str) -> int:
    value = node.get(key)
    return value if isinstance(value, int) else 0


def _text(value: object) -> str:
    return str(value.get("object", "")) if isinstance(value, dict) else str(value)


def _identity(node: Node) -> int:
    identity = node.get("exprId")
    return _number(identity, "id") if isinstance(identity, dict) else -1


def _end(nodes: Sequence[Node], start: int) -> int:
    """Answer where the subtree that begins at `start` ends."""
    open_children, place = 1, start
    while open_children:
        open_children += _count(nodes[place]) - 1
        place += 1
    return place


def _expressions(value: object) -> list[list[Node]]:
    """Answer a list of expressions; one alone is a list of one."""
    if not isinstance(value, list) or not value:
        return []
    return value if isinstance(value[0], list) else [value]


def _nodes(value: object) -> Iterator[Node]:
    """Go through every node of an expression or of lists of them."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict) and "class" in each:
            yield each


def _attributes(value: object, origins: Origins) -> list[_Column]:
    return [_Column(str(each[0].get("name", "")), _identity(each[0]), origins) for each in _expressions(value) if each]
