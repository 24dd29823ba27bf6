"""Job files on their way to the ledger: planned, refused with everything that is wrong, or stored with their code."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from pondage.cli.files import registry
from pondage.cli.files.inference import Asker
from pondage.cli.printing.errors import REFUSED_EXIT
from pondage.define.job.job import JobProblem, JobRefused
from pondage.errors import ProjectError
from pondage.ledger.tables.job_plans import StoredJob, stored_job
from pondage.plan.job.inference import Inference
from pondage.plan.job.planner import PlannedJob, plan_job
from pondage.project.archive import pack_project
from pondage.project.job import load_job_file
from pondage.project.project import Project


def problem_line(problem: JobProblem) -> str:
    """Answer a problem in one line: where, what, and its code."""
    place = problem.place
    where = f"{place.file}:{place.line}:{place.column}: " if place.line else f"{place.file}: " if place.file else ""
    path = problem.path if problem.path and problem.path.startswith("$") else ""
    return f"{where}{path + ': ' if path else ''}{problem.message} [{problem.code}]"


def planned_or_refused(
    file: Path, *, fuses: bool = True, is_alone: bool = False, inferring: Asker | None = None
) -> PlannedJob:
    """Answer a planned job file; else print everything that is wrong with it and end with exit code 4."""
    try:
        return planned_file(file, fuses=fuses, is_alone=is_alone, inferring=inferring)
    except JobRefused as error:
        for problem in error.problems:
            click.echo(problem_line(problem), err=True)
        sys.exit(REFUSED_EXIT)


def stored_file(
    project: Project, file: Path, *, fuses: bool = True, inferring: Asker | None = None
) -> tuple[StoredJob, bytes]:
    """Answer a job file as it is stored, and the project's code that it runs with."""
    planned = planned_or_refused(file, fuses=fuses, is_alone=True, inferring=inferring)
    plan = planned.plan
    plan = plan if plan.name else msgspec.structs.replace(plan, name=file.stem)
    archive = pack_project(project)
    stored = stored_job(
        plan, registry.known_components(), archive=archive.digest, file=file.name, schedule=planned.schedule
    )
    return stored, archive.data


def project_jobs(project: Project) -> dict[str, StoredJob]:
    """Answer the jobs of a project: every file in `jobs/` that has a name, which joblets have not, and no inputs, which
    the bodies of Ripples have."""
    found: dict[str, StoredJob] = {}
    for file in project.job_files:
        loaded = load_job_file(file)
        if loaded.job is not None and (not loaded.job.name or loaded.job.inputs):
            continue
        stored, _ = stored_file(project, file)
        if stored.plan.name in found:
            raise ProjectError(f"two files declare the job {stored.plan.name}", place=str(file), code="DUPLICATE_JOB")
        found[stored.plan.name] = stored
    return found


def planned_file(
    path: Path, *, fuses: bool = True, is_alone: bool = False, inferring: Asker | None = None
) -> PlannedJob:
    """Load and plan a job file; raises JobRefused with everything that is wrong.

    Who is `inferring` asks Spark for the types that only it knows, unless something is wrong without them.
    """
    loaded = load_job_file(path)
    job = loaded.job
    if job is None:
        raise JobRefused(loaded.problems)
    components, schemas, types = registry.known_components(), registry.known_schemas(), registry.known_types()

    def plan(inference: Inference | None) -> PlannedJob:
        return plan_job(
            job, loaded.joblets, components, fuses=fuses, problems=loaded.problems, schemas=schemas, types=types,
            is_alone=is_alone, inference=inference,
        )  # fmt: skip

    planned = plan(None)
    if inferring is None or not planned.unresolved:
        return planned
    return inferring.planned(plan, code="", archive=registry.this_code)
