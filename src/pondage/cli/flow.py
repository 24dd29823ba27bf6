"""`pondage flow`: trees that users build as data. This module checks them; it needs neither a ledger nor Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pondage.cli.output import print_json, print_table
from pondage.cli.settings import Settings, Verb, json_option, pass_settings
from pondage.define.flow import FlowRefused
from pondage.define.job import JobProblem

if TYPE_CHECKING:
    from pondage.plan.flow import PlannedFlow

REFUSED = 4


@click.group()
def flow() -> None:
    """Flows: trees of programs and constants, written as JSON, typed before they run."""


@flow.command("check", cls=Verb)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@pass_settings
def check(settings: Settings, file: Path, is_json: bool) -> None:
    """Check a tree and print everything that is wrong with it, or the types on its edges.

    Exits 0 when it can run, 4 when it is refused.
    """
    try:
        planned = planned_tree(file)
    except FlowRefused as error:
        if is_json:
            print_json({"ok": False, "problems": [_as_json(one) for one in error.problems]})
        else:
            for problem in error.problems:
                click.echo(problem_line(problem))
            click.echo(f"{len(error.problems)} problem(s)")
        sys.exit(REFUSED)
    if is_json:
        print_json(
            {
                "ok": True,
                "problems": [],
                "plan": planned.plan.hash,
                "edges": planned.edges,
                "extracts": {
                    name: {"from": f"{one.node}.{one.port}", "type": planned.extract_types[name], "format": one.format}
                    for name, one in planned.extracts.items()
                },
                "unresolved": planned.unresolved,
            }
        )
        return
    rows = [(one.source, one.target, "stream" if one.is_stream else "table", one.type) for one in planned.edges]
    rows += [
        (f"{one.node}.{one.port}", f"extract {name}", one.format, planned.extract_types[name])
        for name, one in planned.extracts.items()
    ]
    print_table(settings, ("FROM", "TO", "AS", "TYPE"), rows)
    for port in planned.unresolved:
        click.echo(f"unresolved: the type of {port} is known only to Spark")
    click.echo(f"ok: {len(planned.plan.components)} nodes, {len(planned.edges)} edges, plan {planned.plan.hash[:12]}")


def planned_tree(file: Path) -> PlannedFlow:
    """Load and plan a tree with what the project knows; raises FlowRefused with everything that is wrong."""
    from pondage.cli.registry import known_components, known_types, this_project
    from pondage.components.registry import built_in_schemas
    from pondage.plan.flow import plan_flow
    from pondage.read.tree import load_tree_file

    loaded = load_tree_file(file)
    if loaded.tree is None:
        raise FlowRefused(loaded.problems)
    project = this_project()
    return plan_flow(
        loaded.tree,
        known_components(),
        schemas=built_in_schemas(),
        types=known_types(),
        locations=project.locations if project is not None else {},
        name=file.stem,
    )


def problem_line(problem: JobProblem) -> str:
    """Answer a problem in one line: the pointer to its place, what is wrong, and its code."""
    return f"{problem.path or '/'}: {problem.message} [{problem.code}]"


def _as_json(problem: JobProblem) -> dict[str, object]:
    found: dict[str, object] = {"code": problem.code, "pointer": problem.path, "message": problem.message}
    if problem.clash is not None:
        found["types"] = problem.clash
    return found
