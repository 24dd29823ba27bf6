"""A plan of a job as text and as a picture: boxes coloured by sub-job."""

from __future__ import annotations

from pathlib import Path

import click

from pondage.cli.client.settings import Verb, json_option
from pondage.cli.files.job import planned_or_refused
from pondage.cli.look.job.options import file_argument
from pondage.cli.printing.drawing import drawing
from pondage.cli.printing.output import print_json
from pondage.cli.printing.target import replace_text
from pondage.kernel.control import JobPlan
from pondage.kernel.control.shape import EdgeKind, Virtual

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
    return drawing(*_flat(plan))


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


@click.command("graph", cls=Verb)
@file_argument
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw it into this file (-: print it).")
@json_option
def graph(file: Path, svg: Path | None, is_json: bool) -> None:
    """Show components, edges and sub-jobs of a job file: as text, as a picture, or the whole plan as JSON."""
    plan = planned_or_refused(file).plan
    if is_json:
        print_json(plan)
    elif svg is None:
        click.echo(text_of(plan))
    elif str(svg) == "-":
        click.echo(svg_of(plan))
    else:
        replace_text(svg, svg_of(plan))
        click.echo(f"drawn into {svg}")
