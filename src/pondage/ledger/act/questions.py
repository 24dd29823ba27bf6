"""Questions about published data: a dispatch that a worker answers, with no machine behind it and no retries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from pondage.define.values.names import split_key
from pondage.ledger.act.as_of import AsOf, NotThere, run_then
from pondage.ledger.data import snapshots
from pondage.ledger.data.inputs import QueryInputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Dispatch
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.environments import environment_id
from pondage.work.failure import Failure
from pondage.work.snapshot import BAD_TABLE


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a query, a sample or an analysis ended: the worker's result as JSON, or why there is none."""

    result: str | None = None
    failure: Failure | None = None


_WORD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(@[0-9]+[A-Za-z0-9_]*)?")


def submit(
    ledger: Ledger,
    environment: str,
    sql: str,
    *,
    limit: int,
    as_of: AsOf | None = None,
    tables: frozenset[str] | None = None,
    timeout_s: float | None = None,
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
            views=_views(tx, ledger, identity, words, as_of, has_bad=BAD_TABLE in sql.lower()),
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
                queue=ledger.queue(tx, QueueKey(code="", role="questions")),
                inputs=msgspec.json.encode(inputs).decode(),
                timeout_s=timeout_s,
                crash_budget=0,
            ),
        )


def words_of(sql: str) -> frozenset[str]:
    """Answer every word of a text in lower case, of `sales@1` also the name: each Pond that it reads is among them."""
    found = [(word.lower(), major.lower()) for word, major in _WORD.findall(sql)]
    return frozenset([word for word, _ in found] + [word + major for word, major in found])


def published_views(tx: Transaction, ledger: Ledger, environment: int, pond: str) -> dict[str, int]:
    """Answer the snapshots that readers see of a Pond, by the names that a query would call them."""
    return _views(tx, ledger, environment, frozenset({pond}), None, has_bad=False)


def major_notes(
    ledger: Ledger, environment: str, tables: frozenset[str] | None, *, as_of: AsOf | None = None
) -> tuple[str, ...]:
    """Answer which major version is meant by each of these names of Ponds, where several have published."""
    if not tables:
        return ()
    notes: list[str] = []
    with ledger.reading() as tx:
        readable = _by_name(tx, environment_id(tx, environment), tables, as_of)
        for name, rows in readable.items():
            shown = [row.key for row in rows if _run(tx, row, as_of) is not None]
            if len(shown) > 1 and {name, f"{name}{BAD_TABLE}"} & tables:
                meant = _meant(tx, rows, as_of)[0].key
                others = " and ".join(f"`{key}`" for key in shown if key != meant)
                notes.append(f"{name} is {meant} here; {others} can be asked for by that name")
    return tuple(notes)


def _by_name(
    tx: Transaction, environment: int, words: frozenset[str], as_of: AsOf | None = None
) -> dict[str, list[PondRow]]:
    """Answer the Ponds that a question may read, by their names; of each the newest major first.

    What a Run of the past has read is among them also when that major was removed since.
    """
    found: dict[str, list[PondRow]] = {}
    rows = {each.row.key: each.row for each in environments.readable(tx, environment)}
    for key, run in as_of.runs.items() if as_of is not None else ():
        if key not in rows and (row := actors.pond_of_run(tx, run)) is not None:
            rows[key] = row
    for row in rows.values():
        name, _ = split_key(row.key)
        if not words.isdisjoint({name, f"{name}{BAD_TABLE}", row.key, f"{row.key}{BAD_TABLE}"}):
            found.setdefault(name, []).append(row)
    return {name: sorted(rows, key=lambda row: -split_key(row.key)[1]) for name, rows in found.items()}


def _run(tx: Transaction, row: PondRow, as_of: AsOf | None) -> int | None:
    if as_of is None:
        return snapshots.current_run(tx, row.id)
    with suppress(NotThere):
        return run_then(tx, row, as_of)
    return None


def _meant(tx: Transaction, rows: Sequence[PondRow], as_of: AsOf | None) -> tuple[PondRow, int | None]:
    """Answer what a name without a major means: what the Run read whose past is asked for, else the newest published.

    Raises `NotThere` when there was none then.
    """
    read = [row for row in rows if as_of is not None and row.key in as_of.runs]
    for row in [*read, *rows]:
        run = _run(tx, row, as_of)
        if run is not None:
            return row, run
    return rows[0], None if as_of is None else run_then(tx, rows[0], as_of)


def _views(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    words: frozenset[str],
    as_of: AsOf | None,
    *,
    has_bad: bool,
) -> dict[str, int]:
    views: dict[str, int] = {}
    for name, rows in _by_name(tx, environment, words, as_of).items():
        named = [row for row in rows if not words.isdisjoint({row.key, f"{row.key}{BAD_TABLE}"})]
        for row in named:
            run = snapshots.current_run(tx, row.id) if as_of is None else run_then(tx, row, as_of)
            _add_views(tx, ledger, views, row, row.key, run, has_bad=has_bad)
        if not words.isdisjoint({name, f"{name}{BAD_TABLE}"}):
            row, run = _meant(tx, rows, as_of)
            _add_views(tx, ledger, views, row, name, run, has_bad=has_bad)
    return views


def _add_views(
    tx: Transaction,
    ledger: Ledger,
    views: dict[str, int],
    row: PondRow,
    called: str,
    run: int | None,
    *,
    has_bad: bool,
) -> None:
    """Add the tables of a Run, by the names that a question has for them: `sales`, `sales.clean`, `sales@1.clean`.

    Rules and sources set rows aside; nobody knows before whether there will be any, so those are there when the
    question `has_bad` in its text.
    """
    if run is None:
        return
    name, _ = split_key(row.key)
    given = snapshots.outputs(tx, run)
    leaves = ledger.shape(tx, row.definition).leaves
    for ripple, output in given.items():
        # `select * from sales` means the Ripple that has the Pond's name, or its only result.
        is_main = ripple == name or (name not in given and leaves == (ripple,))
        for table in (f"{called}.{ripple}", called) if is_main else (f"{called}.{ripple}",):
            views[table] = output.snapshot
            if has_bad:
                views.setdefault(f"{table}{BAD_TABLE}", output.snapshot)


def _fused(tx: Transaction, ledger: Ledger, environment: int, words: frozenset[str]) -> dict[str, str]:
    """Answer the Ripples that have no table, as a query would call them, and where their rows go."""
    found: dict[str, str] = {}
    for name, rows in _by_name(tx, environment, words).items():
        for row in reversed(rows):
            for ripple in ledger.definition(tx, row.definition).ripples:
                for member in ripple.members:
                    found[f"{name}.{member.name}"] = found[f"{row.key}.{member.name}"] = ripple.name
    return found


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
    if outcome == "cancelled":
        return Answer(failure=Failure(code="CANCELLED", message="it was cancelled: nobody waited for the answer"))
    if error is None:
        return Answer(
            failure=Failure(code="QUERY_LOST", message="the process that answered it died; ask for less, or again")
        )
    return Answer(failure=msgspec.json.decode(error, type=Failure))


def withdraw(ledger: Ledger, dispatch: int) -> None:
    """Say that nobody waits for the answer any more."""
    with ledger.transaction() as tx:
        executions.cancel(tx, dispatch)
