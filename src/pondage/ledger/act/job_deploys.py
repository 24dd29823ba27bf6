"""Jobs that a project has deployed: stored under their names, beside its Ponds."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.errors import LedgerError, NotFound
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, history, job_plans, schedules
from pondage.ledger.tables.archives import store_archive
from pondage.ledger.tables.history import Caller
from pondage.ledger.tables.job_plans import StoredJob
from pondage.plan.deploy.values import Change, JobChange


def job_changes(
    tx: Transaction, environment: str, *, project: str, jobs: Mapping[str, StoredJob]
) -> tuple[JobChange, ...]:
    """Answer what a deploy would do to the jobs of a project; raises `LedgerError` when a name is another project's."""
    former = _deployed(tx, actors.environment(tx, environment))
    for name in jobs:
        owner = former.get(name, (project, 0))[0]
        if owner != project:
            raise LedgerError(f"job {name} belongs to project {owner}", hint="give it another name", code="FOREIGN_JOB")
    own = {name: definition for name, (owner, definition) in former.items() if owner == project}
    return tuple(
        JobChange(name=name, change=_change(tx, own.get(name), jobs.get(name))) for name in sorted({*own, *jobs})
    )


def _change(tx: Transaction, former: int | None, now: StoredJob | None) -> Change:
    if now is None:
        return "removed"
    if former is None:
        return "added"
    return "unchanged" if job_plans.is_like(tx, former, now) else "changed"


def deploy_jobs(
    ledger: Ledger,
    environment: str,
    *,
    project: str,
    jobs: Mapping[str, StoredJob],
    archive: bytes,
    by: Caller | None = None,
) -> tuple[JobChange, ...]:
    """Put the jobs of a project in force, all or none, and answer what changed. Runs keep what they started with.

    Jobs of the project that are not named any more are taken away.
    """
    with ledger.transaction() as tx:
        identity = actors.made_environment(tx, environment)
        actors.lock_environment(tx, identity)
        changes = put_jobs(tx, environment, identity, project=project, jobs=jobs, archive=archive)
        history.audit(tx, by, environment=identity, verb="deploy jobs", target=project)
        return changes


def put_jobs(
    tx: Transaction,
    environment: str,
    identity: int,
    *,
    project: str,
    jobs: Mapping[str, StoredJob],
    archive: bytes,
) -> tuple[JobChange, ...]:
    """Put the jobs of a project in force in an environment that is locked, and answer what changed.

    Unchanged ones take the new archive too, so that one worker with one code serves all of the project.
    """
    changes = job_changes(tx, environment, project=project, jobs=jobs)
    for change in changes:
        if change.change == "removed":
            tx.change(
                """DELETE FROM schedules WHERE job =
                   (SELECT id FROM jobs WHERE environment = :environment AND name = :name)""",
                environment=identity,
                name=change.name,
            )
            tx.write(
                "DELETE FROM jobs WHERE environment = :environment AND name = :name",
                environment=identity,
                name=change.name,
            )
        else:
            _put(tx, identity, project, change.name, jobs[change.name], archive)
    return changes


def _put(tx: Transaction, environment: int, project: str, name: str, job: StoredJob, archive: bytes) -> None:
    store_archive(tx, job.archive, archive)
    identity = tx.one(
        """INSERT INTO jobs (environment, name, project, definition, archive, deployed_at)
           VALUES (:environment, :name, :project, :definition, :archive, :now)
           ON CONFLICT (environment, name) DO UPDATE
           SET definition = excluded.definition, archive = excluded.archive, deployed_at = excluded.deployed_at
           RETURNING id""",
        int,
        environment=environment,
        name=name,
        project=project,
        definition=job_plans.store(tx, job),
        archive=job.archive,
    )
    schedules.put(tx, "job", identity, [] if job.schedule is None else [job.schedule])


def deployed_job(tx: Transaction, ledger: Ledger, environment: str, name: str) -> StoredJob:
    """Answer a deployed job; raises `NotFound`."""
    identity = actors.environment(tx, environment)
    definition = tx.row(
        "SELECT definition FROM jobs WHERE environment = :environment AND name = :name",
        int,
        environment=identity,
        name=name,
    )
    if definition is None:
        raise NotFound(f"there is no deployed job {name!r}, and no such file", hint="pondage job list", code="NO_JOB")
    return ledger.job(tx, definition).stored


def _deployed(tx: Transaction, environment: int | None) -> dict[str, tuple[str, int]]:
    statement = "SELECT name, project, definition FROM jobs WHERE environment = :id"
    rows = tx.rows(statement, tuple[str, str, int], id=environment)
    return {name: (project, definition) for name, project, definition in rows}
