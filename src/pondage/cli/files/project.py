"""A project as it is sent to be planned or deployed: declarations, jobs, and its code, packed."""

from __future__ import annotations

import msgspec

from pondage.cli.files.job import project_jobs
from pondage.define.job.exposed import exposed_by
from pondage.ledger.act.branching import Choice
from pondage.operations.uploads import Read
from pondage.project.archive import pack_project
from pondage.project.project import Project
from pondage.project.reader import read_declared


def read_project(project: Project, *, has_jobs: bool = True) -> Read:
    """Read the files of a project, in a process of its own, and pack its code."""
    from pondage.cli.files.registry import not_of_library

    declared = read_declared(project)
    return Read(
        project=project.name,
        archive=pack_project(project).data,
        ponds=declared.ponds,
        reactors=declared.reactors,
        jobs=project_jobs(project) if has_jobs else {},
        pools=project.pools,
        exposed=exposed_by(not_of_library(declared.components), project.types),
    )


def chosen(project: Project, choice: Choice) -> Choice:
    """Answer what was chosen, with what the project file says about environments."""
    return msgspec.structs.replace(choice, parents=project.parents)
