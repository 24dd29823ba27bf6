"""Replay: the recorded advancements, stepped again from nothing, must give the stored states.

An advancement keeps the events as they were given, the step's time, and the answers of look-ups as further rounds of
events. The machine is pure, so the same history gives the same state; a difference is a defect or a foreign write.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from pondage.define.values.names import PondKey
from pondage.kernel.demand import MemoryPonds, PondShape, decode_state, encode_state, step
from pondage.kernel.demand.effects import Effect, StartRun
from pondage.kernel.demand.events import Event
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, profiles
from pondage.ledger.tables.environments import Shown
from pondage.ledger.tables.pins import Chosen
from pondage.ledger.tables.pond_shape import BORROWED
from pondage.ledger.upkeep import job_replay

_NOTHING = Chosen()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A Pond whose stored state is not what its history gives; None where one of the two has no such Pond."""

    pond: PondKey
    stored: str | None
    replayed: str | None


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """How a replay went. `is_complete` is False when retention has taken the beginning: then nothing can be said."""

    advancements: int
    is_complete: bool
    differences: tuple[Difference, ...] = ()
    runs: tuple[str, ...] = ()
    """Rows of runs of jobs that are not what the run's history gives."""


class _HistoricPonds(MemoryPonds):
    """Ponds in memory whose definitions are those of the ledger."""

    def __init__(self, tx: Transaction, ledger: Ledger) -> None:
        super().__init__()
        self._tx = tx
        self._ledger = ledger

        self.published: dict[PondKey, Shown] = {}

    def definition(self, key: PondKey, definition: str) -> PondShape | None:
        shape = self._ledger.shape(self._tx, int(definition))
        return self._following(shape) if shape.key == key else None

    def shape(self, key: PondKey) -> PondShape | None:
        shape = super().shape(key)
        return None if shape is None else self._following(shape)

    def _following(self, shape: PondShape) -> PondShape:
        # What a borrowed Pond found above is in the Run that it started.
        shown = self.published.get(shape.key)
        return replace(shape, calendar=shown) if shown is not None and BORROWED in shape.ripples else shape


def replay(tx: Transaction, ledger: Ledger, environment: int) -> Replayed:
    """Step the whole recorded history of an environment again and compare."""
    ponds = _HistoricPonds(tx, ledger)
    rows = tx.rows(
        """SELECT v.at AS at, v.signals AS signals, v.effects AS effects
           FROM advancements v JOIN actors a ON a.id = v.actor
           WHERE a.environment = :environment AND a.kind = 'catchment' AND v.error IS NULL ORDER BY v.id""",
        tuple[int, tuple[tuple[Event, ...], ...], tuple[Effect, ...]],
        environment=environment,
    )
    taken = tx.one(
        """SELECT CAST(coalesce(sum(version), 0) AS BIGINT) AS steps FROM actors
           WHERE environment = :environment AND kind = 'catchment'""",
        int,
        environment=environment,
    )
    jobs = job_replay.replay_runs(tx, ledger, environment)
    if taken > len(rows):
        return Replayed(advancements=len(rows) + jobs.advancements, is_complete=False, runs=jobs.differences)
    for at, rounds, effects in rows:
        ponds.published = {
            each.pond: Shown(run=0, freshness=each.freshness, delay=each.delay, chosen=_NOTHING)
            for each in effects
            if isinstance(each, StartRun)
        }
        for events in rounds:
            step(ponds, events, at)
    # What an older program wrote may be spelled otherwise.
    stored = {row.key: encode_state(decode_state(row.state)).decode() for row in actors.ponds(tx, environment)}
    replayed = {key: encode_state(state).decode() for key, state in ponds.states.items()}
    for (key, trigger), body in profiles.all_of(tx, environment).items():
        stored[key] += _learned(trigger, body)
        state, learned = ponds.states.get(key), ponds.profiles.get((key, trigger))
        if state is not None and trigger in state.following and learned is not None:
            replayed[key] += _learned(trigger, msgspec.json.encode(learned).decode())
    return Replayed(
        advancements=len(rows) + jobs.advancements,
        is_complete=True,
        runs=jobs.differences,
        differences=tuple(
            Difference(pond=key, stored=stored.get(key), replayed=replayed.get(key))
            for key in sorted({*stored, *replayed})
            if stored.get(key) != replayed.get(key)
        ),
    )


def _learned(trigger: str, body: str) -> str:
    return f"\n{trigger}: {body}"
