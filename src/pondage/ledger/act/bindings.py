"""What is bound to a major version of a Pond beside the Sinks of its environment, and what Sinks were seen to read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pondage.define.pond.definition import PondDefinition
from pondage.define.reactor.reaction import ReactorDeclaration
from pondage.define.values.names import PondKey, pond_key
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.state import decode_state
from pondage.ledger.data import lineage, snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.tables.actors import PondRow


def gone(tx: Transaction, environment: str) -> frozenset[PondKey]:
    """Answer the Ponds that an environment once had and has no longer: a Sink may still be bound to one."""
    identity = actors.environment(tx, environment)
    found = tx.rows(
        """SELECT DISTINCT name || '@' || major AS key FROM ponds
           WHERE environment = :environment AND removed_at IS NOT NULL AND borrows IS NULL""",
        PondKey,
        environment=identity,
    )
    return frozenset(found)


def holders(
    tx: Transaction,
    ledger: Ledger,
    environment: str,
    keys: Collection[PondKey],
    reactors: Sequence[ReactorDeclaration] = (),
) -> dict[PondKey, tuple[str, ...]]:
    """Answer in words what is bound to each of these Ponds: triggers set by hand, reactors, promotions, readers below.

    A trigger that the code declares leaves the files with the code, so it holds nothing.
    """
    identity = actors.environment(tx, environment)
    found: dict[PondKey, tuple[str, ...]] = {}
    for key in sorted(keys) if identity is not None else ():
        assert identity is not None
        row = actors.pond(tx, identity, key)
        if row is not None and row.borrows is None:
            by_reactors = [f"reactor {one.name}" for one in reactors if key in _heard(one)]
            found[key] = (*_triggers(tx, ledger, row), *by_reactors, *_promotions(tx, row), *_below(tx, row))
    return {key: words for key, words in found.items() if words}


def _triggers(tx: Transaction, ledger: Ledger, row: PondRow) -> list[str]:
    state, declared = decode_state(row.state), ledger.definition(tx, row.definition).triggers
    names = sorted(state.tides.keys() - {tide.name for tide in declared.tides})
    tides = [f"its tide {name}" if name != "tide" else "its tide" for name in names]
    return ["its wave", *tides] if state.wave is not None and not declared.wave else tides


def _heard(reactor: ReactorDeclaration) -> list[PondKey]:
    return [
        pond_key(each.pond, each.bound_major)
        for each in reactor.accumulators
        if each.kind == "pond" and each.pond is not None and each.bound_major is not None
    ]


def _promotions(tx: Transaction, row: PondRow) -> list[str]:
    if decode_state(row.state).rollback_f != NONE:
        return ["a promotion that waits"]
    promoted = tx.row(
        """SELECT e.name AS name FROM runs r JOIN runs o ON o.id = r.origin JOIN environments e ON e.id = o.environment
           WHERE r.id = :run AND o.environment <> r.environment""",
        str,
        run=snapshots.current_run(tx, row.id),
    )
    # A removed environment keeps its name before the sign that nobody can type.
    return [] if promoted is None else [f"what {promoted.partition('~')[0]} promoted"]


def _below(tx: Transaction, row: PondRow) -> list[str]:
    return [
        f"{reader} in {environment}"
        for reader, environment in tx.rows(
            """SELECT s.name AS reader, e.name AS environment FROM ponds b
               JOIN pond_sources l ON l.environment = b.environment AND l.source_name = b.name
                                      AND l.source_major = b.major
               JOIN ponds s ON s.id = l.pond AND s.removed_at IS NULL JOIN environments e ON e.id = b.environment
               WHERE b.borrows = :pond AND b.removed_at IS NULL ORDER BY e.name, s.name""",
            tuple[str, str],
            pond=row.id,
        )
    ]


def columns_read(
    tx: Transaction,
    ledger: Ledger,
    environment: str,
    ponds: Mapping[PondKey, PondDefinition],
    parent: str | None = None,
) -> dict[PondKey, dict[str, set[str]]]:
    """Answer which columns of which tables these Ponds were seen to read, by the code that they still have.

    A Pond that is not in the environment was seen in the `parent` above it.
    """
    levels = [identity for name in (environment, parent) if name and (identity := actors.environment(tx, name))]
    found: dict[PondKey, dict[str, set[str]]] = {}
    for key, pond in ponds.items():
        rows = [row for level in levels if (row := actors.pond(tx, level, key)) is not None]
        if rows:
            found[key] = _columns_of(tx, ledger, rows[0], pond)
    return found


def _columns_of(tx: Transaction, ledger: Ledger, row: PondRow, pond: PondDefinition) -> dict[str, set[str]]:
    before = {each.name: each.digest for each in ledger.definition(tx, row.definition).ripples}
    same = {each.name for each in pond.ripples if before.get(each.name) == each.digest}
    seen: dict[str, set[str]] = {}
    for dataset, ripple in tx.rows(
        "SELECT id, ripple FROM datasets WHERE pond = :pond ORDER BY id", tuple[int, str], pond=row.id
    ):
        known = lineage.newest(tx, dataset) if ripple in same else None
        for origins in [] if known is None else [*known.columns.values(), known.rows]:
            for each in origins:
                seen.setdefault(each.table, set()).add(each.column)
    return seen
