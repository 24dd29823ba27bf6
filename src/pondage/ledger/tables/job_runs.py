"""Runs of jobs: their rows, the rows of their machine, and how they end."""

from __future__ import annotations

import msgspec

from pondage.errors import NotFound
from pondage.kernel.control.events import Start
from pondage.kernel.control.state import Row as MachineRow
from pondage.kernel.control.state import decode_row, encode_row
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors
from pondage.plan.job.stored_job import StoredJob


class JobRunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a job."""

    id: int
    public_id: str
    environment: int
    actor: int
    job: str
    definition: int
    context: dict[str, object]
    resumed_from: int | None
    dispatch: int | None
    """The dispatch of a Ripple that it is the body of."""
    reason: str
    state: str
    code: str | None
    started_at: int
    ended_at: int | None
    is_flow: bool = False
    cleaned_at: int | None = None


COLUMNS = (
    "id, public_id, environment, actor, job, definition, context, resumed_from, dispatch, reason, state, code, "
    "started_at, ended_at, is_flow, cleaned_at"
)


def insert(
    tx: Transaction,
    job: StoredJob,
    *,
    public_id: str,
    environment: int,
    definition: int,
    context: dict[str, object],
    reason: str,
    resumed_from: int | None = None,
    dispatch: int | None = None,
) -> JobRunRow:
    """Write a run that starts, with an actor of its own."""
    return tx.one(
        f"""INSERT INTO job_runs (public_id, environment, actor, job, definition, archive, context, resumed_from,
                                  dispatch, reason, state, started_at, is_flow,
                                  kept_us)
            VALUES (:public_id, :environment, :actor, :job, :definition, :archive, :context, :resumed_from,
                    :dispatch, :reason, 'RUNNING', :now, :is_flow, :kept_us)
            RETURNING {COLUMNS}""",
        JobRunRow,
        public_id=public_id,
        environment=environment,
        actor=actors.create(tx, environment_id=environment, kind="run", key=public_id),
        job=job.plan.name or "job",
        definition=definition,
        archive=job.archive,
        context=msgspec.json.encode(context).decode(),
        resumed_from=resumed_from,
        dispatch=dispatch,
        reason=reason,
        is_flow=int(job.flow is not None),
        kept_us=None if job.flow is None else job.flow.kept_us,
    )


def begin(
    tx: Transaction,
    job: StoredJob,
    *,
    public_id: str,
    environment: int,
    definition: int,
    context: dict[str, object],
    reason: str,
    dispatch: int | None = None,
    delay_us: int = 0,
) -> int:
    """Write a run, send Start to it, now or after a delay, and answer its actor. It knows its own `run_id`."""
    known = {"run_id": public_id, **context}
    run = insert(
        tx,
        job,
        public_id=public_id,
        environment=environment,
        definition=definition,
        context=known,
        reason=reason,
        dispatch=dispatch,
    )
    payload = msgspec.json.encode(Start(context=known)).decode()
    actors.put_signal(tx, actor=run.actor, kind="start", payload=payload, delay_us=delay_us)
    return run.actor


def of_actor(tx: Transaction, actor: int) -> JobRunRow:
    """Answer the run that an actor is."""
    return tx.one(f"SELECT {COLUMNS} FROM job_runs WHERE actor = :actor", JobRunRow, actor=actor)


def by_public_id(tx: Transaction, environment: int, public_id: str) -> JobRunRow | None:
    """Answer the run that people call by this id."""
    return tx.row(
        f"SELECT {COLUMNS} FROM job_runs WHERE public_id = :public_id AND environment = :environment",
        JobRunRow,
        public_id=public_id,
        environment=environment,
    )


def newest(tx: Transaction, environment: int, *, job: str | None, limit: int, is_flow: bool = False) -> list[JobRunRow]:
    """Answer the newest runs of one job or of all, the newest first; flows on their own."""
    return tx.rows(
        f"""SELECT {COLUMNS} FROM job_runs
            WHERE environment = :environment AND is_flow = :is_flow AND (CAST(:job AS TEXT) IS NULL OR job = :job)
            ORDER BY id DESC LIMIT :limit""",
        JobRunRow,
        environment=environment,
        job=job,
        is_flow=int(is_flow),
        limit=limit,
    )


def called(tx: Transaction, environment: int | None, given: str, *, is_flow: bool | None = None) -> list[JobRunRow]:
    """Answer the two newest runs whose id begins so, or of the job with this name; of both kinds, or of one."""
    return tx.rows(
        f"""SELECT {COLUMNS} FROM job_runs
            WHERE environment = :environment AND (substr(public_id, 1, length(:given)) = :given OR job = :given)
                  AND is_flow = coalesce(CAST(:is_flow AS INTEGER), is_flow)
            ORDER BY id DESC LIMIT 2""",
        JobRunRow,
        environment=environment,
        given=given,
        is_flow=None if is_flow is None else int(is_flow),
    )


def end(tx: Transaction, run: int, *, state: str, code: str | None) -> None:
    """Say how a run ended. It ends once: the machine never ends one twice, and the row count proves it."""
    changed = tx.change(
        "UPDATE job_runs SET state = :state, code = :code, ended_at = :now WHERE id = :id AND ended_at IS NULL",
        id=run,
        state=state,
        code=code,
    )
    assert changed == 1, f"job run {run} ended twice"


class RunRows:
    """The rows of one run's machine, loaded as it asks for them and written only when they changed."""

    def __init__(self, tx: Transaction, actor: int, *, is_new: bool = False) -> None:
        """`is_new`: the run has never stepped, so there is nothing to ask for."""
        self._tx = tx
        self._actor = actor
        self._is_new = is_new
        self._known: dict[tuple[str, str], MachineRow | None] = {}

    def get(self, table: str, key: str) -> MachineRow | None:
        """Give a row, or None when it does not exist yet."""
        place = (table, key)
        if place not in self._known:
            value = (
                None
                if self._is_new
                else self._tx.row(
                    "SELECT value FROM run_rows WHERE actor = :actor AND kind = :kind AND key = :key",
                    str,
                    actor=self._actor,
                    kind=table,
                    key=key,
                )
            )
            self._known[place] = None if value is None else decode_row(table, value)
        return self._known[place]

    def put(self, table: str, key: str, row: MachineRow) -> None:
        """Keep a new row until it is saved."""
        self._known[table, key] = row

    def save(self, changed: tuple[tuple[str, str], ...]) -> None:
        """Write what a step changed."""
        for table, key in changed:
            row = self._known[table, key]
            assert row is not None, f"the machine changed {table} {key!r} and never kept it"
            self._tx.write(
                """INSERT INTO run_rows (actor, kind, key, value) VALUES (:actor, :kind, :key, :value)
                   ON CONFLICT (actor, kind, key) DO UPDATE SET value = excluded.value""",
                actor=self._actor,
                kind=table,
                key=key,
                value=encode_row(row).decode(),
            )


def machine_rows(tx: Transaction, actor: int, table: str) -> dict[str, MachineRow]:
    """Answer all rows of one family of a run."""
    rows = tx.rows(
        "SELECT key, value FROM run_rows WHERE actor = :actor AND kind = :kind",
        tuple[str, str],
        actor=actor,
        kind=table,
    )
    return {key: decode_row(table, value) for key, value in rows}


def find_flow(tx: Transaction, environment: str, given: str) -> JobRunRow:
    """Answer a flow by its id, the beginning of it, or by its name for the newest one; raises `NotFound`."""
    found = called(tx, actors.environment(tx, environment), given, is_flow=True)
    if not found:
        raise NotFound(f"there is no flow {given!r}", hint="pondage flow list", code="NO_SUCH_RUN")
    if len(found) > 1 and found[0].job != given:
        raise NotFound(f"several flows begin with {given!r}", hint="pondage flow list", code="AMBIGUOUS_RUN")
    return found[0]
