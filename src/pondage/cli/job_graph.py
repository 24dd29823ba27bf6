"""A plan of a job as text and as a picture. The picture is plain SVG: boxes in layers, coloured by sub-job."""

from __future__ import annotations

from html import escape

from pondage.kernel.control import JobPlan
from pondage.kernel.control.shape import EdgeKind, Virtual

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 34, 70, 22, 24
_FILLS = ("#e3f2fd", "#e8f5e9", "#fff3e0", "#f3e5f5", "#fce4ec", "#e0f7fa", "#f9fbe7", "#efebe9")
_STROKES = {
    EdgeKind.OK: "#2e7d32",
    EdgeKind.ERROR: "#c62828",
    EdgeKind.IF: "#6a1b9a",
    EdgeKind.PARALLELISE: "#1565c0",
    EdgeKind.SYNCHRONISE: "#1565c0",
    EdgeKind.SUBJOB_OK: "#2e7d32",
    EdgeKind.SUBJOB_ERROR: "#c62828",
}


def text_of(plan: JobPlan, indent: str = "") -> str:
    """Answer sub-jobs with their components, and what leaves each component."""
    lines = []
    for number, sub in enumerate(plan.subs):
        lines.append(f"{indent}sub-job {sub.name} (index {number})")
        for member in sub.members:
            component = plan.components[member]
            marks = "".join(
                (" startable" if component.startable else "", "" if component.die_on_error else " tolerated")
            )
            lines.append(f"{indent}  {component.name}: {component.type}{marks}")
            lines += [f"{indent}    {text}" for text in _leaving(plan, member)]
            if component.name in plan.bodies:
                lines.append(f"{indent}    for each element:")
                lines.append(text_of(plan.bodies[component.name], indent + "      "))
    for group in plan.groups:
        lines.append(f"{indent}fused: {', '.join(plan.components[at].name for at in group)}")
    return "\n".join(lines)


def _leaving(plan: JobPlan, at: int) -> list[str]:
    found = [f"({edge.label}) {plan.components[edge.target].name}" for edge in plan.control if edge.source == at]
    return found + [
        f"{data.source_port} -> {plan.components[data.target].name}.{data.target_port}"
        for data in plan.data
        if data.source == at
    ]


def svg_of(plan: JobPlan) -> str:
    """Answer the picture of the expanded job; bodies of iterators are drawn as boxes of their iterator's layer."""
    names, edges, fills = _flat(plan)
    layer = _layers(len(names), edges)
    columns: dict[int, list[int]] = {}
    for at in range(len(names)):
        columns.setdefault(layer[at], []).append(at)
    spots = {
        at: (MARGIN + column * (WIDTH + GAP_X), MARGIN + row * (HEIGHT + GAP_Y))
        for column, found in columns.items()
        for row, at in enumerate(found)
    }
    width = 2 * MARGIN + len(columns) * (WIDTH + GAP_X)
    height = 2 * MARGIN + max((len(found) for found in columns.values()), default=1) * (HEIGHT + GAP_Y)
    head = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
    )
    frame = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">'
    )
    parts = [frame, head]
    parts += [_line(spots[source], spots[target], label, colour) for source, target, label, colour in edges]
    parts += [_box(spots[at], name, fills[at]) for at, name in enumerate(names)]
    return "\n".join([*parts, "</svg>"])


def _flat(plan: JobPlan) -> tuple[list[str], list[tuple[int, int, str, str]], list[str]]:
    names = [component.name for component in plan.components]
    fills = [
        "#ffffff" if component.virtual is not Virtual.NONE else _FILLS[component.sub % len(_FILLS)]
        for component in plan.components
    ]
    edges = [
        (edge.source, edge.target, edge.label, _STROKES.get(edge.kind, "#00838f"))
        for edge in plan.control
        if edge.source >= 0
    ]
    edges += [(data.source, data.target, "", "#9e9e9e") for data in plan.data]
    for name, body in plan.bodies.items():
        inner, inner_edges, inner_fills = _flat(body)
        shift, owner = len(names), names.index(name)
        names += inner
        fills += inner_fills
        edges += [(source + shift, target + shift, label, colour) for source, target, label, colour in inner_edges]
        targets = {target for _, target, _, _ in inner_edges}
        edges += [(owner, at + shift, "each", "#00838f") for at in range(len(inner)) if at not in targets]
    return names, edges, fills


def _layers(count: int, edges: list[tuple[int, int, str, str]]) -> list[int]:
    layer = [0] * count
    for _ in range(count):
        moved = False
        for source, target, _, _ in edges:
            if layer[target] <= layer[source] and source != target:
                layer[target] = layer[source] + 1
                moved = True
        if not moved:
            break
    return layer


def _box(spot: tuple[int, int], name: str, fill: str) -> str:
    x, y = spot
    shown = name if len(name) <= 22 else f"…{name[-21:]}"
    return (
        f'<g><title>{escape(name)}</title><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
        f'fill="{fill}" stroke="#455a64"/><text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 4:g}" '
        f'text-anchor="middle">{escape(shown)}</text></g>'
    )


def _line(start: tuple[int, int], end: tuple[int, int], label: str, colour: str) -> str:
    x1, y1, x2, y2 = start[0] + WIDTH, start[1] + HEIGHT / 2, end[0], end[1] + HEIGHT / 2
    middle = (x1 + x2) / 2
    path = (
        f'<path d="M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}" fill="none" '
        f'stroke="{colour}" marker-end="url(#head)"/>'
    )
    if not label:
        return path
    text = f'<text x="{middle:g}" y="{(y1 + y2) / 2 - 3:g}" text-anchor="middle" fill="{colour}" font-size="10">'
    return f"{path}{text}{escape(label)}</text>"
