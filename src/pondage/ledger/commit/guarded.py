"""The guarded commit: what an execution gave becomes visible in one transaction, if the execution is still ours.

Two other ends of a claim are beside it, under the same guard: giving it back, and trying it with more memory.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.ledger.commit.work import never
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.ledger.database.patience import persist
from pondage.ledger.kinds.following import follow
from pondage.ledger.kinds.kind import Ending, Work
from pondage.ledger.kinds.registry import KINDS
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, queues
from pondage.ledger.step import advance
from pondage.work.failure import Failure


def commit(ledger: Ledger, work: Work, ending: Ending, *, process: int, give_up: Callable[[], bool] = never) -> bool:
    """Close the execution if it is still ours, write what it gave, report, and advance the actor.

    False means fenced: somebody else closed this execution; its files must be thrown away and nobody told.
    """
    claim = work.claim
    is_advanced = True

    def attempt(*, is_undone_alone: bool) -> bool:
        nonlocal is_advanced
        with ledger.transaction() as tx:
            is_ours = executions.close(
                tx, execution=claim.execution, token=claim.token, outcome=ending.outcome, pool=claim.pool,
                error=ending.error, summary=work.summary,
            )  # fmt: skip
            if not is_ours:
                # Our own commit may have landed and only its answer was lost: the row then shows what we wrote.
                return executions.outcome_of(tx, claim.token) == ending.outcome
            executions.close_dispatch(tx, claim.dispatch, outcome=ending.outcome, result=ending.answer)
            event = ending.write(tx, ledger, work)
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


def release(ledger: Ledger, work: Work, *, reason: str = "", give_up: Callable[[], bool] = never) -> bool:
    """Give work back untried (drain, deploy, a lost Spark session): it runs again and counts against nothing."""
    error = msgspec.json.encode(Failure(code="RELEASED", message=reason)).decode()

    def act() -> bool:
        with ledger.transaction() as tx:
            claim = work.claim
            is_ours = executions.close(
                tx, execution=claim.execution, token=claim.token, outcome="released", pool=claim.pool, error=error
            )
            if not is_ours:
                return False
            KINDS[claim.kind].interrupted(tx, claim, "its worker gave it back")
            queue, priority = tx.one(
                "SELECT queue, priority FROM dispatches WHERE id = :id", tuple[int, int], id=claim.dispatch
            )
            is_followed = follow(
                tx,
                claim,
                dispatch=claim.dispatch,
                queue=queue,
                priority=priority,
                epoch=claim.epoch,
                is_isolated=claim.is_isolated,
            )
            if not is_followed and claim.actor is not None:
                advance.report(tx, ledger, claim.actor, process=None, event=None)
            return True

    return persist(act, give_up=give_up)


def enlarge(ledger: Ledger, work: Work, *, reason: str, give_up: Callable[[], bool] = never) -> bool | None:
    """Run again, with the next size of memory, what ran out of it. None when there is none; False means fenced."""
    error = msgspec.json.encode(Failure(code="OUT_OF_MEMORY", message=reason)).decode()

    def act() -> bool | None:
        with ledger.transaction() as tx:
            claim = work.claim
            larger = queues.larger(tx, claim.queue)
            if larger is None or executions.is_last(tx, claim.dispatch):
                return None
            is_ours = executions.close(
                tx, execution=claim.execution, token=claim.token, outcome="crashed", pool=claim.pool, error=error
            )
            if not is_ours:
                return executions.outcome_of(tx, claim.token) == "crashed"
            priority = tx.one("SELECT priority FROM dispatches WHERE id = :id", int, id=claim.dispatch)
            executions.move(tx, dispatch=claim.dispatch, queue_id=larger, priority=priority, epoch=claim.epoch)
            return True

    return persist(act, give_up=give_up)
