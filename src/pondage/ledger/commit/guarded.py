"""The guarded commit: what an execution gave becomes visible in one transaction, if the execution is still ours."""

from __future__ import annotations

from collections.abc import Callable

from pondage.ledger.database.driver import LedgerUnavailable, Transaction
from pondage.ledger.database.patience import persist
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.claims import Claim
from pondage.ledger.queue.executions import Outcome
from pondage.ledger.step import advance
from pondage.ledger.step.advance import Happening


def commit(
    ledger: Ledger,
    claim: Claim,
    outcome: Outcome,
    record: Callable[[Transaction], Happening | None],
    *,
    process: int,
    give_up: Callable[[], bool],
    error: str | None = None,
    result: str | None = None,
    summary: str | None = None,
) -> bool:
    """Close the execution if it is still ours, record, report, and advance the actor. False means fenced.

    `record` writes what the execution gave and answers what its actor must be told.
    """
    is_advanced = True

    def attempt(*, is_undone_alone: bool) -> bool:
        nonlocal is_advanced
        with ledger.transaction() as tx:
            is_ours = executions.close(
                tx, execution=claim.execution, token=claim.token, outcome=outcome, pool=claim.pool, error=error,
                summary=summary,
            )  # fmt: skip
            if not is_ours:
                # Our own commit may have landed and only its answer was lost: the row then shows what we wrote.
                return executions.outcome_of(tx, claim.token) == outcome
            executions.close_dispatch(tx, claim.dispatch, outcome=outcome, result=result)
            event = record(tx)
            if claim.actor is not None:
                is_advanced = advance.report(
                    tx, ledger, claim.actor, process=process, event=event, is_undone_alone=is_undone_alone
                )
        return True

    def act() -> bool:
        try:
            return attempt(is_undone_alone=False)
        except LedgerUnavailable:
            raise
        except Exception:  # noqa: BLE001 - what was not the step's is raised again
            # A savepoint around every step is dear, and a step hardly ever raises. When it did, nothing was written;
            # made again with one, the commit stands, the report waits as a signal and the error is counted.
            return attempt(is_undone_alone=True)

    is_ours = persist(act, give_up=give_up)
    if is_ours and not is_advanced:
        # The actor was locked: now that we hold nothing we may wait for it, so no report is stranded.
        assert claim.actor is not None
        actor = claim.actor
        persist(lambda: advance.waiting(ledger, actor, process=process), give_up=give_up)
    return is_ours
