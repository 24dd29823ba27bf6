"""Trees on their way to the ledger: read, planned with what the project knows, or refused with all that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pondage.define.flow import MAX_DOCUMENT, FlowRefused
from pondage.define.job import JobProblem

if TYPE_CHECKING:
    from pondage.plan.flow import PlannedFlow
    from pondage.plan.stored_job import StoredJob
    from pondage.read.project import Project

REFUSED = 4
STANDARD_INPUT = "-"


def planned_tree(file: str, *, name: str | None = None) -> PlannedFlow:
    """Load and plan a tree with what the project knows; raises FlowRefused with everything that is wrong."""
    from pondage.cli.registry import known_components, known_types, this_project
    from pondage.components.registry import built_in_schemas
    from pondage.plan.flow import plan_flow
    from pondage.read.tree import load_tree, load_tree_file

    if file == STANDARD_INPUT:
        loaded = load_tree(sys.stdin.buffer.read(MAX_DOCUMENT + 1), file="standard input")
    else:
        loaded = load_tree_file(Path(file))
    if loaded.tree is None:
        raise FlowRefused(loaded.problems)
    project = this_project()
    return plan_flow(
        loaded.tree,
        known_components(),
        schemas=built_in_schemas(),
        types=known_types(),
        locations=project.locations if project is not None else {},
        secrets=project.secrets if project is not None else {},
        name=name or ("flow" if file == STANDARD_INPUT else Path(file).stem),
    )


def stored_tree(project: Project, file: str, *, name: str | None) -> tuple[StoredJob, bytes]:
    """Answer a tree as it is stored, and the project's code that it runs with; raises FlowRefused."""
    from pondage.cli.registry import known_components
    from pondage.plan.stored_job import stored_job
    from pondage.read.archive import pack_project

    planned = planned_tree(file, name=name)
    archive = pack_project(project)
    source = "" if file == STANDARD_INPUT else Path(file).name
    stored = stored_job(planned.plan, known_components(), archive=archive.digest, file=source, flow=planned.facts)
    return stored, archive.data


def problem_line(problem: JobProblem) -> str:
    """Answer a problem in one line: the pointer to its place, what is wrong, and its code."""
    return f"{problem.path or '/'}: {problem.message} [{problem.code}]"


def problem_json(problem: JobProblem) -> dict[str, object]:
    """Answer a problem as JSON has it; a clash of types with both types and every difference."""
    found: dict[str, object] = {"code": problem.code, "pointer": problem.path, "message": problem.message}
    if problem.clash is not None:
        found["types"] = problem.clash
    return found


def refuse(error: FlowRefused, *, is_json: bool) -> NoReturn:
    """Print everything that is wrong with a tree, and end with exit code 4."""
    import click

    from pondage.cli.output import print_json

    if is_json:
        print_json({"ok": False, "problems": [problem_json(one) for one in error.problems]})
    else:
        for problem in error.problems:
            click.echo(problem_line(problem))
        click.echo(f"{len(error.problems)} problem(s)")
    sys.exit(REFUSED)
