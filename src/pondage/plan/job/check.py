"""Checks on the flat graph: ports, expressions, forks, iterator edges, cycles, and what can never run.

A condition with a name that nothing ever writes is silently False (R-040), so the plan warns of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from pondage.define.types.port import Port, declared_port
from pondage.define.types.unify import Structures
from pondage.define.values.suggestion import meant
from pondage.expr import ExprSyntax, compile_text
from pondage.expr.nodes import Dot, Name, Node, children
from pondage.kernel.control.shape import EdgeKind, Virtual
from pondage.plan.job.graph import Findings, Graph, Vertex, a_cycle, successors
from pondage.plan.job.iterators import check_iterator
from pondage.plan.job.params import check_params

_ROOTS = ("global", "context")
_COUNTS = ("NB_OK", "NB_ERROR", "FAILED")
"""What every iterator has after it."""

_ITERATION = (EdgeKind.ITERATION_OK, EdgeKind.ITERATION_ERROR, EdgeKind.ITERATOR_COMPLETE)


def check(graph: Graph, findings: Findings, structures: Structures) -> bool:
    """Note everything that is wrong; False when the graph has a cycle and cannot be planned any further."""
    check_ports(graph, findings)
    _check_conditions(graph, findings)
    warn_of_names(graph, findings)
    _check_forks(graph, findings)
    for edge in graph.control:
        if edge.kind in _ITERATION and not graph.vertices[edge.source].is_iterator:
            message = f"{edge.kind.value} edge on {edge.source}, which is not an iterator"
            findings.wrong("ITERATOR_EDGE", message, edge.place)
    for vertex in graph.vertices.values():
        if vertex.virtual is Virtual.NONE and vertex.definition is not None:
            check_params(vertex.definition, vertex.call, findings, structures)
        if vertex.is_iterator:
            check_iterator(vertex.call, findings)
        _warn_startable(graph, vertex, findings)
    cycle = a_cycle(successors(graph))
    if cycle is not None:
        place = graph.vertices[cycle[0]].call.place
        findings.wrong("CYCLE_DETECTED", " -> ".join(cycle), place)
        return False
    _check_activation(graph, findings)
    return True


def input_port(graph: Graph, vertex: Vertex, name: str) -> Port | None:
    """Give the declaration of an input; a proxy's is that of whatever it feeds inside the joblet."""
    if vertex.virtual is Virtual.NONE:
        assert vertex.definition is not None
        return declared_port(vertex.definition.inputs, name)
    if vertex.virtual is Virtual.OUT:
        return Port(required=False, multi=True)
    inner = [
        found
        for data in graph.links().get((vertex.name, name), ())
        if (found := input_port(graph, graph.vertices[data.target], data.target_port)) is not None
    ]
    if not inner:
        return Port(required=False)
    return Port(
        type=inner[0].type, required=any(port.required for port in inner), multi=all(port.multi for port in inner)
    )


def check_ports(graph: Graph, findings: Findings) -> None:
    """Every connected port must exist, and a port that is not `multi` has one connection."""
    connections: Counter[tuple[str, str]] = Counter(graph.given.values())
    for (name, given), times in connections.items():
        port = input_port(graph, graph.vertices[name], given)
        if times > 1 and port is not None and not port.multi:
            message = f"{name}.{given} takes one connection"
            findings.wrong("MULTI_IN_NOT_ALLOWED", message, graph.vertices[name].call.place)
    for data in graph.data:
        source, target = graph.vertices[data.source], graph.vertices[data.target]
        if source.definition is not None and declared_port(source.definition.outputs, data.source_port) is None:
            near = meant(data.source_port, source.definition.outputs)
            findings.wrong("UNKNOWN_PORT", f"{source.name} has no output port {data.source_port!r}{near}", data.place)
        if target.definition is not None and declared_port(target.definition.inputs, data.target_port) is None:
            near = meant(data.target_port, target.definition.inputs)
            findings.wrong("UNKNOWN_PORT", f"{target.name} has no input port {data.target_port!r}{near}", data.place)
            continue
        connections[data.target, data.target_port] += 1
        if connections[data.target, data.target_port] == 2:
            port = input_port(graph, target, data.target_port)
            if port is not None and not port.multi and target.virtual is not Virtual.OUT:
                message = f"{target.name}.{data.target_port} takes one connection"
                findings.wrong("MULTI_IN_NOT_ALLOWED", message, data.place)


def _check_conditions(graph: Graph, findings: Findings) -> None:
    orders: set[tuple[str, int]] = set()
    for edge in graph.control:
        if edge.kind is not EdgeKind.IF:
            continue
        if (edge.source, edge.order) in orders:
            message = f"{edge.source} has two conditions with the order {edge.order}"
            findings.wrong("DUPLICATE_IF_ORDER", message, edge.place)
        orders.add((edge.source, edge.order))
        try:
            compile_text(edge.expression)
        except ExprSyntax as error:
            findings.wrong("EXPR_SYNTAX", f"{edge.source} ({edge.label}): {error}", edge.place)


def _check_forks(graph: Graph, findings: Findings) -> None:
    targets: dict[str, dict[str, None]] = defaultdict(dict)
    forks: dict[str, dict[str, None]] = defaultdict(dict)
    for edge in graph.control:
        if edge.kind is EdgeKind.PARALLELISE:
            targets[edge.source][edge.target] = None
            forks[edge.target][edge.source] = None
    for source, found in targets.items():
        if len(found) < 2:
            message = f"{source} parallelises {len(found)} target(s); at least 2 are required"
            findings.wrong("PARALLELISE_FANOUT", message, graph.vertices[source].call.place)
    for target, sources in forks.items():
        if len(sources) > 1:
            message = f"{target} is the target of the forks {', '.join(sources)}"
            findings.wrong("AMBIGUOUS_FORK", message, graph.vertices[target].call.place)


def is_startable(vertex: Vertex, inbound: bool) -> bool:
    """May it begin without inbound control (R-130)? The end of a call never does: its joblet settles it."""
    if vertex.virtual is Virtual.OUT:
        return False
    declared = vertex.call.startable or (vertex.definition is not None and vertex.definition.startable)
    return not inbound or (declared and vertex.virtual is Virtual.NONE)


def _warn_startable(graph: Graph, vertex: Vertex, findings: Findings) -> None:
    if vertex.virtual is not Virtual.NONE:
        return
    has_control = any(edge.target == vertex.name and not edge.is_implicit for edge in graph.control) if (
        vertex.call.startable or (vertex.definition is not None and vertex.definition.startable)
    ) else False  # fmt: skip
    if has_control:
        message = f"{vertex.name} is startable: it begins at once, whatever its inbound control edges say"
        findings.doubtful("STARTABLE_WITH_CONTROL", message, vertex.call.place)


def _check_activation(graph: Graph, findings: Findings) -> None:
    """The activation fix-point: who can never become runnable because a required input is unbound (C-22)?"""
    inbound: dict[str, list[str]] = defaultdict(list)
    producers: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for edge in graph.control:
        inbound[edge.target].append(edge.source)
    for data in graph.data:
        producers[data.target][data.target_port].append(data.source)
    given = {(name, port) for name, port in graph.given.values()}
    needs = {name: _needs(graph, vertex, producers[name], given) for name, vertex in graph.vertices.items()}
    following = successors(graph)
    active: set[str] = set()
    queue = list(graph.vertices)
    while queue:
        name = queue.pop()
        if name in active or not _is_active(graph.vertices[name], active, inbound[name], needs[name]):
            continue
        active.add(name)
        queue += following[name]
    never = [
        name for name, vertex in graph.vertices.items() if name not in active and vertex.virtual is not Virtual.OUT
    ]
    if never:
        names = ", ".join(never)
        findings.wrong("UNCONNECTED_NODE", f"{names} can never become runnable", graph.vertices[never[0]].call.place)


def _needs(
    graph: Graph, vertex: Vertex, producers: dict[str, list[str]], given: set[tuple[str, str]]
) -> list[list[str]]:
    """Give, for each required input that the job is not given, who could feed it."""
    if vertex.virtual is Virtual.OUT:
        return []
    if vertex.definition is None:
        return [
            sources
            for port, sources in producers.items()
            if (declared := input_port(graph, vertex, port)) is not None and declared.required
        ]
    found = []
    handed = {port for name, port in given if name == vertex.name}
    for name, port in vertex.definition.inputs.items():
        if any(declared_port({name: port}, one) is not None for one in handed):
            continue
        if port.required and name.endswith("*"):
            found.append([who for one, sources in producers.items() if one.startswith(name[:-1]) for who in sources])
        elif port.required:
            found.append(producers.get(name, []))
    return found


def _is_active(vertex: Vertex, active: set[str], inbound: list[str], needs: list[list[str]]) -> bool:
    if vertex.virtual is Virtual.OUT:
        return f"{vertex.caller}.__proxy_in" in active
    if not is_startable(vertex, bool(inbound)) and not any(source in active for source in inbound):
        return False
    return all(any(source in active for source in sources) for sources in needs)


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
