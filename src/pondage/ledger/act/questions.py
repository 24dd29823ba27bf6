"""Questions about published data: a dispatch that a worker answers, with no machine behind it and no retries."""

from __future__ import annotations

import re

import msgspec

from pondage.ledger.act import readers, shown_tables
from pondage.ledger.act.as_of import AsOf, missed
from pondage.ledger.act.readers import Wait
from pondage.ledger.act.shown_tables import Reader, ShownTable
from pondage.ledger.data.inputs import QueryInputs
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.queue.queues import QueueKey
from pondage.ledger.tables import awaited
from pondage.ledger.tables.environments import environment_id
from pondage.work.failure import Failure
from pondage.work.snapshot import BAD_TABLE


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a query, a sample or an analysis ended: the worker's result as JSON, or why there is none."""

    result: str | None = None
    failure: Failure | None = None


ASKED = ("query", "sample", "infer")
"""What is done for nobody but who asked it: it is not tried again when it took its process down."""
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
    reader: Reader | None = None,
) -> int:
    """Ask a question and answer its id. It may see the last completed Run of every Pond whose name occurs in it.

    `as_of` shows an older Run of each instead; `NotThere` is raised when one of the `tables` (names of Ponds that are
    known to be read, when that is known) has none. The read log says that the `reader` has read them.
    """
    with ledger.transaction() as tx:
        identity = environment_id(tx, environment)
        words = words_of(sql) if tables is None else tables
        shown = shown_tables.shown(tx, ledger, identity, words, as_of, has_bad=BAD_TABLE in sql.lower())
        waits: list[Wait] = []
        # What was only a word in a text that nobody could take apart is no read.
        if reader is not None and tables is not None:
            shown_tables.note(tx, ledger, identity, shown, reader)
            # The past is there already: whoever reads it asks for nothing.
            waits = [] if as_of is not None else readers.ask(tx, ledger, identity, {one.pond: one.run for one in shown})
        inputs = QueryInputs(
            sql=sql,
            limit=limit,
            views={each.name: each.snapshot for each in shown},
            fused=_fused(tx, ledger, identity, words),
            newest=_awaited(shown, waits),
        )
        queue = ledger.queue(tx, QueueKey(code="", role="questions"))
        asked = executions.ask(
            tx,
            environment=identity,
            kind="query",
            node="query",
            queue=queue,
            inputs=inputs,
            timeout_s=timeout_s,
            delay_us=max((wait.wait_us for wait in waits), default=0),
        )
        for wait in waits:
            awaited.put(tx, dispatch=asked, pond=wait.pond, moment=wait.moment, until=tx.now + wait.wait_us)
        return asked


def _awaited(shown: list[ShownTable], waits: list[Wait]) -> dict[str, tuple[int, str]]:
    """Answer the tables that are to be those of a newer Run, when one comes while the question waits."""
    ponds = {wait.key: wait.pond for wait in waits}
    return {each.name: (ponds[each.pond], each.ripple) for each in shown if each.pond in ponds}


def words_of(sql: str) -> frozenset[str]:
    """Answer every word of a text in lower case, of `sales@1` also the name: each Pond that it reads is among them."""
    found = [(word.lower(), major.lower()) for word, major in _WORD.findall(sql)]
    return frozenset([word for word, _ in found] + [word + major for word, major in found])


def published_views(tx: Transaction, ledger: Ledger, environment: int, pond: str) -> dict[str, int]:
    """Answer the snapshots that readers see of a Pond, by the names that a query would call them."""
    found = shown_tables.shown(tx, ledger, environment, frozenset({pond}), None, has_bad=False)
    return {each.name: each.snapshot for each in found}


def major_notes(
    ledger: Ledger, environment: str, tables: frozenset[str] | None, *, as_of: AsOf | None = None
) -> tuple[str, ...]:
    """Answer which major version is meant by each of these names of Ponds, where several have published."""
    if not tables:
        return ()
    notes: list[str] = []
    with ledger.reading() as tx:
        readable = shown_tables.by_name(tx, environment_id(tx, environment), tables, as_of)
        for name, rows in readable.items():
            shown = [row.key for row in rows if shown_tables.run_of(tx, row, as_of) is not None]
            if len(shown) > 1 and {name, f"{name}{BAD_TABLE}"} & tables:
                meant = shown_tables.meant(tx, rows, as_of)[0].key
                others = " and ".join(f"`{key}`" for key in shown if key != meant)
                notes.append(f"{name} is {meant} here; {others} can be asked for by that name")
    return tuple(notes)


def kept_notes(ledger: Ledger, environment: str, tables: frozenset[str] | None, as_of: AsOf | None) -> tuple[str, ...]:
    """Answer which Run is read of each of these Ponds where the one of that time is not kept any more."""
    if as_of is None or not tables:
        return ()
    notes: list[str] = []
    with ledger.reading() as tx:
        for rows in shown_tables.by_name(tx, environment_id(tx, environment), tables, as_of).values():
            row, run = shown_tables.meant(tx, rows, as_of)
            found = None if run is None else missed(tx, row, as_of)
            if found is not None:
                name, (shown, meant) = row.key.partition("@")[0], found
                notes.append(f"{name}#{meant} is not kept any more: this is {name}#{shown}, the nearest before it")
    return tuple(notes)


def _fused(tx: Transaction, ledger: Ledger, environment: int, words: frozenset[str]) -> dict[str, str]:
    """Answer the Ripples that have no table, as a query would call them, and where their rows go."""
    found: dict[str, str] = {}
    for name, rows in shown_tables.by_name(tx, environment, words).items():
        for row in reversed(rows):
            for ripple in ledger.definition(tx, row.definition).ripples:
                for member in ripple.members:
                    found[f"{name}.{member.name}"] = found[f"{row.key}.{member.name}"] = ripple.name
    return found


def result(ledger: Ledger, dispatch: int) -> Answer | None:
    """Answer how a query, a sample or an analysis ended, or None while it is waiting or running."""
    with ledger.reading() as tx:
        row = tx.row(
            """SELECT d.kind AS kind, d.outcome AS outcome, d.result AS result,
                      (SELECT e.error FROM executions e WHERE e.dispatch = d.id ORDER BY e.id DESC LIMIT 1) AS error
               FROM dispatches d WHERE d.id = :id AND d.kind IN ('query', 'sample', 'infer', 'compact')""",
            tuple[str | None, str | None, str | None, str | None],
            id=dispatch,
        )
    kind, outcome, result, error = row or (None, None, None, None)
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
    failure = msgspec.json.decode(error, type=Failure)
    if failure.code == "CRASHED" and kind in ASKED:
        failure = msgspec.structs.replace(failure, code="QUERY_LOST")
    return Answer(failure=failure)


def withdraw(ledger: Ledger, dispatch: int) -> None:
    """Say that nobody waits for the answer any more."""
    with ledger.transaction() as tx:
        executions.cancel(tx, dispatch)
