"""Trees on their way to the ledger: read, planned with what the project knows, or refused with all that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from pondage.cli.client.desk import Desk
from pondage.cli.files import registry
from pondage.cli.files.inference import Asker
from pondage.cli.printing.errors import refuse
from pondage.define.job.component import Registry
from pondage.define.job.flow import MAX_DOCUMENT, FlowRefused, Tree
from pondage.define.job.job import JobProblem
from pondage.define.types.type_registry import TypeRegistry
from pondage.errors import NotFound
from pondage.ledger.act import flow_constants
from pondage.operations import flows
from pondage.plan.flow.code import code_of
from pondage.plan.flow.planner import PlannedFlow, plan_flow
from pondage.plan.job.inference import Inference
from pondage.plan.job.stored_job import StoredJob, stored_job
from pondage.project.archive import pack_project
from pondage.project.project import Project
from pondage.project.tree import load_tree, load_tree_file

STANDARD_INPUT = "-"
_UNKNOWN = ("UNKNOWN_PROG", "SCHEMA", "PARAMS_SCHEMA")
"""Problems that may be none with what is deployed: a program, or the name of a type."""


def planned_tree(
    file: str, *, name: str | None = None, opened: Desk | None = None, inferring: Asker | None = None
) -> PlannedFlow:
    """Load and plan a tree with the library, the project's files and what is deployed; raises FlowRefused with
    everything that is wrong. Nobody is asked what is deployed when the tree fits without it.
    """
    planned = _planned(file, name, opened, inferring)[0]
    _require_stored(planned, opened)
    return planned


def _require_stored(planned: PlannedFlow, opened: Desk | None) -> None:
    """Refuse a tree that names constants which nobody has stored, as far as somebody can be asked."""
    named = flow_constants.refs(planned.plan)
    if not named:
        return
    if opened is None:
        with registry.opened() as other:
            if other is not None:
                _require_stored(planned, other)
            else:
                click.echo("whether its constants are stored is not known: there is no ledger here", err=True)
            return
    problems = []
    for node, ref in named.items():
        try:
            opened.ask(flows.flow_constant, ref=ref)
        except NotFound:
            problems.append(flow_constants.missing(node))
    if problems:
        raise FlowRefused(problems)


def _planned(
    file: str, name: str | None, opened: Desk | None, inferring: Asker | None
) -> tuple[PlannedFlow, Registry, str]:
    if file == STANDARD_INPUT:
        loaded = load_tree(sys.stdin.buffer.read(MAX_DOCUMENT + 1), file="standard input")
    else:
        loaded = load_tree_file(Path(file))
    if loaded.tree is None:
        raise FlowRefused(loaded.problems)
    chosen = name or ("flow" if file == STANDARD_INPUT else Path(file).stem)
    components, types = registry.known_components(), registry.known_types()
    try:
        return _plan(loaded.tree, components, types, chosen, inferring)
    except FlowRefused as error:
        found = registry.deployed(opened) if any(one.code in _UNKNOWN for one in error.problems) else None
        if found is None:
            raise
    return _plan(loaded.tree, {**found[0], **components}, {**found[1], **types}, chosen, inferring)


def _plan(
    tree: Tree, components: Registry, types: TypeRegistry, name: str, inferring: Asker | None
) -> tuple[PlannedFlow, Registry, str]:
    project = registry.this_project()
    components, code = code_of(tree, components)
    schemas = registry.known_schemas()

    def plan(inference: Inference | None) -> PlannedFlow:
        return plan_flow(
            tree,
            components,
            schemas=schemas,
            types=types,
            locations=project.locations if project is not None else {},
            secrets=project.secrets if project is not None else {},
            name=name,
            inference=inference,
        )

    planned = plan(None)
    if inferring is not None and planned.unresolved:
        planned = inferring.planned(plan, code=code, archive=registry.this_code)
    return planned, components, code


def stored_tree(
    project: Project | None,
    file: str,
    *,
    name: str | None,
    opened: Desk | None = None,
    inferring: Asker | None = None,
) -> tuple[StoredJob, bytes]:
    """Answer a tree as it is stored, and the project's code that it runs with; raises FlowRefused.

    No code comes with a tree whose programs are all deployed, nor outside of a project.
    """
    planned, components, code = _planned(file, name, opened, inferring)
    source = "" if file == STANDARD_INPUT else Path(file).name
    archive = None if code or project is None else pack_project(project)
    digest = code if archive is None else archive.digest
    stored = stored_job(planned.plan, components, archive=digest, file=source, flow=planned.facts)
    return stored, b"" if archive is None else archive.data


def problem_line(problem: JobProblem) -> str:
    """Answer a problem in one line: the pointer to its place, what is wrong, and its code."""
    return f"{problem.path or '/'}: {problem.message} [{problem.code}]"


def problem_json(problem: JobProblem) -> dict[str, object]:
    """Answer a problem as JSON has it; a clash of types with both types and every difference."""
    found: dict[str, object] = {"code": problem.code, "pointer": problem.path, "message": problem.message}
    if problem.clash is not None:
        found["types"] = problem.clash
    return found


def refuse_tree(error: FlowRefused, *, is_json: bool) -> NoReturn:
    """Print everything that is wrong with a tree, and end with exit code 4."""
    view = {"ok": False, "problems": [problem_json(one) for one in error.problems]}
    refuse([problem_line(one) for one in error.problems], view, is_json=is_json)
