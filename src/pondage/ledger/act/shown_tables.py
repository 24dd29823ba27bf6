"""The tables that readers of an environment see, under the names that they have for them; noting that they read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from pondage.define.values.names import PondKey, split_key
from pondage.ledger.act import readers
from pondage.ledger.act.as_of import AsOf, NotThere, run_then
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction, numbered
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.reads import Door
from pondage.work.snapshot import BAD_TABLE


class Reader(msgspec.Struct, frozen=True):
    """Who reads, and through which door."""

    name: str
    door: Door


class ShownTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of a Run under one of its names: `sales`, `sales.clean`, `sales@1`, `sales@1.clean`."""

    name: str
    pond: PondKey
    ripple: str
    run: int
    snapshot: int

    @property
    def is_bad(self) -> bool:
        """Answer whether these are the rows that were set aside from it."""
        return self.name.endswith(BAD_TABLE)


def by_name(
    tx: Transaction, environment: int, words: frozenset[str] | None, as_of: AsOf | None = None
) -> dict[str, list[PondRow]]:
    """Answer the Ponds that a question may read (None: all), by their names; of each the newest major first.

    What a Run of the past has read is among them also when that major was removed since.
    """
    found: dict[str, list[PondRow]] = {}
    rows = {each.row.key: each.row for each in environments.readable(tx, environment)}
    for key, run in as_of.runs.items() if as_of is not None else ():
        if key not in rows and (row := actors.pond_of_run(tx, run)) is not None:
            rows[key] = row
    for row in rows.values():
        name, _ = split_key(row.key)
        if words is None or not words.isdisjoint({name, f"{name}{BAD_TABLE}", row.key, f"{row.key}{BAD_TABLE}"}):
            found.setdefault(name, []).append(row)
    return {name: sorted(rows, key=lambda row: -split_key(row.key)[1]) for name, rows in found.items()}


def run_of(tx: Transaction, row: PondRow, as_of: AsOf | None) -> int | None:
    """Answer the Run that readers see, None where there is none."""
    if as_of is None:
        return snapshots.current_run(tx, row.id)
    with suppress(NotThere):
        return run_then(tx, row, as_of)
    return None


def meant(tx: Transaction, rows: Sequence[PondRow], as_of: AsOf | None) -> tuple[PondRow, int | None]:
    """Answer what a name without a major means: what the Run read whose past is asked for, else the newest published.

    Raises `NotThere` when there was none then.
    """
    read = [row for row in rows if as_of is not None and row.key in as_of.runs]
    for row in [*read, *rows]:
        run = run_of(tx, row, as_of)
        if run is not None:
            return row, run
    return rows[0], None if as_of is None else run_then(tx, rows[0], as_of)


def shown(
    tx: Transaction,
    ledger: Ledger,
    environment: int,
    words: frozenset[str] | None,
    as_of: AsOf | None,
    *,
    has_bad: bool,
) -> list[ShownTable]:
    """Answer the tables of all Ponds that one of the words may mean (None: of all), each under each of its names.

    Raises `NotThere` when one of them had no Run then.
    """
    found: dict[str, ShownTable] = {}
    for name, rows in by_name(tx, environment, words, as_of).items():
        named = [row for row in rows if words is None or not words.isdisjoint({row.key, f"{row.key}{BAD_TABLE}"})]
        for row in named:
            run = _run_or_raise(tx, row, as_of) if words is not None else run_of(tx, row, as_of)
            _add(tx, ledger, found, row, row.key, run, has_bad=has_bad)
        if words is None or not words.isdisjoint({name, f"{name}{BAD_TABLE}"}):
            with suppress(*(() if words is not None else (NotThere,))):
                row, run = meant(tx, rows, as_of)
                _add(tx, ledger, found, row, name, run, has_bad=has_bad)
    return list(found.values())


def _run_or_raise(tx: Transaction, row: PondRow, as_of: AsOf | None) -> int | None:
    return snapshots.current_run(tx, row.id) if as_of is None else run_then(tx, row, as_of)


def _add(
    tx: Transaction,
    ledger: Ledger,
    found: dict[str, ShownTable],
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
            one = ShownTable(name=table, pond=row.key, ripple=ripple, run=run, snapshot=output.snapshot)
            found[table] = one
            if has_bad:
                found.setdefault(f"{table}{BAD_TABLE}", msgspec.structs.replace(one, name=f"{table}{BAD_TABLE}"))


def note(tx: Transaction, ledger: Ledger, environment: int, tables: Iterable[ShownTable], reader: Reader) -> None:
    """Say to the read log that somebody reads these tables: each Run once, with the bytes of its tables."""
    read: dict[tuple[PondKey, int], set[int]] = {}
    for each in tables:
        read.setdefault((each.pond, each.run), set()).add(each.snapshot)
    if not read:
        return
    readers.listen(ledger)
    sizes = _sizes(tx, {one for some in read.values() for one in some})
    moments = _moments(tx, [run for _, run in read])
    for (pond, run), some in read.items():
        ledger.reads.note(
            environment=environment,
            pond=pond,
            run=run,
            door=reader.door,
            reader=reader.name,
            at=tx.now,
            age=tx.now - moments[run],
            size=sum(sizes[one] for one in some),
        )


def _sizes(tx: Transaction, ids: Iterable[int]) -> dict[int, int]:
    marks, values = numbered("id", sorted(ids))
    rows = tx.rows(
        f"""SELECT s.id AS id, coalesce((SELECT m.bytes FROM manifests m WHERE m.snapshot = s.id
                                         ORDER BY m.id DESC LIMIT 1), s.bytes) AS bytes
            FROM snapshots s WHERE s.id IN ({marks})""",
        tuple[int, int],
        **values,
    )
    return dict(rows)


def _moments(tx: Transaction, runs: Sequence[int]) -> dict[int, int]:
    """Answer which moment the data of each of these Runs describes."""
    marks, values = numbered("run", sorted(set(runs)))
    statement = f"SELECT id, freshness - delay AS at FROM runs WHERE id IN ({marks})"
    return dict(tx.rows(statement, tuple[int, int], **values))
