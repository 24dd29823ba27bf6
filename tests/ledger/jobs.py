"""Jobs on a ledger with a fake clock, and a worker whose components do what a test says."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.component import ComponentDefinition, Registry
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.tables import job_runs
from pondage.ledger.tables.job_plans import StoredJob, stored_job
from pondage.ledger.tables.job_runs import JobRunRow
from pondage.plan.job.planner import plan_job
from pondage.project.job import load_job
from pondage.views.jobs.jobs import JobRunDetail, job_run
from pondage.work.component import ComponentResult, ComponentTask, Member, MemberResult
from pondage.work.snapshot import SnapshotContent
from tests.ledger.harness import SCHEMA, SECOND, Worker, World

FUSED = {
    name: msgspec.structs.replace(definition, deterministic=True, after=(), globals=())
    for name, definition in TEST_REGISTRY.items()
}
"""The test registry with components that may be fused."""


def job(text: str, *, registry: Registry = TEST_REGISTRY, fuses: bool = True) -> StoredJob:
    """A planned job."""
    loaded = load_job(text, lambda _name: None, file="job.yaml")
    assert loaded.job is not None, loaded.problems
    planned = plan_job(loaded.job, {}, registry, fuses=fuses, problems=loaded.problems)
    return stored_job(planned.plan, registry)


def component(name: str, **changes: object) -> ComponentDefinition:
    """A component of the test registry with something different."""
    return msgspec.structs.replace(TEST_REGISTRY[name], **changes)


def table(held: Work, member: Member, port: str) -> SnapshotContent:
    """What a component would have written."""
    return SnapshotContent(
        path=f"/warehouse/{held.claim.token}/{member.instance}/{port}",
        files=(),
        schema=SCHEMA,
        rows=1,
        bytes=10,
    )


def component_result(held: Work, failing: Collection[str] = (), **given: object) -> ComponentResult:
    """What a worker answers: tables for every port that must be written, or the failure of the first that fails."""
    assert isinstance(held.task, ComponentTask)
    members: list[MemberResult] = []
    has_failed = False
    for member in held.task.members:
        if has_failed:
            members.append(MemberResult(instance=member.instance, is_skipped=True))
        elif member.instance in failing:
            has_failed = True
            members.append(MemberResult(instance=member.instance, raises="it went wrong", code="Boom", trace="a trace"))
        else:
            outputs = {port: table(held, member, port) for port in member.writes}
            extra = given if member is held.task.members[-1] else {}
            members.append(MemberResult(instance=member.instance, outputs=outputs, **extra))  # type: ignore[arg-type]
    return ComponentResult(members=tuple(members))


class Jobs:
    """A world with one worker for jobs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.worker: Worker = world.worker()

    def start(self, stored: StoredJob, **context: object) -> str:
        return jobs.start_job(self.world.ledger, "main", stored, context=context)

    def claim(self) -> Work | None:
        return self.worker.claim()

    def commit(self, held: Work, failing: Collection[str] = (), **given: object) -> bool:
        return self.commit_result(held, component_result(held, failing, **given))

    def commit_result(self, held: Work, result: ComponentResult) -> bool:
        return guarded.commit(self.world.ledger, held, ComponentEnded(result), process=self.worker.id)

    def drain(self, failing: Collection[str] = (), **given: object) -> list[str]:
        """Do everything that is claimable, and answer which instances ran, in order."""
        done: list[str] = []
        while (held := self.claim()) is not None:
            assert len(done) < 100_000
            done.append(held.claim.node)
            assert self.commit(held, failing, **given)
            self.world.clock.time += SECOND
        return done

    def row(self, run: str) -> JobRunRow:
        with self.world.ledger.reading() as tx:
            return jobs.find(tx, "main", run)

    def show(self, run: str) -> JobRunDetail:
        with self.world.ledger.reading() as tx:
            return job_run(tx, self.world.ledger, "main", run)

    def states(self, run: str) -> dict[str, str]:
        return {one.name: one.state for one in self.show(run).components}

    def causes(self, run: str) -> dict[str, str]:
        return {one.name: one.cause for one in self.show(run).components if one.cause}

    def levels(self, run: str) -> int:
        actor = self.row(run).actor
        with self.world.ledger.reading() as tx:
            return len(job_runs.machine_rows(tx, actor, "level"))
