"""Runs: the newest first, and one Run with everything that was tried for it."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import pond_key
from pondage.errors import NotFound
from pondage.ledger.database.driver import Row, Transaction, number, number_or_none, text, text_or_none
from pondage.ledger.tables import actors
from pondage.views import find
from pondage.views.runs.active import Progress, read_progress

MOST_RUNS = 1_000
LOOKED_AT = 10_000
"""A list that is narrowed to a state looks at this many of the newest Runs, so that its cost does not grow."""


class FailureView(msgspec.Struct, frozen=True, kw_only=True):
    """Why something failed: for people (`message`, `place`), for scripts (`code`), for experts (`trace`)."""

    code: str
    message: str
    place: str | None = None
    trace: str | None = None


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A Run of a Pond. `duration_us` is null while it is not over; `ripple` names the Ripple that failed.

    `rolled_back_to` is the number of the older Run that this one shows again, null for every other; `shows` is the Run
    of another environment that it shows (`main sales#12`), because it was promoted, or is only read here.
    """

    id: str
    pond: str
    number: int
    version: str
    state: str
    reason: str
    freshness: int
    delay: int
    started_at: int
    ended_at: int | None
    duration_us: int | None
    is_forced: bool
    is_spliced: bool
    rolled_back_to: int | None
    shows: str | None
    ripple: str | None
    error: FailureView | None


class RunsView(msgspec.Struct, frozen=True, kw_only=True):
    """A list of Runs, newest first. `has_more` says that older ones were left out."""

    environment: str
    at: int
    runs: tuple[RunView, ...]
    has_more: bool


class ExecutionView(msgspec.Struct, frozen=True, kw_only=True):
    """One try of a dispatch by one process. `log` is relative to the warehouse; null when it said nothing."""

    epoch: int
    outcome: str | None
    process: str | None
    claimed_at: int | None
    completed_at: int | None
    progress: Progress | None
    error: FailureView | None
    log: str | None


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """A decision to execute a Ripple, with its tries. `outcome` is null while it is open.

    `number` counts what was ever decided for the Ripple, over all Runs: the first of Run #7 may well be 7.
    """

    ripple: str
    number: int
    reason: str
    outcome: str | None
    created_at: int
    closed_at: int | None
    executions: tuple[ExecutionView, ...]
    job_run: str | None = None
    """The run of the job that is its body: it has no tries of its own then, its components have."""


class PinView(msgspec.Struct, frozen=True, kw_only=True):
    """Which Run of a Source is read; `run` is null where an optional Source had none."""

    source: str
    run: str | None
    number: int | None
    freshness: int | None


class OutputView(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot that a Ripple gave to a Run.

    `rows` and `bytes` are what it wrote; of a table that grows that is a batch, and `table_rows` counts the whole.
    """

    ripple: str
    snapshot: str
    freshness: int
    rows: int
    bytes: int
    path: str
    table_rows: int | None = None


class CodeView(msgspec.Struct, frozen=True, kw_only=True):
    """Which code made something: `archive` is the digest of the deployed files, `entry` the object in them."""

    project: str
    version: str
    archive: str
    entry: str
    place: str
    deployed_at: int | None


class RunDetailView(msgspec.Struct, frozen=True, kw_only=True):
    """One Run: which code and which Runs of its Sources made it (pins), its attempts and its outputs."""

    environment: str
    at: int
    run: RunView
    code: CodeView
    pins: tuple[PinView, ...]
    attempts: tuple[AttemptView, ...]
    outputs: tuple[OutputView, ...]


_FIELDS = """r.id AS id, r.public_id AS public_id, r.number AS number, r.state AS state, r.reason AS reason,
       r.freshness AS freshness, r.delay AS delay, r.started_at AS started_at, r.ended_at AS ended_at,
       r.is_forced AS is_forced, r.is_spliced AS is_spliced, r.error AS error, r.pins AS pins,
       (SELECT o.number FROM runs o WHERE o.id = r.rollback_of) AS rolled_back_to,
       (SELECT v.name || ' ' || q.name || '#' || o.number FROM runs o JOIN ponds q ON q.id = o.pond
        JOIN environments v ON v.id = o.environment WHERE o.id = r.origin) AS shows,
       p.name AS name, p.major AS major, d.body AS body"""
_JOINED = "JOIN ponds p ON p.id = r.pond JOIN definitions d ON d.id = r.definition"

_OF_ALL = f"""SELECT {_FIELDS} FROM
(SELECT * FROM runs WHERE environment = :environment AND pond IS NOT NULL ORDER BY id DESC LIMIT :looked_at) r
{_JOINED} WHERE :state = '' OR r.state = :state ORDER BY r.id DESC LIMIT :limit"""  # noqa: S608 - constants only

_OF_POND = f"""SELECT {_FIELDS} FROM
(SELECT * FROM runs WHERE pond = :pond ORDER BY number DESC LIMIT :looked_at) r
{_JOINED} WHERE :state = '' OR r.state = :state ORDER BY r.number DESC LIMIT :limit"""  # noqa: S608 - constants only

_ONE = f"SELECT {_FIELDS} FROM runs r {_JOINED} WHERE r.id = :id"  # noqa: S608 - constants only

# The newest failed try of the Run: what people want to read first.
_FAILED = """SELECT d.node AS node, coalesce(e.error, d.result) AS error
             FROM dispatches d LEFT JOIN executions e ON e.dispatch = d.id
             WHERE d.run = :run AND d.kind <> 'compact' AND d.outcome IN ('failed', 'crashed')
                   AND coalesce(e.error, d.result) IS NOT NULL
             ORDER BY d.id DESC, e.id DESC LIMIT 1"""


def runs(
    tx: Transaction, environment: str, *, pond: str | None = None, state: str | None = None, limit: int = 20
) -> RunsView:
    """Answer the newest Runs of an environment or of one Pond, those in one state when asked.

    Raises `NotFound` for an unknown Pond. An environment that nobody deployed to has no Runs.
    """
    limit = max(1, min(limit, MOST_RUNS))
    found = actors.environment(tx, environment) if pond is None else find.environment_id(tx, environment)
    looked_at = LOOKED_AT if state else limit + 1
    rows: list[Row] = []
    if pond is not None and found is not None:
        row = find.pond(tx, found, pond)
        rows = tx.rows(_OF_POND, pond=row.id, state=state or "", limit=limit + 1, looked_at=looked_at)
    elif found is not None:
        rows = tx.rows(_OF_ALL, environment=found, state=state or "", limit=limit + 1, looked_at=looked_at)
    return RunsView(
        environment=environment,
        at=tx.now,
        runs=tuple(_run(tx, row) for row in rows[:limit]),
        has_more=len(rows) > limit,
    )


def run(tx: Transaction, environment: str, given: str) -> RunDetailView:
    """Answer one Run by its id, the beginning of it, or `sales#12`; raises `NotFound`."""
    found = find.environment_id(tx, environment)
    identity = find.run_id(tx, found, given)
    if identity is None:
        raise NotFound(f"there is no Run {given!r}", hint="pondage runs", code="NO_RUN")
    return detail(tx, environment, identity)


def detail(tx: Transaction, environment: str, identity: int) -> RunDetailView:
    """Answer the Run of a row that is known to exist."""
    row = tx.row(_ONE, id=identity)
    assert row is not None, f"run {identity} vanished within a transaction"
    view = _run(tx, row)
    return RunDetailView(
        environment=environment,
        at=tx.now,
        run=view,
        code=code_of(tx, environment, text(row, "body")),
        pins=_pins(tx, text(row, "pins")),
        attempts=_attempts(tx, identity, view.id),
        outputs=_outputs(tx, identity),
    )


def code_of(tx: Transaction, environment: str, body: str) -> CodeView:
    """Answer where the code of a stored definition came from, and when it was deployed last."""
    definition = msgspec.json.decode(body, type=PondDefinition)
    row = tx.row(
        """SELECT max(d.deployed_at) AS deployed_at FROM deployments d JOIN environments e ON e.id = d.environment
           WHERE e.name = :environment AND d.project = :project AND d.archive = :archive""",
        environment=environment,
        project=definition.project,
        archive=definition.archive,
    )
    return CodeView(
        project=definition.project,
        version=definition.version,
        archive=definition.archive,
        entry=definition.entry,
        place=definition.place,
        deployed_at=None if row is None else number_or_none(row, "deployed_at"),
    )


def _run(tx: Transaction, row: Row) -> RunView:
    started_at, ended_at = number(row, "started_at"), number_or_none(row, "ended_at")
    error, ripple = read_failure(text_or_none(row, "error")), None
    if text(row, "state") == "failed":
        failed = tx.row(_FAILED, run=number(row, "id"))
        if failed is not None:
            # The Run's own word comes first: after too many crashes it says more than the last of them.
            ripple, error = text(failed, "node"), error or read_failure(text(failed, "error"))
    return RunView(
        id=text(row, "public_id"),
        pond=pond_key(text(row, "name"), number(row, "major")),
        number=number(row, "number"),
        version=msgspec.json.decode(text(row, "body"), type=PondDefinition).version,
        state=text(row, "state"),
        reason=text(row, "reason"),
        freshness=number(row, "freshness"),
        delay=number(row, "delay"),
        started_at=started_at,
        ended_at=ended_at,
        duration_us=None if ended_at is None else ended_at - started_at,
        is_forced=bool(row["is_forced"]),
        is_spliced=bool(row["is_spliced"]),
        rolled_back_to=number_or_none(row, "rolled_back_to"),
        shows=text_or_none(row, "shows"),
        ripple=ripple,
        error=error,
    )


def read_failure(body: str | None) -> FailureView | None:
    """Answer a failure as a worker wrote it; a plain text stands for itself."""
    if body is None:
        return None
    try:
        return msgspec.json.decode(body, type=FailureView)
    except msgspec.MsgspecError:
        return FailureView(code="FAILED", message=body)


def _pins(tx: Transaction, body: str) -> tuple[PinView, ...]:
    found = []
    for source, pinned in msgspec.json.decode(body, type=dict[str, int | None]).items():
        row = None
        if pinned is not None:
            row = tx.row("SELECT public_id, number, freshness FROM runs WHERE id = :id", id=pinned)
        if row is None:
            found.append(PinView(source=source, run=None, number=None, freshness=None))
        else:
            found.append(
                PinView(
                    source=source,
                    run=text(row, "public_id"),
                    number=number(row, "number"),
                    freshness=number(row, "freshness"),
                )
            )
    return tuple(found)


_ATTEMPTS = """SELECT d.id AS id, d.node AS node, d.number AS number, d.reason AS reason, d.outcome AS outcome,
                      d.created_at AS created_at, d.closed_at AS closed_at, j.public_id AS job_run
               FROM dispatches d LEFT JOIN job_runs j ON j.dispatch = d.id
               WHERE d.run = :run AND d.kind <> 'compact' ORDER BY d.id"""
_EXECUTIONS = """SELECT e.epoch AS epoch, e.outcome AS outcome, e.claimed_at AS claimed_at, e.error AS error,
                        e.completed_at AS completed_at, e.progress AS progress, p.public_id AS process
                 FROM executions e LEFT JOIN processes p ON p.id = e.process
                 WHERE e.dispatch = :dispatch ORDER BY e.id"""


def _attempts(tx: Transaction, run_id: int, public_id: str) -> tuple[AttemptView, ...]:
    return tuple(
        AttemptView(
            ripple=text(row, "node"),
            number=number(row, "number"),
            reason=text(row, "reason"),
            outcome=text_or_none(row, "outcome"),
            created_at=number(row, "created_at"),
            closed_at=number_or_none(row, "closed_at"),
            job_run=text_or_none(row, "job_run"),
            executions=tuple(
                ExecutionView(
                    epoch=number(each, "epoch"),
                    outcome=text_or_none(each, "outcome"),
                    process=text_or_none(each, "process"),
                    claimed_at=number_or_none(each, "claimed_at"),
                    completed_at=number_or_none(each, "completed_at"),
                    progress=read_progress(text_or_none(each, "progress")),
                    error=read_failure(text_or_none(each, "error")),
                    log=log_path(public_id, number(row, "id"), number(each, "epoch"))
                    if each["claimed_at"] is not None
                    else None,
                )
                for each in tx.rows(_EXECUTIONS, dispatch=number(row, "id"))
            ),
        )
        for row in tx.rows(_ATTEMPTS, run=run_id)
    )


def log_path(run_id: str, dispatch: int, epoch: int) -> str:
    """Answer where a worker writes the log of one try, relative to the warehouse."""
    return f"logs/{run_id}/{dispatch}-{epoch}.log"


def _outputs(tx: Transaction, run_id: int) -> tuple[OutputView, ...]:
    rows = tx.rows(
        """SELECT o.node AS node, o.freshness AS freshness, s.public_id AS public_id, s.rows AS rows,
                  s.bytes AS bytes, s.path AS path,
                  (SELECT max(m.rows) FROM manifests m WHERE m.snapshot = s.id) AS table_rows
           FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot WHERE o.run = :run ORDER BY o.id""",
        run=run_id,
    )
    # A Ripple that gave twice to one Run: the newest stands.
    newest = {text(row, "node"): row for row in rows}
    return tuple(
        OutputView(
            ripple=ripple,
            snapshot=text(row, "public_id"),
            freshness=number(row, "freshness"),
            rows=number(row, "rows"),
            bytes=number(row, "bytes"),
            path=text(row, "path"),
            table_rows=number_or_none(row, "table_rows"),
        )
        for ripple, row in newest.items()
    )
