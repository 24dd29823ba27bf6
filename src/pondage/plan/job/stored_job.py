"""A planned job as it is stored and deployed: with the components that it names."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pondage.define.job.component import ComponentDefinition, Registry
from pondage.define.job.flow import CONST, FlowFacts
from pondage.define.pond.definition import ScheduleDefinition
from pondage.kernel.control import JobPlan
from pondage.kernel.control.shape import PlanComponent, Virtual


class StoredJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that can run: nothing that happens to files or registries later changes it.

    `archive` is the digest of the project's code, which its executions run with; empty when any worker will do.
    """

    plan: JobPlan
    components: dict[str, ComponentDefinition]
    archive: str = ""
    file: str = ""
    schedule: ScheduleDefinition | None = None
    labels: tuple[str, ...] = ()
    pool: str = ""
    """Beside those of the components: what the Pond whose Ripple the job is demands of every execution."""
    flow: FlowFacts | None = None
    """Of a tree that somebody submitted."""


def stored_job(
    plan: JobPlan,
    registry: Registry,
    *,
    archive: str = "",
    file: str = "",
    schedule: ScheduleDefinition | None = None,
    flow: FlowFacts | None = None,
) -> StoredJob:
    """Make what is stored of a planned job: a snapshot of the components that it names comes with it."""
    types = sorted({shape.type for shape in shapes_of(plan) if shape.virtual is Virtual.NONE})
    components = {name: CONST if name == CONST.name else registry[name] for name in types}
    return StoredJob(plan=plan, components=components, archive=archive, file=file, schedule=schedule, flow=flow)


def plans_of(plan: JobPlan) -> Iterator[JobPlan]:
    """Give a job and the bodies of its iterators."""
    yield plan
    for body in plan.bodies.values():
        yield from plans_of(body)


def shapes_of(plan: JobPlan) -> Iterator[PlanComponent]:
    """Give every component of a job, those of bodies too."""
    for one in plans_of(plan):
        yield from one.components
