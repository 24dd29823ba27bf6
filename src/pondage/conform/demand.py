"""Running a scenario on a host and comparing everything that it expects."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from pondage.conform.demand_scenario import Expected, GateField, Scenario
from pondage.conform.verdict import Mismatch, Verdict
from pondage.kernel.demand import NEVER, PondKey, PondState
from pondage.kernel.demand.events import Report
from pondage.simulate.drive import Delivery, Execution, Simulation, Workers
from pondage.simulate.host import Host

BATCH_ORDERS = 4
SINGLE_ORDERS = 12


def check(scenario: Scenario, make_host: Callable[[], Host]) -> Verdict:
    """Run a scenario in each of its orders, on a fresh host each time, up to the first order that differs."""
    for order, delivery, seed in _orders(scenario):
        mismatches = [
            Mismatch(order=order, what=what, expected=expected, got=got)
            for what, expected, got in _differences(scenario.expect, _play(scenario, make_host, delivery, seed))
        ]
        if mismatches:
            return Verdict(id=scenario.id, title=scenario.title, mismatches=mismatches)
    return Verdict(id=scenario.id, title=scenario.title, mismatches=[])


def _orders(scenario: Scenario) -> Iterator[tuple[str, Delivery, int]]:
    if scenario.order in ("batch", "all"):
        for seed in range(BATCH_ORDERS):
            yield f"batch {seed}", Delivery.TOGETHER, seed
    if scenario.order == "each":
        yield "each", Delivery.ONE_BY_ONE, 0
    if scenario.order == "all":
        for seed in range(SINGLE_ORDERS):
            yield f"each {seed}", Delivery.ONE_BY_ONE, seed


def _play(scenario: Scenario, make_host: Callable[[], Host], delivery: Delivery, seed: int) -> Expected:
    shapes = scenario.shapes()
    shuffle = random.Random(seed)
    if seed:
        shuffle.shuffle(shapes)
    host = make_host()
    try:
        host.deploy(shapes, 0)
        simulation = Simulation(
            host, _workers(scenario), delivery=delivery, arrange=_arrangement(scenario, seed, shuffle)
        )
        for at, verb in scenario.verbs():
            simulation.act(at, verb)
        asked = scenario.expect.explain or []
        explained: dict[int, list[dict[str, GateField]]] = {}
        for place in sorted(range(len(asked)), key=lambda place: asked[place][0]):
            at, pond, _ = asked[place]
            simulation.run_until(at)
            explained[place] = [msgspec.to_builtins(gate) for gate in host.explain(PondKey(pond), at)]
        simulation.run_until(scenario.until)
        got = _observed(scenario, simulation)
        got.explain = [(at, pond, explained[place]) for place, (at, pond, _) in enumerate(asked)]
        return got
    finally:
        host.close()


def _workers(scenario: Scenario) -> Workers:
    durations, faults = scenario.durations(), scenario.faulty()

    def fails(execution: Execution) -> bool:
        fault = faults.get((execution.pond, execution.ripple))
        return fault is not None and (fault.always or execution.count in (fault.executions or ()))

    return Workers(takes=lambda execution: durations[execution.pond, execution.ripple], fails=fails)


def _arrangement(scenario: Scenario, seed: int, shuffle: random.Random) -> Callable[[list[Report]], Sequence[Report]]:
    rank = {ripple: place for place, ripple in enumerate(scenario.prio)}

    def arrange(reports: list[Report]) -> Sequence[Report]:
        if rank:
            return sorted(reports, key=lambda report: rank.get(report.ripple, len(rank)))
        if seed:
            shuffle.shuffle(reports)
        return reports

    return arrange


def _observed(scenario: Scenario, simulation: Simulation) -> Expected:
    trace, states = simulation.trace, simulation.host.states()
    names = [PondKey(name) for name in scenario.graph.ponds]
    ponds: dict[PondKey, PondState] = {name: states[name] for name in names}
    ripples = list(scenario.durations())
    return Expected(
        runs={name: trace.runs(name) for name in names},
        startF={name: _freshness(state.start_f) for name, state in ponds.items()},
        endF={name: _freshness(state.end_f) for name, state in ponds.items()},
        D={name: state.delay for name, state in ponds.items()},
        pull={name: state.has_pull for name, state in ponds.items()},
        targets={name: list(state.targets) for name, state in ponds.items()},
        states={name: state.condition.value for name, state in ponds.items()},
        resting={
            name: sorted(trigger for trigger, each in state.following.items() if each.is_resting)
            for name, state in ponds.items()
        },
        failures={name: state.failures for name, state in ponds.items() if state.failures},
        execs={f"{pond}.{ripple}": trace.executions(pond, ripple) for pond, ripple in ripples},
        starts={f"{pond}.{ripple}": started for (pond, ripple), started in trace.starts.items()},
        completed={name: trace.completed.get(name, []) for name in names},
    )


def _as_json(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _freshness(value: int) -> int | None:
    return None if value == NEVER else value


def _differences(expected: Expected, got: Expected) -> Iterator[tuple[str, object, object]]:
    for part in Expected.__struct_fields__:
        wanted, found = getattr(expected, part), getattr(got, part)
        if wanted is None:
            continue
        wanted, found = _as_json(wanted), _as_json(found)
        if isinstance(wanted, list):
            for one, other in zip(wanted, found, strict=True):
                if one != other:
                    yield f"{part} at {one[0]} of {one[1]}", one[2], other[2]
            continue
        # A Ripple that never started, or a Pond that never failed, may be given or left out.
        nothing = {"starts": [], "failures": 0, "resting": []}.get(part)
        for name in sorted(wanted.keys() | found.keys()):
            one, other = wanted.get(name, nothing), found.get(name, nothing)
            if one != other or (nothing is None and (name in wanted) != (name in found)):
                yield f"{part} of {name}", one, other
