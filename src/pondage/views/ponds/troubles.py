"""What is wrong in an environment, by root causes: what only follows from something else is named with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pondage.define.project.alert import AlertRule
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, job_runs
from pondage.ledger.upkeep.alerts import AlertRow, Trouble, newest
from pondage.views.ponds.checks import RuleView, read_checks
from pondage.views.ponds.status import PondView, StatusView, status
from pondage.views.words import duration_text, list_text
from pondage.work.snapshot import SnapshotContent
from pondage.work.upkeep import Upkeep

JOBS = 200
"""Among so many of the newest runs a job's last one is looked for."""


class AlertsView(msgspec.Struct, frozen=True, kw_only=True):
    """The newest alerts of an environment; those without `resolved_at` are open."""

    environment: str
    at: int
    alerts: tuple[AlertRow, ...]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What rules are held against: read in one transaction."""

    status: StatusView
    spliced: dict[str, int] = {}
    differing: dict[str, Upkeep] = {}
    """Tables that are kept up to date, for which a verification found something else than a full computation."""
    """Ponds whose current Run put together inputs that do not belong together, with its number."""
    broken: tuple[RuleView, ...] = ()
    failed_jobs: dict[str, str] = {}


_SPLICED = """
SELECT p.name || '@' || p.major AS pond, r.number AS number FROM ponds p
JOIN runs r ON r.id = (SELECT max(c.id) FROM runs c WHERE c.pond = p.id AND c.state = 'completed')
WHERE p.environment = :environment AND p.removed_at IS NULL AND r.is_spliced = 1"""


_KEPT = """
SELECT p.name || '@' || p.major || ' ' || o.node AS name, s.content AS content
FROM ponds p JOIN runs r ON r.id = (SELECT max(c.id) FROM runs c WHERE c.pond = p.id AND c.state = 'completed')
     JOIN run_outputs o ON o.run = r.id JOIN snapshots s ON s.id = o.snapshot
WHERE p.environment = :environment AND p.removed_at IS NULL AND p.borrows IS NULL AND s.kind = 'auto'
      AND s.content LIKE '%"differing":[%'"""


def alerts(tx: Transaction, environment: str, *, limit: int, is_open: bool = False) -> AlertsView:
    """Answer the newest alerts."""
    found = actors.environment(tx, environment)
    rows = [] if found is None else newest(tx, found, limit=limit, is_open=is_open)
    return AlertsView(environment=environment, at=tx.now, alerts=tuple(rows))


def facts(tx: Transaction, ledger: Ledger, environment: str, kinds: Iterable[str]) -> Facts:
    """Read what rules of these kinds need to know."""
    view = status(tx, ledger, environment)
    found = actors.environment(tx, environment)
    if found is None:
        return Facts(status=view)
    wanted = frozenset(kinds)
    spliced = tx.rows(_SPLICED, tuple[str, int], environment=found) if "spliced" in wanted else []
    checks = read_checks(tx, ledger, environment, subject=None, most=1).rules if "expectation" in wanted else ()
    return Facts(
        status=view,
        spliced=dict(spliced),
        differing=_differing(tx, found) if "differing" in wanted else {},
        broken=tuple(each for each in checks if each.state == "broken" and each.outcomes[0].is_published),
        failed_jobs=_failed_jobs(tx, found) if "failure" in wanted else {},
    )


def _differing(tx: Transaction, environment: int) -> dict[str, Upkeep]:
    rows = tx.rows(_KEPT, tuple[str, SnapshotContent], environment=environment)
    return {name: one.upkeep for name, one in rows if one.upkeep is not None and one.upkeep.is_refused}


def _failed_jobs(tx: Transaction, environment: int) -> dict[str, str]:
    last: dict[str, tuple[str, str]] = {}
    for run in job_runs.newest(tx, environment, job=None, limit=JOBS):
        if run.ended_at is not None:
            last.setdefault(run.job, (str(run.state), run.public_id))
    return {job: run for job, (state, run) in last.items() if state == "ERROR"}


def troubles(known: Facts, rule: AlertRule) -> list[Trouble]:
    """Answer what a rule wants to be told of, one for each root cause."""
    found = [*_failures(known, rule), *_expectations(known, rule), *_spliced(known, rule), *_silent(known, rule),
             *_different(known, rule)]  # fmt: skip
    told = {each.subject for each in found}
    return [*found, *_stale(known, rule, told)]


def _is_meant(rule: AlertRule, key: str) -> bool:
    return not rule.ponds or key in rule.ponds or key.partition("@")[0] in rule.ponds


def _failures(known: Facts, rule: AlertRule) -> Iterator[Trouble]:
    for pond in known.status.ponds:
        if _is_meant(rule, pond.key) and (failed := _failed(known, rule, pond)) is not None:
            yield failed
    if "failure" not in rule.on or rule.ponds:
        return
    for job, run in known.failed_jobs.items():
        yield Trouble(
            kind="failure",
            cause=f"job {job}",
            subject=f"job {job}",
            text=f"the job {job} failed: {run}",
            hint=f"pondage job show {run}",
        )
    for reactor in known.status.reactors:
        if reactor.error is not None or reactor.state == "Failed":
            yield Trouble(
                kind="failure",
                cause=f"reactor {reactor.name}",
                subject=f"reactor {reactor.name}",
                text=f"the reactor {reactor.name} does not run: {reactor.error or reactor.state}",
                hint=f"pondage why {reactor.name}",
            )


def _failed(known: Facts, rule: AlertRule, pond: PondView) -> Trouble | None:
    """Answer how a Pond failed. A cleared failure is not over before a Run ended otherwise."""
    last = pond.last_run
    error = last.error if last is not None and last.state == "failed" else None
    if error is None and pond.halted is None:
        return None
    is_expectation = error is not None and error.code == "EXPECTATION"
    kind = "expectation" if is_expectation and "expectation" in rule.on else "failure"
    if kind not in rule.on:
        return None
    said = f"[{error.code}] {error.message}" if error is not None else f"it is halted: {pond.halted}"
    return Trouble(
        kind=kind,
        cause=pond.key,
        subject=pond.key,
        text=f"{pond.key} failed: {said}",
        hint=f"pondage why {pond.name}",
        affected=below(known.status, pond.key),
    )


def _expectations(known: Facts, rule: AlertRule) -> Iterator[Trouble]:
    if "expectation" not in rule.on:
        return
    for each in known.broken:
        if _is_meant(rule, each.pond):
            table = f"{each.pond}.{each.ripple}"
            yield Trouble(
                kind="expectation",
                cause=f"{table} {each.rule}",
                subject=each.pond,
                text=f"{table} was published although {each.rule} is broken: {each.outcomes[0].observed}",
                hint=f"pondage checks {each.pond.partition('@')[0]} --sample",
                affected=below(known.status, each.pond),
            )


def _spliced(known: Facts, rule: AlertRule) -> Iterator[Trouble]:
    if "spliced" not in rule.on:
        return
    for key, run in known.spliced.items():
        if _is_meant(rule, key):
            yield Trouble(
                kind="spliced",
                cause=key,
                subject=key,
                text=f"Run {key}#{run} read inputs of different states of a common Source",
                hint=f"pondage show {key.partition('@')[0]}#{run}",
                affected=below(known.status, key),
            )


def _different(known: Facts, rule: AlertRule) -> Iterator[Trouble]:
    if "differing" not in rule.on:
        return
    for name, upkeep in known.differing.items():
        key, _, ripple = name.partition(" ")
        if _is_meant(rule, key):
            yield Trouble(
                kind="differing",
                cause=name,
                subject=key,
                text=f"what {key}.{ripple} was kept up to date with is not what a full computation gives: "
                f"{list_text(upkeep.differing)}; it is computed whole until its code changes",
                hint=f"pondage show {key.partition('@')[0]}",
                affected=below(known.status, key),
            )


def _silent(known: Facts, rule: AlertRule) -> Iterator[Trouble]:
    """One for each machine: when it goes, all its processes fall silent."""
    if "silent" not in rule.on:
        return
    machines: dict[str, list[str]] = {}
    for process in known.status.processes:
        if process.silent_us is not None and process.silent_us > rule.silent_us:
            machines.setdefault(process.machine, []).append(f"{process.role} {process.id}")
    for machine, names in machines.items():
        yield Trouble(
            kind="silent",
            cause=machine,
            subject=machine,
            text=f"nothing was heard of {list_text(names)} on {machine} for {duration_text(rule.silent_us)}",
            hint="pondage doctor",
            affected=tuple(names),
        )


def _stale(known: Facts, rule: AlertRule, told: set[str]) -> Iterator[Trouble]:
    """Ponds that are too stale, by the furthest ones above them that are; none below what was told of already."""
    if "stale" not in rule.on or rule.stale_us is None:
        return
    view, limit = known.status, rule.stale_us
    ponds = {pond.key: pond for pond in view.ponds}
    late = {key for key, pond in ponds.items() if pond.staleness is not None and pond.staleness > limit}
    roots: dict[tuple[str, ...], list[str]] = {}
    for key in sorted(late):
        is_asked = _is_meant(rule, key) if rule.ponds else ponds[key].kind == "outlet" or not below(view, key)
        if is_asked and not told & {key, *_above(ponds, key)}:
            roots.setdefault(_first_late(ponds, key, late), []).append(key)
    for first, keys in roots.items():
        age = max(ponds[key].staleness or 0 for key in keys)
        yield Trouble(
            kind="stale",
            cause=" ".join(first),
            subject=first[0],
            text=f"{list_text(keys)} is staler than {duration_text(limit)}: {duration_text(age)}",
            hint=f"pondage why {first[0].partition('@')[0]}",
            affected=tuple(keys),
        )


def _first_late(ponds: dict[str, PondView], key: str, late: set[str]) -> tuple[str, ...]:
    """Answer the late Ponds at or above this one that have no late one above them."""
    lates = [each for each in (key, *_above(ponds, key)) if each in late]
    return tuple(sorted(each for each in lates if not late & set(_above(ponds, each))))


def _above(ponds: dict[str, PondView], key: str) -> set[str]:
    found: set[str] = set()
    waiting = list(ponds[key].sources) if key in ponds else []
    while waiting:
        each = waiting.pop()
        if each not in found and each in ponds:
            found.add(each)
            waiting += ponds[each].sources
    return found


def below(view: StatusView, key: str) -> tuple[str, ...]:
    """Answer every Pond that reads this one, directly or not."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        each = waiting.pop()
        readers = {pond.key for pond in view.ponds if each in pond.sources} - found
        found |= readers
        waiting += readers
    return tuple(sorted(found - {key}))
