"""Dispatches and their executions: work as rows, claimed with a token, closed once."""

from __future__ import annotations

from typing import Literal

import msgspec

from pondage.ledger.database.driver import Transaction, numbered
from pondage.ledger.queue import pools

Outcome = Literal["ok", "reused", "failed", "crashed", "released", "cancelled", "abandoned"]


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that a piece of work must be done."""

    environment: int
    kind: str
    """The name of one of `pondage.ledger.kinds`; `fire` is what a reactor gave its Pond, which nobody claims."""
    node: str
    number: int
    queue: int
    inputs: str
    priority: int = 1
    actor: int | None = None
    run: int | None = None
    dataset: int | None = None
    freshness: int | None = None
    digest: str | None = None
    timeout_s: float | None = None
    crash_budget: int = 4
    reason: str = ""


def dispatch(tx: Transaction, work: Dispatch, *, delay_us: int = 0) -> int:
    """Write a dispatch with its first execution, claimable at once or after a delay, and answer its id."""
    identity = _insert_dispatch(tx, work, outcome=None)
    enqueue(tx, dispatch=identity, queue_id=work.queue, priority=work.priority, epoch=0, delay_us=delay_us)
    return identity


def ask(
    tx: Transaction,
    *,
    environment: int,
    kind: str,
    node: str,
    queue: int,
    inputs: msgspec.Struct,
    timeout_s: float | None,
    delay_us: int = 0,
) -> int:
    """Write a dispatch whose answer somebody waits for: it goes first, and after a crash they ask again themselves."""
    text = msgspec.json.encode(inputs).decode()
    work = Dispatch(
        environment=environment, kind=kind, node=node, number=1, queue=queue, inputs=text, priority=0,
        timeout_s=timeout_s, crash_budget=0,
    )  # fmt: skip
    return dispatch(tx, work, delay_us=delay_us)


def dispatch_done(tx: Transaction, work: Dispatch, *, outcome: Outcome) -> int:
    """Write a dispatch that needs no execution because its answer is known already."""
    return _insert_dispatch(tx, work, outcome=outcome)


def dispatch_without_execution(tx: Transaction, work: Dispatch) -> int:
    """Write a dispatch that a run of a job carries out, and answer its id."""
    return _insert_dispatch(tx, work, outcome=None)


def put_closed(tx: Transaction, work: Dispatch, *, token: str) -> int:
    """Write work that was done elsewhere under this token, with its only execution, and answer that."""
    return tx.insert(
        """INSERT INTO executions (dispatch, token, epoch, created_at, claimed_at, completed_at, outcome)
           VALUES (:dispatch, :token, 0, :now, :now, :now, 'ok')""",
        dispatch=_insert_dispatch(tx, work, outcome="ok"),
        token=token,
    )


def _insert_dispatch(tx: Transaction, work: Dispatch, *, outcome: Outcome | None) -> int:
    return tx.insert(
        """INSERT INTO dispatches (environment, actor, run, dataset, kind, node, number, freshness, queue, priority,
                                   inputs, digest, timeout_s, crash_budget, reason, outcome, created_at, closed_at)
           VALUES (:environment, :actor, :run, :dataset, :kind, :node, :number, :freshness, :queue, :priority,
                   :inputs, :digest, :timeout_s, :crash_budget, :reason, :outcome, :now,
                   CASE WHEN CAST(:outcome AS TEXT) IS NULL THEN NULL ELSE :now END)""",
        outcome=outcome,
        **msgspec.structs.asdict(work),
    )


def enqueue(
    tx: Transaction,
    *,
    dispatch: int,
    queue_id: int,
    priority: int,
    epoch: int,
    delay_us: int = 0,
    is_isolated: bool = False,
) -> None:
    """Write a new execution of a dispatch and make it claimable."""
    tx.write(
        """INSERT INTO executions (dispatch, epoch, is_isolated, created_at)
           VALUES (:dispatch, :epoch, :is_isolated, :now)""",
        dispatch=dispatch,
        epoch=epoch,
        is_isolated=int(is_isolated),
    )
    tx.write_one(
        """INSERT INTO availabilities (execution, queue, priority, is_isolated, available_at)
           SELECT id, :queue, :priority, :is_isolated, :available_at FROM executions
           WHERE dispatch = :dispatch AND completed_at IS NULL""",
        dispatch=dispatch,
        queue=queue_id,
        priority=priority,
        is_isolated=int(is_isolated),
        available_at=tx.now + delay_us,
    )


def move(tx: Transaction, *, dispatch: int, queue_id: int, priority: int, epoch: int) -> None:
    """Make a dispatch whose execution was closed claimable in another queue, now and from now on."""
    tx.write("UPDATE dispatches SET queue = :queue WHERE id = :id", queue=queue_id, id=dispatch)
    enqueue(tx, dispatch=dispatch, queue_id=queue_id, priority=priority, epoch=epoch)


def outcome_of(tx: Transaction, token: str) -> str | None:
    """Answer how the execution with this token was closed, or None while it is open: resolves an ambiguous commit."""
    return tx.row("SELECT outcome FROM executions WHERE token = :token", str, token=token)


def close(
    tx: Transaction,
    *,
    execution: int,
    token: str,
    outcome: Outcome,
    pool: str = "",
    error: str | None = None,
    summary: str | None = None,
) -> bool:
    """Close an execution that the holder of this token still holds. False means fenced: somebody else closed it.

    `summary` takes the place of its progress; without one the last that was written stays, as how far it came.
    """
    is_closed = (
        tx.change(
            """UPDATE executions SET completed_at = :now, outcome = :outcome, error = :error,
                                     progress = coalesce(:summary, progress)
               WHERE id = :id AND token = :token AND completed_at IS NULL""",
            id=execution,
            token=token,
            outcome=outcome,
            error=error,
            summary=summary,
        )
        == 1
    )
    if is_closed and pool:
        pools.free(tx, execution)
    return is_closed


def close_dispatch(tx: Transaction, dispatch: int, *, outcome: Outcome, result: str | None = None) -> None:
    """Say how a dispatch ended, unless it had ended before."""
    tx.write(
        """UPDATE dispatches SET outcome = :outcome, result = :result, closed_at = :now
           WHERE id = :id AND outcome IS NULL""",
        id=dispatch,
        outcome=outcome,
        result=result,
    )


_LAST = """SELECT d.outcome AS outcome FROM runs r JOIN dispatches d ON d.run = r.id AND d.node = :node
           WHERE r.pond = :pond ORDER BY r.number DESC, d.number DESC LIMIT 1"""


def last_outcome(tx: Transaction, *, pond: int, node: str) -> str | None:
    """Answer how a Ripple's last dispatch ended, None when it is open or there is none."""
    return tx.row(_LAST, str, pond=pond, node=node)


def cancel(tx: Transaction, dispatch: int) -> None:
    """Close a dispatch and whatever execution of it is open, so that a late commit finds its guard shut."""
    # Whoever reaps or releases at this moment closes one execution and makes the next: look until none is open.
    while open_ids := _open_ids(tx, dispatch):
        marks, values = numbered("id", open_ids)
        # The availability goes first: a claim that waits for it then finds nothing to take.
        tx.change(f"DELETE FROM availabilities WHERE execution IN ({marks})", **values)
        # Only those: one that appeared since still has its availability.
        for execution in tx.rows(
            f"""UPDATE executions SET completed_at = :now, outcome = 'cancelled'
                WHERE id IN ({marks}) AND completed_at IS NULL RETURNING id""",
            int,
            **values,
        ):
            pools.free(tx, execution)
    close_dispatch(tx, dispatch, outcome="cancelled")


def ask_to_stop(tx: Transaction, *, actor: int, node: str, attempt: int, is_last: bool = False) -> bool:
    """Note that a component must close its outputs and return; whoever holds it sees that by its next look.

    `is_last`: and that no execution follows. True when there is nobody to ask, because nobody had begun: then it is
    over.
    """
    found = tx.rows(
        """UPDATE dispatches SET stopped_at = coalesce(stopped_at, :now), is_last = :is_last
           WHERE kind = 'component' AND actor = :actor AND node = :node AND number = :number AND outcome IS NULL
           RETURNING id""",
        int,
        actor=actor,
        node=node,
        number=attempt,
        is_last=int(is_last),
    )
    return is_last and any(_withdraw(tx, dispatch) for dispatch in found)


def _withdraw(tx: Transaction, dispatch: int) -> bool:
    """Take back what waits for a worker. False when one has it: whoever removes the availability decides that."""
    waiting = tx.rows(
        """DELETE FROM availabilities WHERE execution IN
                  (SELECT id FROM executions WHERE dispatch = :id AND completed_at IS NULL) RETURNING execution""",
        int,
        id=dispatch,
    )
    if waiting:
        cancel(tx, dispatch)
    return bool(waiting)


def is_last(tx: Transaction, dispatch: int) -> bool:
    """Answer whether no execution may follow the one of this dispatch that is over."""
    # Locked: a kill at the same moment is waited for, or waits and then sees what follows.
    return bool(tx.one("SELECT is_last FROM dispatches WHERE id = :id /*lock*/", int, id=dispatch))


def stopped_tokens(tx: Transaction, process: int) -> set[str]:
    """Answer the tokens of this process whose components were asked to stop."""
    rows = tx.rows(
        """SELECT e.token AS token FROM executions e JOIN dispatches d ON d.id = e.dispatch
           WHERE e.process = :process AND e.completed_at IS NULL AND d.stopped_at IS NOT NULL""",
        str,
        process=process,
    )
    return set(rows)


def crashed_in(tx: Transaction, public_id: str) -> int:
    """Answer how many executions a process took down with it: of that, they are to blame."""
    return tx.one(
        """SELECT count(*) AS crashed FROM executions e JOIN processes p ON p.id = e.process
           WHERE p.public_id = :public_id AND e.outcome = 'crashed'""",
        int,
        public_id=public_id,
    )


def once_holders(tx: Transaction) -> set[str]:
    """Answer the processes that run something that may run only once."""
    rows = tx.rows(
        """SELECT DISTINCT p.public_id AS name FROM processes p JOIN executions e ON e.process = p.id
                  JOIN dispatches d ON d.id = e.dispatch
           WHERE p.dead_at IS NULL AND e.completed_at IS NULL AND d.kind = 'component' AND d.crash_budget = 0""",
        str,
    )
    return set(rows)


def _open_ids(tx: Transaction, dispatch: int) -> list[int]:
    return tx.rows("SELECT id FROM executions WHERE dispatch = :id AND completed_at IS NULL", int, id=dispatch)


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """An open execution of a process, with what is needed to run its dispatch again."""

    execution: int
    token: str
    epoch: int
    dispatch: int
    queue: int
    priority: int
    crashes: int
    crash_budget: int
    is_isolated: bool
    actor: int | None
    node: str
    number: int
    kind: str
    inputs: str
    pool: str


def held_by(tx: Transaction, process: int) -> list[Held]:
    """Answer what a process holds."""
    return tx.rows(
        """SELECT e.id AS execution, e.token, e.epoch, e.is_isolated, d.id AS dispatch, d.queue, d.priority,
                  d.crashes, d.crash_budget, d.actor, d.node, d.number, d.kind, d.inputs, q.pool
           FROM executions e JOIN dispatches d ON d.id = e.dispatch JOIN queues q ON q.id = d.queue
           WHERE e.process = :process AND e.completed_at IS NULL ORDER BY e.id""",
        Held,
        process=process,
    )


def put_progress(tx: Transaction, *, execution: int, token: str, progress: str) -> bool:
    """Write how far an execution is. False when it is no longer ours: the holder should stop."""
    return (
        tx.change(
            "UPDATE executions SET progress = :progress WHERE id = :id AND token = :token AND completed_at IS NULL",
            progress=progress,
            id=execution,
            token=token,
        )
        == 1
    )


def open_tokens(tx: Transaction, process: int) -> set[str]:
    """Answer the tokens that the ledger thinks this process holds."""
    statement = "SELECT token FROM executions WHERE process = :process AND completed_at IS NULL"
    return set(tx.rows(statement, str, process=process))
