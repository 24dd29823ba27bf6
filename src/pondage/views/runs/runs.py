"""Runs: the newest first, and one Run with everything that was tried for it."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.errors import NotFound
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables import actors
from pondage.views import find
from pondage.views.runs.active import Progress, read_progress
from pondage.views.runs.upkeep import UpkeepView, upkeep_view
from pondage.work.snapshot import SnapshotContent

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
    of another environment that it shows (`main sales#12`), because it was promoted, or is only read here. `removed_at`
    is when its Pond was removed: one that is there now under the same name began anew.
    `is_spliced`: it read Sources that do not agree; `spliced_from` are the nearest Runs above it that did.
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
    spliced_from: tuple[str, ...]
    rolled_back_to: int | None
    shows: str | None
    ripple: str | None
    error: FailureView | None
    removed_at: int | None = None


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
    upkeep: UpkeepView | None = None
    """What was done, of a table that is kept up to date."""


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


_FIELDS = """r.id AS row, r.public_id AS id, r.number AS number, r.state AS state, r.reason AS reason,
       r.freshness AS freshness, r.delay AS delay, r.started_at AS started_at, r.ended_at AS ended_at,
       r.is_forced AS is_forced, r.is_spliced AS is_spliced,
       r.spliced_from AS spliced_from, r.error AS failure, r.pins AS pins,
       (SELECT o.number FROM runs o WHERE o.id = r.rollback_of) AS rolled_back_to,
       (SELECT v.name || ' ' || q.name || '#' || o.number FROM runs o JOIN ponds q ON q.id = o.pond
        JOIN environments v ON v.id = o.environment WHERE o.id = r.origin) AS shows,
       p.name || '@' || p.major AS pond, p.removed_at AS removed_at, d.body AS definition"""
_JOINED = "JOIN ponds p ON p.id = r.pond JOIN definitions d ON d.id = r.definition"

_OF_ALL = f"""SELECT {_FIELDS} FROM
(SELECT * FROM runs WHERE environment = :environment AND pond IS NOT NULL ORDER BY id DESC LIMIT :looked_at) r
{_JOINED} WHERE :state = '' OR r.state = :state ORDER BY r.id DESC LIMIT :limit"""  # noqa: S608 - constants only

_OF_POND = f"""SELECT {_FIELDS} FROM
(SELECT * FROM runs WHERE pond = :pond ORDER BY number DESC LIMIT :looked_at) r
{_JOINED} WHERE :state = '' OR r.state = :state ORDER BY r.number DESC LIMIT :limit"""  # noqa: S608 - constants only

# What was removed under the name and major of a Pond, the newest first: its Runs are its history.
_BEFORE = """SELECT o.id AS id FROM ponds p JOIN ponds o ON o.environment = p.environment AND o.name = p.name
             WHERE p.id = :pond AND o.major = p.major AND o.id <> p.id AND o.removed_at IS NOT NULL
                   AND o.borrows IS NULL ORDER BY o.id DESC"""

_ONE = f"SELECT {_FIELDS} FROM runs r {_JOINED} WHERE r.id = :id"  # noqa: S608 - constants only

# The newest failed try of the Run: what people want to read first.
_FAILED = """SELECT d.node AS node, coalesce(e.error, d.result) AS error
             FROM dispatches d LEFT JOIN executions e ON e.dispatch = d.id
             WHERE d.run = :run AND d.kind <> 'compact' AND d.outcome IN ('failed', 'crashed')
                   AND coalesce(e.error, d.result) IS NOT NULL
             ORDER BY d.id DESC, e.id DESC LIMIT 1"""


class _RunRow(RunView, frozen=True, kw_only=True):
    row: int
    failure: str | None
    pins: dict[str, int | None]
    definition: PondDefinition
    version: str = ""
    duration_us: int | None = None
    ripple: str | None = None
    error: FailureView | None = None


def runs(
    tx: Transaction, environment: str, *, pond: str | None = None, state: str | None = None, limit: int = 20
) -> RunsView:
    """Answer the newest Runs of an environment or of one Pond, those in one state when asked.

    Of a Pond that was removed and added again also those from before.

    Raises `NotFound` for an unknown Pond. An environment that nobody deployed to has no Runs.
    """
    limit = max(1, min(limit, MOST_RUNS))
    found = actors.environment(tx, environment) if pond is None else find.environment_id(tx, environment)
    looked_at = LOOKED_AT if state else limit + 1
    rows: list[_RunRow] = []
    if pond is not None and found is not None:
        row = find.pond(tx, found, pond)
        for each in [row.id, *tx.rows(_BEFORE, int, pond=row.id)]:
            left = limit + 1 - len(rows)
            if left > 0:
                rows += tx.rows(_OF_POND, _RunRow, pond=each, state=state or "", limit=left, looked_at=looked_at)
    elif found is not None:
        rows = tx.rows(_OF_ALL, _RunRow, environment=found, state=state or "", limit=limit + 1, looked_at=looked_at)
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
    row = tx.one(_ONE, _RunRow, id=identity)
    view = _run(tx, row)
    return RunDetailView(
        environment=environment,
        at=tx.now,
        run=view,
        code=code_of(tx, environment, row.definition),
        pins=_pins(tx, row.pins),
        attempts=_attempts(tx, identity, view.id),
        outputs=_outputs(tx, identity),
    )


def code_of(tx: Transaction, environment: str, definition: PondDefinition) -> CodeView:
    """Answer where the code of a stored definition came from, and when it was deployed last."""
    deployed_at = tx.row(
        """SELECT max(d.deployed_at) AS deployed_at FROM deployments d JOIN environments e ON e.id = d.environment
           WHERE e.name = :environment AND d.project = :project AND d.archive = :archive""",
        int,
        environment=environment,
        project=definition.project,
        archive=definition.archive,
    )
    return of_row(CodeView, definition, deployed_at=deployed_at)


def _run(tx: Transaction, row: _RunRow) -> RunView:
    error, ripple = read_failure(row.failure), None
    if row.state == "failed":
        failed = tx.row(_FAILED, tuple[str, str], run=row.row)
        if failed is not None:
            # The Run's own word comes first: after too many crashes it says more than the last of them.
            ripple, error = failed[0], error or read_failure(failed[1])
    return of_row(
        RunView,
        row,
        version=row.definition.version,
        duration_us=None if row.ended_at is None else row.ended_at - row.started_at,
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


def _pins(tx: Transaction, pins: dict[str, int | None]) -> tuple[PinView, ...]:
    found = []
    for source, pinned in pins.items():
        row = None
        if pinned is not None:
            statement = "SELECT public_id, number, freshness FROM runs WHERE id = :id"
            row = tx.row(statement, tuple[str, int, int], id=pinned)
        run, number, freshness = row or (None, None, None)
        found.append(PinView(source=source, run=run, number=number, freshness=freshness))
    return tuple(found)


class _AttemptRow(AttemptView, frozen=True, kw_only=True):
    id: int
    executions: tuple[ExecutionView, ...] = ()


class _ExecutionRow(msgspec.Struct, frozen=True, kw_only=True):
    epoch: int
    outcome: str | None
    process: str | None
    claimed_at: int | None
    completed_at: int | None
    progress: str | None
    error: str | None


_ATTEMPTS = """SELECT d.id AS id, d.node AS ripple, d.number AS number, d.reason AS reason, d.outcome AS outcome,
                      d.created_at AS created_at, d.closed_at AS closed_at, j.public_id AS job_run
               FROM dispatches d LEFT JOIN job_runs j ON j.dispatch = d.id
               WHERE d.run = :run AND d.kind <> 'compact' ORDER BY d.id"""
_EXECUTIONS = """SELECT e.epoch AS epoch, e.outcome AS outcome, e.claimed_at AS claimed_at, e.error AS error,
                        e.completed_at AS completed_at, e.progress AS progress, p.public_id AS process
                 FROM executions e LEFT JOIN processes p ON p.id = e.process
                 WHERE e.dispatch = :dispatch ORDER BY e.id"""


def _attempts(tx: Transaction, run_id: int, public_id: str) -> tuple[AttemptView, ...]:
    return tuple(
        of_row(AttemptView, row, executions=_executions(tx, row.id, public_id))
        for row in tx.rows(_ATTEMPTS, _AttemptRow, run=run_id)
    )


def _executions(tx: Transaction, dispatch: int, run: str) -> tuple[ExecutionView, ...]:
    return tuple(
        of_row(
            ExecutionView,
            row,
            error=read_failure(row.error),
            progress=read_progress(row.progress),
            log=None if row.claimed_at is None else log_path(run, dispatch, row.epoch),
        )
        for row in tx.rows(_EXECUTIONS, _ExecutionRow, dispatch=dispatch)
    )


def log_path(run_id: str, dispatch: int, epoch: int) -> str:
    """Answer where a worker writes the log of one try, relative to the warehouse."""
    return f"logs/{run_id}/{dispatch}-{epoch}.log"


class _OutputRow(msgspec.Struct, frozen=True, kw_only=True):
    ripple: str
    freshness: int
    snapshot: str
    rows: int
    bytes: int
    path: str
    table_rows: int | None
    kept: SnapshotContent | None


def _outputs(tx: Transaction, run_id: int) -> tuple[OutputView, ...]:
    rows = tx.rows(
        """SELECT o.node AS ripple, o.freshness AS freshness, s.public_id AS snapshot, s.rows AS rows,
                  s.bytes AS bytes, s.path AS path,
                  (SELECT max(m.rows) FROM manifests m WHERE m.snapshot = s.id) AS table_rows,
                  CASE WHEN s.content LIKE '%"upkeep":{%' THEN s.content END AS kept
           FROM run_outputs o JOIN snapshots s ON s.id = o.snapshot WHERE o.run = :run ORDER BY o.id""",
        _OutputRow,
        run=run_id,
    )
    # A Ripple that gave twice to one Run: the newest stands.
    newest = {row.ripple: row for row in rows}
    return tuple(of_row(OutputView, row, upkeep=upkeep_view(row.kept)) for row in newest.values())
