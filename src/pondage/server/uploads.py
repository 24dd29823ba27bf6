"""What a client sends to be planned or deployed, checked as if its author had never been: names, versions, digests."""

from __future__ import annotations

import re
from collections.abc import Set
from graphlib import CycleError, TopologicalSorter

from pondage.components.registry import built_in
from pondage.define.job.exposed import Exposed, check_exposed
from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.pond.trigger import checked_follow
from pondage.define.pond.window import check_schedule, check_window
from pondage.define.reactor.reaction import ReactorDefinition, problems_of
from pondage.define.values.duration import LONGEST_US
from pondage.define.values.names import checked_name, parsed_version
from pondage.errors import DefinitionError
from pondage.ledger.tables.job_plans import StoredJob
from pondage.operations.uploads import Upload
from pondage.plan.job.intake import check_sent
from pondage.project.archive import check_archive
from pondage.server.problems import Refused

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


def check_pond(pond: PondDefinition, place: str) -> None:
    """Raise `DefinitionError` for a name, a read, a time or a duration that no declaration could have made."""
    checked_name(pond.name, what="Pond", place=place)
    parsed_version(pond.version, place=place)
    for source in pond.sources:
        checked_name(source.pond, what="Source", place=f"{place}.sources")
    for window in pond.windows:
        check_window(window, f"{place}.windows")
    for schedule in pond.triggers.schedules:
        check_schedule(schedule, f"{place}.triggers.schedules")
    for tide in pond.triggers.tides:
        checked_name(tide.name, what="Tide", place=f"{place}.triggers.tides")
        _check_length(tide.limit_us, f"{place}.triggers.tides", least=1)
    for follow in (pond.triggers.wave_follow, *(tide.follow for tide in pond.triggers.tides)):
        if follow is not None:
            checked_follow(follow, place=f"{place}.triggers")
    if pond.feed is not None:
        _check_length(pond.feed.period_us, f"{place}.feed")
    for ripple in pond.ripples:
        _check_ripple(pond, ripple, f"{place}.ripples")
    _check_order(pond, f"{place}.ripples")


def _check_ripple(pond: PondDefinition, ripple: RippleDefinition, place: str) -> None:
    for each in (ripple, *ripple.members):
        checked_name(each.name, what="Ripple", place=place)
        for seconds in (each.timeout_s, each.progress_lease_s):
            if seconds is not None:
                _check_length(seconds * 1e6, place, least=1)
        for rule in each.expectations:
            _check_length(rule.within_us, place)
    ripples, sources = {each.name for each in pond.ripples}, {each.pond for each in pond.sources}
    for read in ripple.reads:
        if read.ripple not in ripples if read.pond is None else read.pond not in sources:
            raise DefinitionError(
                f"Ripple {ripple.name} of {pond.name} reads {read.table(pond.name)[:200]!r}, which it does not name",
                place=place,
                code="NO_SUCH_READ",
            )


def _check_order(pond: PondDefinition, place: str) -> None:
    """Refuse Ripples with one name, and Ripples that wait for each other."""
    if len({each.name for each in pond.ripples}) < len(pond.ripples):
        raise DefinitionError(f"two Ripples of {pond.name} have one name", place=place, code="RIPPLE_TWICE")
    try:
        TopologicalSorter({each.name: each.parents for each in pond.ripples}).prepare()
    except CycleError:
        raise DefinitionError(f"Ripples of {pond.name} wait for each other", place=place, code="CYCLE") from None


def _check_length(length_us: float, place: str, *, least: int = 0) -> None:
    if not least <= length_us <= LONGEST_US:
        raise DefinitionError("a duration is at most 100 years, and not below zero", place=place, code="BAD_DURATION")


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
