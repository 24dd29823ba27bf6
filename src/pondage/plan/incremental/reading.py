"""From the JSON form of Spark's analysed, normalised plan to the values that the rules judge."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from pondage.plan.incremental import known
from pondage.plan.incremental.algebra import Attribute, Expression, JoinKind, Node, NotUnderstood
from pondage.plan.incremental.choices import choosing_nodes

MARK = "__src_"
"""What the alias of a table begins with: below it is our own reading code."""

Json = Mapping[str, object]

_LISTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Project": (("columns", "projectList"),),
    "Filter": (("condition", "condition"),),
    "Join": (("condition", "condition"),),
    "Aggregate": (("groups", "groupingExpressions"), ("columns", "aggregateExpressions")),
    "Window": (("columns", "windowExpressions"), ("partition", "partitionSpec"), ("order", "orderSpec")),
    "Deduplicate": (("keys", "keys"),),
    "Generate": (("generator", "generator"), ("generated", "generatorOutput")),
    "Sort": (("order", "order"),),
    "GlobalLimit": (("limit", "limitExpr"),),
    "LocalLimit": (("limit", "limitExpr"),),
    "Offset": (("limit", "offsetExpr"),),
    "Tail": (("limit", "limitExpr"),),
    "Repartition": (),
    "RepartitionByExpression": (("partition", "partitionExpressions"),),
    "RebalancePartitions": (("partition", "partitionExpressions"),),
}
"""Where the operators have their expressions, and what the rules call them."""


def read_plan(
    text: bytes | str, output: Sequence[tuple[str, object]], rounding: Collection[tuple[int, ...]] = ()
) -> Node:
    """Answer the plan that Spark's `toJSON` wrote, whose result has these columns (name, type as in its JSON).

    `rounding` are the paths of the operators that add floats, which the JSON does not say.
    Raises `NotUnderstood` with the first thing that no rule names.
    """
    nodes: list[Json] = msgspec.json.decode(text)
    for _, type_name in output:
        _require_type(type_name)
    reader = _Reader(_types(nodes), frozenset(rounding))
    root = reader.read(nodes)
    if len(root.output) != len(output):
        raise NotUnderstood("the columns of the result are not those that its plan shows")
    typed = tuple(
        msgspec.structs.replace(each, type=_type(type_name))
        for each, (_, type_name) in zip(root.output, output, strict=True)
    )
    return msgspec.structs.replace(root, output=typed)


def shape(text: bytes | str, constants: str = "") -> str:
    """Answer a digest of a plan: equal for plans that do the same with tables of the same names and columns.

    Attribute ids are numbered anew; what is below the mark of a table, its files, does not count. `constants` are the
    rows that are part of the plan, which its text leaves out.
    """
    nodes: list[Json] = msgspec.json.decode(text)
    numbers: dict[object, int] = {}
    seen: list[object] = [constants]
    at = 0
    while at < len(nodes):
        marked = _marked(nodes[at])
        if marked is None:
            seen.append(_renumbered(nodes[at], numbers))
            at += 1
            continue
        end = _end(nodes, at)
        columns = _Reader(_types(nodes)).leaf_output(nodes[at + 1 : end])
        seen.append([marked, [[each.name, each.type, numbers.setdefault(each.id, len(numbers))] for each in columns]])
        at = end
    return hashlib.sha256(msgspec.json.encode(seen)).hexdigest()


def _renumbered(value: object, numbers: dict[object, int]) -> object:
    if isinstance(value, Mapping):
        if "jvmId" in value:
            return numbers.setdefault(value.get("id"), len(numbers))
        return {key: _renumbered(each, numbers) for key, each in value.items() if key not in ("resultId", "desc")}
    if isinstance(value, list):
        return [_renumbered(each, numbers) for each in value]
    return value


class _Reader:
    """One reading. `types` has the type of each column that anything refers to."""

    def __init__(self, types: Mapping[int, str], rounding: frozenset[tuple[int, ...]] = frozenset()) -> None:
        self._types = types
        self._rounding = rounding

    def read(self, nodes: Sequence[Json]) -> Node:
        root, end = self._node(nodes, 0, ())
        if end != len(nodes):
            raise NotUnderstood("the plan is not one tree")
        return root

    def _node(self, nodes: Sequence[Json], at: int, path: tuple[int, ...]) -> tuple[Node, int]:
        node = nodes[at]
        kind = _kind(node)
        marked = _marked(node)
        if marked is not None:
            end = _end(nodes, at)
            output = tuple(self.leaf_output(nodes[at + 1 : end]))
            return Node(kind="Leaf", path=path, output=output, source=marked), end
        if kind not in known.NODES:
            raise NotUnderstood(f"{kind} is not among the operators that can be kept up to date")
        children: list[Node] = []
        end = at + 1
        for number in range(_number(node, "num-children")):
            child, end = self._node(nodes, end, (*path, number))
            children.append(child)
        return self._operator(node, kind, path, tuple(children)), end

    def _operator(self, node: Json, kind: str, path: tuple[int, ...], children: tuple[Node, ...]) -> Node:
        hidden: set[str] = set()
        lists = {
            name: tuple(self._expression(each, hidden, kind) for each in _expressions(node.get(field)))
            for name, field in _LISTS.get(kind, ())
        }
        rows: tuple[tuple[Expression, ...], ...] = ()
        if kind == "Expand":
            rows = tuple(
                tuple(self._expression(each, hidden, kind) for each in _expressions(projection))
                for projection in _list(node.get("projections"))
            )
        join = _join(node) if kind == "Join" else None
        made = Node(
            kind=kind, path=path, output=(), children=children, join=join, lists=lists, rows=rows,
            hidden=frozenset(hidden), rounds=path in self._rounding,
        )  # fmt: skip
        return msgspec.structs.replace(made, output=tuple(self._output(node, made)))

    def _output(self, node: Json, made: Node) -> Iterator[Attribute]:
        first = made.children[0].output if made.children else ()
        match made.kind:
            case "Project" | "Aggregate":
                yield from self._named(node, "projectList" if made.kind == "Project" else "aggregateExpressions")
            case "Window":
                yield from first
                yield from self._named(node, "windowExpressions")
            case "Generate":
                if node.get("unrequiredChildIndex"):
                    raise NotUnderstood("Generate leaves out columns of its child")
                yield from first
                yield from self._named(node, "generatorOutput")
            case "Expand" | "LocalRelation" | "Range":
                yield from self._named(node, "output")
            case "Join":
                yield from first
                if made.join is JoinKind.EXISTENCE:
                    yield from self._named(node.get("joinType"), "exists")
                elif made.join not in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI):
                    yield from made.children[1].output
            case _:
                yield from first

    def _named(self, node: object, field: str) -> Iterator[Attribute]:
        for each in _expressions(node.get(field) if isinstance(node, Mapping) else None):
            root = each[0]
            number = _identity(root)
            if number is None:
                raise NotUnderstood(f"{_kind(root)} has no column of its own")
            yield Attribute(id=number, name=str(root.get("name", "")), type=self._types.get(number, ""))

    def leaf_output(self, nodes: Sequence[Json]) -> Iterator[Attribute]:
        """Answer the columns of a table: those of the first node below its mark that says them."""
        for node in nodes:
            for field in ("output", "projectList"):
                if node.get(field) is not None:
                    yield from self._named(node, field)
                    return
            if _number(node, "num-children") != 1:
                break
        raise NotUnderstood("a table is read in a way that is not ours")

    def _expression(self, nodes: Sequence[Json], hidden: set[str], operator: str) -> Expression:
        found, end = self._one(nodes, 0, hidden, operator)
        if end != len(nodes):
            raise NotUnderstood("an expression is not one tree")
        return found

    def _one(self, nodes: Sequence[Json], at: int, hidden: set[str], operator: str) -> tuple[Expression, int]:
        node = nodes[at]
        kind = _kind(node)
        _require_expression(node, kind, operator)
        if kind in known.SUBQUERIES:
            self._subquery(node, kind, hidden)
        children: list[Expression] = []
        end = at + 1
        for _ in range(_number(node, "num-children")):
            child, end = self._one(nodes, end, hidden, operator)
            children.append(child)
        return (
            Expression(
                kind=kind,
                children=tuple(children),
                id=_identity(node) if kind in ("AttributeReference", "Alias") else None,
                type=_type(node.get("dataType")),
                detail=_detail(node, kind),
            ),
            end,
        )

    def _subquery(self, node: Json, kind: str, hidden: set[str]) -> None:
        plan = node.get("plan")
        if not isinstance(plan, list) or _number(node, "num-children"):
            raise NotUnderstood(f"{kind} looks at the rows around it in a way that no join can say")
        inner = _Reader(self._types).read(plan)
        if any(True for _ in choosing_nodes(inner)):
            raise NotUnderstood(f"{kind} may have several right answers")
        if any(each.kind == "LocalRelation" for each in inner.walk()):
            raise NotUnderstood(f"{kind} reads rows of a program, which the plan does not show")
        hidden |= inner.sources


def _types(nodes: object) -> dict[int, str]:
    """Answer the type of each column that anything in the plan refers to."""
    found: dict[int, str] = {}
    waiting = [nodes]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            if each.get("class") and _kind(each) == "AttributeReference":
                number = _identity(each)
                if number is not None:
                    found[number] = _type(each.get("dataType"))
            waiting.extend(value for value in each.values() if isinstance(value, list | dict))
    return found


def _require_expression(node: Json, kind: str, operator: str) -> None:
    """Raise unless the white lists name this expression, in an operator where it may be."""
    if "dataType" in node and kind != "PythonUDF":
        _require_type(node["dataType"])
    if kind == "AggregateExpression":
        mode = node.get("mode")
        if operator not in ("Aggregate", "Window") or "Complete$" not in str(mode):
            raise NotUnderstood(f"an aggregate in {operator} is not among what can be kept up to date")
        return
    if kind == "PythonUDF":
        if node.get("udfDeterministic") is not True or node.get("evalType") not in known.PYTHON_BY_ROW:
            raise NotUnderstood("a Python function that does not see its rows one by one")
        return
    named = known.SCALARS | known.SUBQUERIES
    if operator == "Aggregate":
        named |= known.AGGREGATES_EXACT | known.AGGREGATES_ANY
    if operator == "Window":
        named |= known.AGGREGATES_EXACT | known.AGGREGATES_ANY | known.FRAMES | known.WINDOW_EXACT | known.WINDOW_ANY
    if kind not in named:
        raise NotUnderstood(f"{kind} is not among the expressions that can be kept up to date")


def _require_type(value: object) -> None:
    if isinstance(value, str):
        if not known.is_known_type(value):
            raise NotUnderstood(f"the type {value} is not among those that can be kept up to date")
        return None
    if isinstance(value, Mapping):
        match value.get("type"):
            case "array":
                return _require_type(value.get("elementType"))
            case "struct":
                for field in _list(value.get("fields")):
                    _require_type(field.get("type") if isinstance(field, Mapping) else None)
                return None
    raise NotUnderstood(f"the type {_type(value)} is not among those that can be kept up to date")


def _detail(node: Json, kind: str) -> tuple[tuple[str, str], ...]:
    """Answer what tells this expression from another of its kind, of the kinds that rules look into."""
    match kind:
        case "Literal":
            return (("value", msgspec.json.encode(node.get("value")).decode()),)
        case "AggregateExpression":
            return (("distinct", str(node.get("isDistinct"))),)
        case "SpecifiedWindowFrame":
            return (("frame", str(node.get("frameType"))),)
        case _:
            return ()


def _join(node: Json) -> JoinKind:
    said = node.get("joinType")
    if isinstance(said, Mapping):
        if "exists" in said:
            return JoinKind.EXISTENCE
        name = str(said.get("object", "")).rpartition(".")[2].removesuffix("$")
        for each in JoinKind:
            if each.value == name:
                return each
    raise NotUnderstood("a join of a kind that is not among what can be kept up to date")


def _marked(node: Json) -> str | None:
    if _kind(node) != "SubqueryAlias":
        return None
    identifier = node.get("identifier")
    name = str(identifier.get("name", "")) if isinstance(identifier, Mapping) else ""
    return name.removeprefix(MARK) if name.startswith(MARK) else None


def _kind(node: Json) -> str:
    return str(node.get("class", "")).rpartition(".")[2]


def _number(node: Json, key: str) -> int:
    value = node.get(key)
    return value if isinstance(value, int) else 0


def _identity(node: Json) -> int | None:
    identity = node.get("exprId")
    value = identity.get("id") if isinstance(identity, Mapping) else None
    return value if isinstance(value, int) else None


def _type(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _expressions(value: object) -> list[list[Json]]:
    """Answer a list of expressions; one alone is a list of one."""
    if not isinstance(value, list) or not value:
        return []
    return value if isinstance(value[0], list) else [value]


def _end(nodes: Sequence[Json], start: int) -> int:
    """Answer where the subtree that begins at `start` ends."""
    open_children, place = 1, start
    while open_children:
        open_children += _number(nodes[place], "num-children") - 1
        place += 1
    return place
