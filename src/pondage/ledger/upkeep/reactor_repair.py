"""What an operator does to a reactor that cannot go on: one item is skipped, or it begins again from another state.

Whoever owns the reactor is fenced first: it finds at its next commit that the epoch is another, and a live host takes
the reactor anew. What is taken away is kept as a dead letter before it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from pondage.define.reactor.reaction import ReactorDeclaration
from pondage.errors import NotFound, PondageError
from pondage.kernel.reaction import Facts, Full, ReactorShape, decode_records, encode_records
from pondage.kernel.reaction.declared import shape_of
from pondage.kernel.reaction.emptied import emptied
from pondage.kernel.reaction.records import Launch, Plan, Start
from pondage.ledger.commit.journal import Batch, Fenced, FileJournal, Journaled, LedgerJournal, journal_path
from pondage.ledger.commit.journal_items import UnreadableItem, folded
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import reactor_ponds
from pondage.ledger.tables import history, letters, reactors
from pondage.ledger.tables.letters import JOURNAL, PUBLICATION
from pondage.ledger.tables.reactors import Lease, ReactorRow

EMPTY = "empty"
"""To begin again with nothing that waits and nothing in the cache."""
AHEAD_US = 3_600_000_000
"""A freshness further ahead than this is none that anybody meant."""
NOTHING = b"[]"
"""The records of an item that was skipped: its number stays, so that nothing is counted twice."""
GAP = 1_000
"""So far the numbers of fires go on behind an item that cannot be read, and that may have given some."""
_TRIES = 3
AnyJournal = FileJournal | LedgerJournal


def skip(ledger: Ledger, row: ReactorRow, item: str) -> str:
    """Put one item of the journal (`journal@17`) or one publication (`publication@5`) aside; answer its letter."""
    if (publication := _number(item, PUBLICATION)) is not None:
        with ledger.transaction() as tx:
            if not reactor_ponds.skip(tx, row, publication):
                raise _no_item(row, item)
        return item
    if (seq := _number(item, JOURNAL)) is None:
        raise _no_item(row, item)

    def repair(journal: AnyJournal) -> list[str]:
        found = journal.read()
        records = dict(zip(found.seqs, found.blobs, strict=True)).get(seq)
        if records is None or records == NOTHING:
            raise _no_item(row, item)
        kept = _keep(ledger, row, {seq: records}, "skipped")
        journal.replace(seq, NOTHING)
        return kept

    _repaired(ledger, row, f"{item} skipped", repair)
    return item


def reset(ledger: Ledger, row: ReactorRow, to: str) -> list[str]:
    """Let a reactor begin again `empty`, or as it was after an item of its journal; answer the letters of what went.

    Empty means that nothing waits and nothing is cached. How far sources were read, the numbers of fires and the
    freshness stay: nothing comes twice and no number is given again.
    """
    seq = None if to == EMPTY else _number(to, JOURNAL)
    if to != EMPTY and seq is None:
        raise PondageError(
            f"a reactor is not reset to {to!r}",
            hint=f"pondage reactor reset {row.name} --to {EMPTY} (or --to {JOURNAL}NUMBER)",
            code="NO_ITEM",
        )

    def repair(journal: AnyJournal) -> list[str]:
        found = journal.read()
        taken = {at: blob for at, blob in zip(found.seqs, found.blobs, strict=True) if seq is None or at > seq}
        if seq is not None and seq not in found.seqs:
            raise _no_item(row, to)
        facts, declaration = _empty(ledger, row, found) if seq is None else _as_of(row, found, seq)
        kept = _keep(ledger, row, {at: blob for at, blob in taken.items() if blob != NOTHING}, f"reset to {to}")
        full = encode_records([Full(facts)])
        journal.write(Batch(seq=found.seq + 1, records=full, is_full=True, declaration=declaration))
        return kept

    return _repaired(ledger, row, f"reset to {to}", repair)


def _repaired(ledger: Ledger, row: ReactorRow, what: str, repair: Callable[[AnyJournal], list[str]]) -> list[str]:
    """Fence whoever owns the reactor, repair its journal, and leave it to whoever takes it next.

    A live host may take it in between: then our lease is over, and we take it from that host once more.
    """
    kept: list[str] = []
    for tries_left in reversed(range(_TRIES)):
        with ledger.transaction() as tx:
            lease = reactors.take_over(tx, row.actor, token=ledger.ids.new("t"))
        try:
            if row.declaration.durable is not False:
                journal = _journal(ledger, lease)
                try:
                    kept = repair(journal)
                finally:
                    journal.close()
        except Fenced:
            if not tries_left:
                raise
            continue
        break
    with ledger.transaction() as tx:
        reactors.goes_on(tx, row.actor, is_pardoned=True)
        said = {"reactor": row.name, "what": what, "letters": len(kept)}
        history.record(tx, environment=row.environment, kind="reactor repaired", payload=said)
    return kept


def _journal(ledger: Ledger, lease: Lease) -> AnyJournal:
    if isinstance(ledger.driver, SqliteDriver):
        return FileJournal(journal_path(ledger.driver.path, lease.actor), lease, level="power")
    return LedgerJournal(ledger, lease)


def _keep(ledger: Ledger, row: ReactorRow, items: dict[int, bytes], why: str) -> list[str]:
    with ledger.transaction() as tx:
        for seq, blob in items.items():
            letters.keep(
                tx,
                row,
                letter=f"{JOURNAL}{seq}",
                error=why,
                body=blob.decode("utf-8", "backslashreplace").replace("\0", "\\0"),
            )
    return [f"{JOURNAL}{seq}" for seq in items]


def _as_of(row: ReactorRow, found: Journaled, seq: int) -> tuple[Facts, str]:
    declaration = found.declaration or msgspec.json.encode(row.declaration).decode()
    return folded(row.name, _shape(declaration), found, to=seq), declaration


def _empty(ledger: Ledger, row: ReactorRow, found: Journaled) -> tuple[Facts, str]:
    declaration = msgspec.json.encode(row.declaration).decode()
    is_whole = True
    try:
        facts = folded(row.name, _shape(found.declaration or declaration), found)
    except UnreadableItem as error:
        facts, is_whole = error.facts, False
    with ledger.reading() as tx:
        known = tx.row("SELECT max(fire) FROM reactor_results WHERE reactor = :actor", int, actor=row.actor) or 0
        now = tx.now
    highest = max(facts.fire_no, known, *_fires(found))
    return emptied(
        _shape(declaration), facts, fire_no=highest if is_whole else highest + GAP, latest=now + AHEAD_US
    ), declaration


def _fires(found: Journaled) -> Iterator[int]:
    """Answer the numbers of fires that the readable items name, also those behind one that is not."""
    yield 0
    for blob in found.blobs:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            for record in decode_records(blob):
                if isinstance(record, Start | Launch):
                    yield record.id
                elif isinstance(record, Plan):
                    yield record.id + len(record.consumes) - 1


def _shape(declaration: str) -> ReactorShape:
    return shape_of(msgspec.json.decode(declaration, type=ReactorDeclaration))


def _number(item: str, prefix: str) -> int | None:
    number = item.removeprefix(prefix)
    is_number = number != item and number.isascii() and number.isdigit() and len(number) < 19
    return int(number) if is_number else None


def _no_item(row: ReactorRow, item: str) -> NotFound:
    return NotFound(
        f"reactor {row.name} has no {item!r} that could be skipped or gone back to",
        hint=f"pondage why {row.name} names what is stuck, as {JOURNAL}17 or {PUBLICATION}5",
        code="NO_ITEM",
    )
