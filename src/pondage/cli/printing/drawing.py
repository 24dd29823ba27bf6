"""A graph as plain SVG: boxes in layers from left to right, with labelled arrows."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 34, 70, 22, 24

Arrow = tuple[int, int, str, str]
"""From which box to which, the label, the colour."""


def drawing(names: Sequence[str], edges: Sequence[Arrow], fills: Sequence[str]) -> str:
    """Answer the picture of the boxes with these names and colours."""
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


def _layers(count: int, edges: Sequence[Arrow]) -> list[int]:
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
