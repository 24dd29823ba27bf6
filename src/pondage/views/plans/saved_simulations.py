"""Simulations that somebody kept, to look at them later beside what really happened."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pondage.errors import NotFound
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.tables import actors
from pondage.simulate.record import RunRecord
from pondage.views.plans.simulation import SimulationView

KIND = "simulation"
MOST = 50
MOST_SPANS = 5_000


class SavedSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A Run of a simulation."""

    lane: str
    start: int
    end: int


class SavedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A kept simulation in one line: what was asked for, from when and for how long."""

    id: str
    name: str
    saved_at: int
    start: int
    length_us: int
    triggers: tuple[str, ...]


class SavedSimulations(msgspec.Struct, frozen=True, kw_only=True):
    """The kept simulations of an environment, newest first."""

    environment: str
    at: int
    simulations: tuple[SavedLine, ...]


class SavedSimulation(msgspec.Struct, frozen=True, kw_only=True):
    """One of them with its Runs; `has_more` when there were too many to keep."""

    line: SavedLine
    spans: tuple[SavedSpan, ...]
    has_more: bool


class KeptSimulation(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a simulation."""

    name: str
    start: int
    length_us: int
    triggers: tuple[str, ...]
    spans: tuple[SavedSpan, ...]
    has_more: bool


def kept_of(name: str, view: SimulationView, runs: Sequence[RunRecord]) -> KeptSimulation:
    """Answer what is worth keeping of a simulation: its first Runs that ended."""
    over = sorted((each for each in runs if each.end is not None), key=lambda each: each.start)
    return of_row(
        KeptSimulation,
        view,
        name=name,
        spans=tuple(
            SavedSpan(lane=each.pond, start=each.start, end=each.end)
            for each in over[:MOST_SPANS]
            if each.end is not None
        ),
        has_more=len(over) > MOST_SPANS,
    )


def saved(tx: Transaction, environment: str) -> SavedSimulations:
    """Answer the newest kept simulations."""
    rows = tx.rows(
        """SELECT id, at, payload FROM history WHERE environment = :environment AND kind = :kind
           ORDER BY id DESC LIMIT :most""",
        tuple[int, int, str],
        environment=actors.environment(tx, environment) or -1,
        kind=KIND,
        most=MOST,
    )
    lines = (_line(str(identity), at, _kept(payload)) for identity, at, payload in rows)
    return SavedSimulations(environment=environment, at=tx.now, simulations=tuple(lines))


def saved_one(tx: Transaction, environment: str, given: str) -> SavedSimulation:
    """Answer a kept simulation by its id; raises `NotFound`."""
    row = None
    if given.isascii() and given.isdecimal() and len(given) < 18:
        row = tx.row(
            "SELECT at, payload FROM history WHERE id = :id AND environment = :environment AND kind = :kind",
            tuple[int, str],
            id=int(given),
            environment=actors.environment(tx, environment) or -1,
            kind=KIND,
        )
    if row is None:
        raise NotFound(f"there is no saved simulation {given!r}", hint="pondage simulate --save NAME", code="NO_SAVED")
    kept = _kept(row[1])
    return SavedSimulation(line=_line(given, row[0], kept), spans=kept.spans, has_more=kept.has_more)


def _kept(payload: str) -> KeptSimulation:
    return msgspec.json.decode(payload, type=KeptSimulation)


def _line(identity: str, at: int, kept: KeptSimulation) -> SavedLine:
    return SavedLine(
        id=identity, name=kept.name, saved_at=at, start=kept.start, length_us=kept.length_us, triggers=kept.triggers
    )
