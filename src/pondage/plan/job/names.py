"""Names in conditions that nothing ever writes: such a condition is silently False (R-040), so the plan says so."""

from __future__ import annotations

from collections.abc import Iterator

from pondage.define.values.meant import meant
from pondage.expr import ExprSyntax, compile_text
from pondage.expr.nodes import Dot, Name, Node, children
from pondage.kernel.control.shape import EdgeKind, Virtual
from pondage.plan.job.graph import Findings, Graph, Vertex

_ROOTS = ("global", "context")
_COUNTS = ("NB_OK", "NB_ERROR", "FAILED")
"""What every iterator has after it."""


def warn_of_names(graph: Graph, findings: Findings) -> None:
    """Warn of names in conditions that their component cannot have. Only where all components declare what they write.

    Inside a joblet a name may also be a sibling's; a name with `__` may be another component's after-variable.
    """
    known = _globals_of(graph)
    if known is None:
        return
    for edge in graph.control:
        source = graph.vertices.get(edge.source)
        if edge.kind is not EdgeKind.IF or source is None or source.caller or source.definition is None:
            continue
        after = _after_of(source)
        for name, is_global in () if after is None else _names_of(edge.expression):
            visible = known if is_global or after is None else known | after
            if name not in visible and "__" not in name:
                message = f"{source.name} ({edge.label}): nothing writes {name!r}: where it is asked for, the condition"
                findings.doubtful("UNKNOWN_NAME", f"{message} is False{meant(name, sorted(visible))}", edge.place)


def _globals_of(graph: Graph) -> set[str] | None:
    """Give the globals that the components write; None when one of them may write any."""
    found: set[str] = set()
    for vertex in graph.vertices.values():
        if vertex.virtual is not Virtual.NONE:
            continue
        if vertex.definition is None or vertex.definition.globals is None:
            return None
        found.update(vertex.definition.globals)
    return found


def _after_of(vertex: Vertex) -> set[str] | None:
    if vertex.definition is None or vertex.definition.after is None:
        return None
    return {*vertex.definition.after, *(_COUNTS if vertex.is_iterator else ())}


def _names_of(expression: str) -> Iterator[tuple[str, bool]]:
    """Give the names that an expression looks up, each once, and if it is written `global.name`."""
    try:
        waiting: list[Node] = [compile_text(expression)]
    except ExprSyntax:
        return
    seen: set[tuple[str, bool]] = set()
    while waiting:
        node = waiting.pop()
        found = None
        if isinstance(node, Dot) and isinstance(node.value, Name) and node.value.name == "global":
            found = node.field, True
        elif isinstance(node, Name) and node.name not in _ROOTS:
            found = node.name, False
        if found is not None and found not in seen:
            seen.add(found)
            yield found
        waiting += reversed(children(node))
