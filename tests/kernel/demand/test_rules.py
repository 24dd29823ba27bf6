"""The machine, with its caches, counters and shortcuts, against the rules written down as the text says them."""

import random
from pathlib import Path

import msgspec
import pytest

from pondage.conform.demand import check
from pondage.conform.demand_scenario import Scenario, read_scenarios
from pondage.kernel.demand import Pacing
from pondage.kernel.demand.events import Verb, Wave
from pondage.simulate.drive import Delivery, Execution, Simulation, Workers
from pondage.simulate.host import Host
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import SECOND
from tests.kernel.demand.mixes import FAULTS_END, Mix, random_mix
from tests.kernel.demand.rules import RulesHost

SCENARIOS = read_scenarios(Path(__file__).parents[3] / "conformance" / "demand.json")
SEEDS = 300


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_the_rules_as_written_down_pass_the_scenarios(scenario: Scenario) -> None:
    scenario = msgspec.structs.replace(scenario, expect=msgspec.structs.replace(scenario.expect, explain=None))
    assert check(scenario, RulesHost).mismatches == []


@pytest.mark.parametrize("backfills", [False, True], ids=["demand", "demand and backfills"])
@pytest.mark.parametrize("delivery", list(Delivery))
def test_the_machine_does_what_the_rules_as_written_down_do(delivery: Delivery, backfills: bool) -> None:
    for seed in range(SEEDS):
        mix = random_mix(seed, backfills=backfills)
        assert played(mix, VirtualHost(), delivery) == played(mix, RulesHost(), delivery), f"seed {seed}"


def played(mix: Mix, host: Host, delivery: Delivery) -> dict[str, object]:
    def fails(execution: Execution) -> bool:
        luck = random.Random(f"{mix.seed}/{execution.pond}/{execution.ripple}/{execution.count}")
        return luck.random() < mix.fault_share and simulation.now < FAULTS_END

    host.deploy(mix.graph.shapes, 0)
    simulation = Simulation(
        host,
        Workers(takes=lambda each: mix.graph.durations[each.pond, each.ripple], fails=fails),
        delivery=delivery,
        # Both start what can start in an order of their own: one by one the reports need one that is the same.
        arrange=lambda reports: sorted(reports, key=lambda each: (each.pond, each.ripple)),
    )
    for at, verb in mix.actions:
        simulation.act(at, paced(mix, verb))
    simulation.run_until(45 * SECOND)
    trace, states = simulation.trace, host.states()
    return {
        "starts": trace.starts,
        "completed": trace.completed,
        "states": {
            key: (each.start_f, each.end_f, each.delay, each.has_pull, each.targets, each.condition, each.failures)
            for key, each in states.items()
        },
    }


def paced(mix: Mix, verb: Verb) -> Verb:
    """Let the Waves of every third mix be paced."""
    if isinstance(verb, Wave) and mix.seed % 3 == 0:
        return msgspec.structs.replace(verb, pacing=Pacing.JUST_IN_TIME)
    return verb
