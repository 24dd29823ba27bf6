"""What `pondage simulate` starts from and answers: deployed Ponds, recorded durations, standing triggers, figures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.kernel.demand.events import Pulse, Tide, Verb, Wave
from pondage.kernel.demand.state import WAVE, Pacing, PondState, decode_state
from pondage.ledger.act.branching import Choice, deployed, found_above, parent_of
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, schedules
from pondage.plan.deploy.values import Deployed
from pondage.simulate.measure import Figures

MOST_RUNS = 5_000
MOST_SAMPLES = 100
"""The newest executions of a Ripple that its duration is taken from."""
SHORTEST_US = 1_000
"""What is quicker than a millisecond was not measured."""
WIDEST = 0.9


class RippleTiming(msgspec.Struct, frozen=True, kw_only=True):
    """How long a Ripple takes in the simulation, and why. `samples` counts the recorded executions behind it."""

    ripple: str
    base_us: int
    spread: float
    origin: str
    samples: int = 0


class SimulationView(msgspec.Struct, frozen=True, kw_only=True):
    """A what-if: the pipeline under Pondage, and the same under other policies.

    `bottleneck` is the slowest Ripple of those that ran; null when none did.
    """

    project: str
    environment: str
    is_local: bool
    start: int
    length_us: int
    seed: int
    triggers: tuple[str, ...]
    notes: tuple[str, ...]
    timings: tuple[RippleTiming, ...]
    bottleneck: str | None
    bottleneck_us: int | None
    pondage: Figures
    conditions: dict[str, str]
    others: tuple[Figures, ...]


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded durations of a Ripple: median, half the distance of the quartiles as a share of it, and how many."""

    median_us: int
    spread: float
    samples: int


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The Wave and the Tides that ask a Pond now, by the code or by hand, and the triggers that are paused."""

    pond: PondKey
    wave: Pacing | None
    tides: dict[str, int]
    paused: tuple[str, ...] = ()


class RecordedRipple(msgspec.Struct, frozen=True, kw_only=True):
    """How long a Ripple took."""

    pond: PondKey
    ripple: str
    recorded: Recorded


class SimulationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulation begins with: the Ponds that are deployed here and above, and what is known of them."""

    environment: str
    at: int
    deployed: tuple[Deployed, ...]
    above: tuple[Deployed, ...]
    standing: tuple[Standing, ...]
    recorded: tuple[RecordedRipple, ...]


def facts(tx: Transaction, ledger: Ledger, environment: str) -> SimulationFacts:
    """Answer what a simulation of an environment begins with; of one that nobody deployed to there is nothing."""
    found = actors.environment(tx, environment)
    states = {} if found is None else pond_states(tx, found)
    recorded = {} if found is None else recorded_durations(tx, found)
    return SimulationFacts(
        environment=environment,
        at=tx.now,
        deployed=tuple(deployed(tx, ledger, environment)),
        above=tuple(found_above(tx, ledger, environment, parent_of(tx, environment, Choice()))),
        standing=tuple(_standing(key, each) for key, each in states.items()),
        recorded=tuple(
            RecordedRipple(pond=pond, ripple=ripple, recorded=each) for (pond, ripple), each in recorded.items()
        ),
    )


def _standing(key: PondKey, state: PondState) -> Standing:
    tides = {name: limit for name, limit in state.tides.items() if name not in state.paused}
    # One that rests is simulated as well: whether it would rest depends on the readers of the simulation.
    wave = None if WAVE in state.paused else state.wave
    return Standing(pond=key, wave=wave, tides=tides, paused=tuple(state.paused))


_TOOK = """SELECT p.name || '@' || p.major AS pond, d.node AS node, e.completed_at - e.claimed_at AS took
           FROM (SELECT id, pond FROM runs WHERE environment = :environment ORDER BY id DESC LIMIT :most) r
           JOIN ponds p ON p.id = r.pond JOIN dispatches d ON d.run = r.id JOIN executions e ON e.dispatch = d.id
           WHERE d.kind <> 'compact' AND e.outcome = 'ok' AND e.claimed_at IS NOT NULL ORDER BY e.id DESC"""


def recorded_durations(tx: Transaction, environment: int) -> dict[tuple[PondKey, str], Recorded]:
    """Answer how long each Ripple took, from its newest executions that ended well."""
    took: dict[tuple[PondKey, str], list[int]] = {}
    for pond, node, us in tx.rows(_TOOK, tuple[PondKey, str, int], environment=environment, most=MOST_RUNS):
        samples = took.setdefault((pond, node), [])
        if len(samples) < MOST_SAMPLES:
            samples.append(max(us, SHORTEST_US))
    return {place: _recorded(samples) for place, samples in took.items()}


def _recorded(samples: list[int]) -> Recorded:
    median = int(statistics.median(samples))
    if len(samples) < 4:
        return Recorded(median_us=median, spread=0.0, samples=len(samples))
    lower, _, upper = statistics.quantiles(samples, n=4)
    spread = min(max(upper - lower, 0.0) / 2 / median, WIDEST)
    return Recorded(median_us=median, spread=round(spread, 3), samples=len(samples))


def pond_states(tx: Transaction, environment: int) -> dict[PondKey, PondState]:
    """Answer the stored states of all deployed Ponds: they know the triggers that people set by hand."""
    return {row.key: decode_state(row.state) for row in actors.ponds(tx, environment)}


def standing_actions(
    definitions: Sequence[PondDefinition], standing: Mapping[PondKey, Standing] | None, *, start: int, end: int
) -> list[tuple[int, Verb]]:
    """Answer the standing triggers as actions in [start, end): of the code, or (with `standing`) those in force now."""
    found: list[tuple[int, Verb]] = []
    for definition in definitions:
        key = pond_key(definition.name, definition.major)
        now = None if standing is None else standing.get(key)
        if now is not None:
            found += [(start, Wave(pond=key, pacing=now.wave))] if now.wave is not None else []
            found += [(start, Tide(pond=key, limit=limit, name=name)) for name, limit in now.tides.items()]
        else:
            declared = definition.triggers
            found += [(start, Wave(pond=key, pacing=Pacing(declared.pacing)))] if declared.wave else []
            found += [(start, Tide(pond=key, limit=tide.limit_us, name=tide.name)) for tide in declared.tides]
        paused = () if now is None else now.paused
        for schedule in (each for each in definition.triggers.schedules if each.name not in paused):
            at = schedules.next_time(schedule.cron, schedule.tz, start - 1)
            while at < end:
                found.append((at, Pulse(pond=key)))
                at = schedules.next_time(schedule.cron, schedule.tz, at)
    return found
