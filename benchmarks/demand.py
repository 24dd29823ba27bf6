"""The cost of one event of the demand machine: chain, fan, layers and diamonds of 100 to 100,000 Ponds.

An event is one completion report with everything that it causes. Beside it: Duckstring's engine on the same graphs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.run import Row
from benchmarks.support import duckstring
from pondage.kernel.demand import Effect, MemoryPonds, PondKey, PondState, Step
from pondage.kernel.demand.events import Event, Pulse, Verb, Wave
from pondage.simulate.drive import Delivery, Simulation, Workers, jittered
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import Graph
from tests.kernel.demand.large import SHAPES

SIZES = (100, 1_000, 10_000, 100_000)
MOST_EVENTS = 100_000
SECOND = 1_000
TITLES = {"chain": "chain", "fan": "fan 1>N>1", "layered": "layers of 10, 2 parents", "ladder": "diamond ladder"}
DUCKSTRING_BUDGET_S = 4.0
DUCKSTRING_PATIENCE_S = 20.0
"""A trigger of it may take for ever (the time doubles with each diamond of a ladder): the process is ended then."""


class _CountingPonds(MemoryPonds):
    """Counts the Ponds that the machine asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def state(self, key: PondKey) -> PondState | None:
        """Count and answer."""
        self.asked += 1
        return super().state(key)


class _MeasuredHost(VirtualHost):
    """Adds up what the steps alone cost, without the simulation around them."""

    def __init__(self, ponds: _CountingPonds) -> None:
        super().__init__(ponds)
        self.spent_ns = 0
        self.worst_ns = 0
        self.changed = 0
        self.steps = 0

    def advance(self, now: int, events: Sequence[Event]) -> Step:
        """Measure one step by processor time."""
        began = time.process_time_ns()
        done = super().advance(now, events)
        spent = time.process_time_ns() - began
        self.spent_ns += spent
        self.worst_ns = max(self.worst_ns, spent)
        self.changed += len(done.changed)
        self.steps += 1
        return done

    def reset(self) -> None:
        """Begin anew: what came before was set-up."""
        self.spent_ns = self.worst_ns = self.changed = self.steps = 0


class _Enough(Exception):
    """So many events are enough."""


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """One case: events for each second, and what one event and the trigger cost."""

    rate: float
    touched: float
    rows: float
    worst_ms: float
    trigger_us: float
    events: int


def run() -> list[Row]:
    """Measure every shape and size under a Pulse and under a Wave."""
    rows: list[Row] = []
    for shape, title in TITLES.items():
        smallest: dict[str, _Measured] = {}
        for size in SIZES:
            graph = SHAPES[shape](size)
            for trigger in ("pulse", "wave"):
                what = f"{title}, {size:,} Ponds, {trigger.title()}"
                found = _ours(graph, trigger)
                other = _duckstring(graph, trigger)
                print(f"{what}: {found.rate:,.0f} events/s, {other.against} {other.figure:,.1f}", flush=True)
                rows.append(
                    Row(
                        what=what,
                        ours=round(found.rate),
                        against=other.against,
                        anchor=round(other.figure, 2),
                        unit="events/s",
                        n=found.events,
                    )
                )
                rows += _costs(what, found, smallest.setdefault(trigger, found))
    return rows


def _costs(what: str, found: _Measured, smallest: _Measured) -> list[Row]:
    """Compare what one event costs with the same at the smallest size: it should not grow."""
    pairs = (
        ("Ponds touched for each event", found.touched, smallest.touched, "Ponds"),
        ("rows to write for each event", found.rows, smallest.rows, "rows"),
        ("the worst event", found.worst_ms, smallest.worst_ms, "ms"),
        ("the trigger, for each Pond it asks", found.trigger_us, smallest.trigger_us, "µs"),
    )
    return [
        Row(
            what=f"{what}: {name}",
            ours=round(ours, 3),
            against="the same at 100 Ponds",
            anchor=round(anchor, 3),
            unit=unit,
            n=found.events,
        )
        for name, ours, anchor, unit in pairs
    ]


def _ours(graph: Graph, trigger: str) -> _Measured:
    ponds = _CountingPonds()
    host = _MeasuredHost(ponds)
    host.deploy(graph.shapes, 0)

    def watch(_now: int, _effects: Sequence[Effect]) -> None:
        if host.steps >= MOST_EVENTS:
            raise _Enough

    simulation = Simulation(
        host, Workers(takes=jittered(graph.durations, 0, 1)), delivery=Delivery.ONE_BY_ONE, watch=watch
    )
    outlet = graph.outlets[0]
    verb: Verb = Pulse(pond=outlet) if trigger == "pulse" else Wave(pond=outlet)
    simulation.act(0, verb)
    host.reset()
    simulation.run_until(0)
    trigger_ns = host.spent_ns
    host.reset()
    ponds.asked = 0
    try:
        # A Wave goes on for ever: it gets about as many events as a Pulse has.
        while not simulation.is_idle and (trigger == "pulse" or host.steps < len(graph.shapes)):
            simulation.run_until(simulation.now + SECOND)
    except _Enough:
        pass
    return _Measured(
        rate=host.steps / (host.spent_ns / 1e9),
        touched=ponds.asked / host.steps,
        rows=host.changed / host.steps,
        worst_ms=host.worst_ns / 1e6,
        trigger_us=trigger_ns / 1e3 / len(graph.shapes),
        events=host.steps,
    )


def _duckstring(graph: Graph, trigger: str) -> duckstring.Answered:
    return duckstring.ask(
        {
            "kind": "engine",
            "ponds": {shape.key: [source for source, _ in shape.sources] for shape in graph.shapes},
            "outlet": graph.outlets[0],
            "trigger": trigger,
            "budget_s": DUCKSTRING_BUDGET_S,
            "most": 1_000,
        },
        timeout_s=DUCKSTRING_PATIENCE_S,
    )
