"""What a client sends to be planned or deployed, checked as if its author had never been: names, versions, digests."""

from __future__ import annotations

import re
from collections.abc import Set

from pondage.components.registry import built_in
from pondage.define.job.exposed import Exposed, check_exposed
from pondage.define.pond.window import check_schedule
from pondage.define.reactor.reaction import ReactorDefinition, problems_of
from pondage.define.values.names import checked_name
from pondage.ledger.tables.job_plans import StoredJob
from pondage.operations.uploads import Upload
from pondage.plan.job.intake import check_sent
from pondage.project.archive import check_archive
from pondage.server.problems import Refused
from pondage.server.sent import check_pond

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}\Z")


def check_upload(upload: Upload) -> None:
    """Raise what is wrong: names become parts of paths and of queries, so each is checked again on this side."""
    checked_name(upload.project, what="project")
    digest = check_archive(upload.archive)
    for pool in upload.pools:
        checked_name(pool, what="pool", place="$.pools")
    for number, pond in enumerate(upload.ponds):
        check_pond(pond, f"$.ponds[{number}]")
    for number, reactor in enumerate(upload.reactors):
        _check_reactor(reactor, f"$.reactors[{number}]")
    for name, job in upload.jobs.items():
        _check_job(name, job, {digest})
    _check_exposed(upload.exposed)


def _check_reactor(reactor: ReactorDefinition, place: str) -> None:
    names = [reactor.name, *(each.name for each in reactor.declaration.accumulators)]
    for name in names:
        if not _PLAIN.match(name):
            raise Refused(422, "BAD_NAME", f"{name[:63]!r} is not a valid name", place=place)
    for problem in problems_of(reactor.declaration):
        raise Refused(422, problem.code, f"reactor {reactor.name} is refused: {problem.code}", place=place)


def _check_exposed(exposed: Exposed) -> None:
    check_exposed(exposed)
    for one in exposed.components:
        if one.name in built_in():
            raise Refused(422, "DUPLICATE_NAME", f"component {one.name} has the name of one of the library")
        if one.archive:
            raise Refused(422, "FOREIGN_CODE", f"component {one.name} names code that was not sent with it")


def check_job(job: StoredJob, archive: bytes, deployed: Set[str] = frozenset()) -> None:
    """Raise what is wrong with a job that comes with its own code, with none, or names code that is `deployed`."""
    _check_job(job.plan.name, job, {check_archive(archive) if archive else "", *deployed})


def _check_job(name: str, job: StoredJob, digests: Set[str]) -> None:
    codes = {job.archive, *(each.archive for each in job.components.values())}
    if name != job.plan.name or not _PLAIN.match(name) or not codes <= {"", *digests}:
        raise Refused(422, "FOREIGN_CODE", f"job {name[:63]!r} names code that was not sent with it", place="$.jobs")
    check_sent(job, "$.jobs")
    if job.schedule is not None:
        check_schedule(job.schedule, "$.jobs")
    for component in job.components.values():
        for port in component.outputs:
            if not _PLAIN.match(port):
                raise Refused(422, "BAD_NAME", f"port {port[:63]!r} is not a valid name", place="$.jobs")
