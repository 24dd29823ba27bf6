"""Questions about published data: a dispatch that a worker answers, with no machine behind it and no retries."""

from __future__ import annotations

import re

import msgspec

from pondage.ledger.act.as_of import AsOf, run_then
from pondage.ledger.data import snapshots
from pondage.ledger.data.inputs import QueryInputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import environments
from pondage.ledger.tables.environments import environment_id
from pondage.work.failure import Failure
from pondage.work.snapshot import BAD_TABLE


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a query, a sample or an analysis ended: the worker's result as JSON, or why there is none."""

    result: str | None = None
    failure: Failure | None = None


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def submit(
    ledger: Ledger,
    environment: str,
    sql: str,
    *,
    limit: int,
    as_of: AsOf | None = None,
    tables: frozenset[str] | None = None,
) -> int:
    """Ask a question and answer its id. It may see the last completed Run of every Pond whose name occurs in it.

    `as_of` shows an older Run of each instead; `NotThere` is raised when one of the `tables` (names of Ponds that are
    known to be read, when that is known) has none.
    """
    with ledger.transaction() as tx:
        identity = environment_id(tx, environment)
        words = words_of(sql) if tables is None else tables
        inputs = QueryInputs(
            sql=sql,
            limit=limit,
            views=_views(tx, ledger, identity, words, as_of),
            fused=_fused(tx, ledger, identity, words),
        )
        return executions.dispatch(
            tx,
            Dispatch(
                environment=identity,
                kind="query",
                node="query",
                number=1,
                priority=0,
                queue=ledger.queue(tx, QueueKey(code="")),
                inputs=msgspec.json.encode(inputs).decode(),
                crash_budget=0,
            ),
        )


def words_of(sql: str) -> frozenset[str]:
    """Answer every word of a text in lower case: each Pond that it reads is among them."""
    return frozenset(word.lower() for word in _WORD.findall(sql))


def published_views(tx: Transaction, ledger: Ledger, environment: int, pond: str) -> dict[str, int]:
    """Answer the snapshots that readers see of a Pond, by the names that a query would call them."""
    return _views(tx, ledger, environment, frozenset({pond}), None)


def _views(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    words: frozenset[str],
    as_of: AsOf | None,
) -> dict[str, int]:
    views: dict[str, int] = {}
    for each in environments.readable(tx, environment):
        row = each.row
        name = row.key.partition("@")[0]
        if name not in words and f"{name}{BAD_TABLE}" not in words:
            continue
        run = snapshots.current_run(tx, row.id) if as_of is None else run_then(tx, row, as_of)
        if run is None:
            continue
        given = snapshots.outputs(tx, run)
        leaves = ledger.shape(tx, row.definition).leaves
        # Rules and sources set rows aside; nobody knows before whether there will be any, so it is asked by its name.
        has_bad = any(word.endswith(BAD_TABLE) for word in words)
        for ripple, output in given.items():
            # `select * from sales` means the Ripple that has the Pond's name, or its only result.
            is_main = ripple == name or (name not in given and leaves == (ripple,))
            for table in (f"{name}.{ripple}", name) if is_main else (f"{name}.{ripple}",):
                views[table] = output.snapshot
                if has_bad:
                    views.setdefault(f"{table}{BAD_TABLE}", output.snapshot)
    return views


def _fused(tx: Transaction, ledger: Ledger, environment: int, words: frozenset[str]) -> dict[str, str]:
    """Answer the Ripples that have no table, as a query would call them, and where their rows go."""
    return {
        f"{definition.name}.{member.name}": ripple.name
        for each in environments.readable(tx, environment)
        if each.row.key.partition("@")[0] in words
        for definition in [ledger.definition(tx, each.row.definition)]
        for ripple in definition.ripples
        for member in ripple.members
    }


def result(ledger: Ledger, dispatch: int) -> Answer | None:
    """Answer how a query, a sample or an analysis ended, or None while it is waiting or running."""
    with ledger.reading() as tx:
        row = tx.row(
            """SELECT d.outcome AS outcome, d.result AS result,
                      (SELECT e.error FROM executions e WHERE e.dispatch = d.id ORDER BY e.id DESC LIMIT 1) AS error
               FROM dispatches d WHERE d.id = :id AND d.kind IN ('query', 'sample', 'infer', 'compact')""",
            tuple[str | None, str | None, str | None],
            id=dispatch,
        )
    outcome, result, error = row or (None, None, None)
    if outcome is None:
        return None
    if outcome == "ok":
        return Answer(result=result)
    if error is None:
        return Answer(failure=Failure(code="QUERY_LOST", message="the worker that did this died; ask again"))
    return Answer(failure=msgspec.json.decode(error, type=Failure))


def withdraw(ledger: Ledger, dispatch: int) -> None:
    """Say that nobody waits for the answer any more."""
    with ledger.transaction() as tx:
        executions.cancel(tx, dispatch)
