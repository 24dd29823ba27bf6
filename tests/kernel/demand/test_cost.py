"""The work for one event does not grow with the graph: the Ponds that the machine asks for are counted."""

import pytest

from pondage.kernel.demand.events import Pulse, Tap, Wave
from pondage.simulate.drive import Delivery
from tests.kernel.demand.graphs import SECOND, Play
from tests.kernel.demand.large import SHAPES, CountingPonds, many_ripples

SIZES = (100, 1000, 10000)
HUBS = {"fan": 3}


@pytest.mark.parametrize("name", SHAPES)
def test_a_report_touches_as_many_ponds_in_a_graph_of_ten_thousand_as_in_one_of_a_hundred(name: str) -> None:
    means = []
    for size in SIZES:
        graph, ponds = SHAPES[name](size), CountingPonds()
        simulation = Play(graph=graph, delivery=Delivery.ONE_BY_ONE, ponds=ponds).start()
        simulation.act(0, Pulse(pond=graph.outlets[0]))
        ponds.asked = 0
        simulation.run_until(0)
        assert ponds.asked == len(graph.shapes)  # a trigger asks each ancestor once, however many paths there are
        counts = []
        simulation._watch = lambda _now, _effects, counts=counts, ponds=ponds: counts.append(ponds.asked)
        ponds.asked = 0
        simulation.run_until(10**9)
        costs = [after - before for before, after in zip([0, *counts], counts, strict=False)]
        assert len(costs) == len(graph.shapes)
        if name not in HUBS:
            assert max(costs) <= 12
        means.append(sum(costs) / len(costs))
    assert max(means) <= 3.5
    assert max(means) - min(means) < 0.2


@pytest.mark.parametrize("name", ["chain", "layered", "ladder"])
def test_a_wave_touches_as_many_ponds_for_each_report_whatever_the_size(name: str) -> None:
    means = []
    for size in (100, 1000):
        graph, ponds = SHAPES[name](size), CountingPonds()
        simulation = Play(graph=graph, delivery=Delivery.ONE_BY_ONE, ponds=ponds).start()
        simulation.act(0, Wave(pond=graph.outlets[0]))
        simulation.run_until(0)
        ponds.asked, before = 0, simulation.trace.steps
        simulation.run_until(60 * SECOND)
        means.append(ponds.asked / (simulation.trace.steps - before))
    assert abs(means[0] - means[1]) < 0.6


def test_no_depth_of_ponds_or_ripples_is_too_deep() -> None:
    """Nothing recurses: a chain of 20,000 Ponds is asked in one step."""
    graph, ponds = SHAPES["chain"](20000), CountingPonds()
    simulation = Play(graph=graph, ponds=ponds).start()
    simulation.act(0, Tap(pond=graph.outlets[0]))
    ponds.asked = 0
    simulation.run_until(0)
    assert ponds.asked == 20000


def test_a_ripple_that_reads_thousands_of_others_is_looked_at_in_one_pass() -> None:
    graph = many_ripples(3000)
    outcome = Play(graph=graph, delivery=Delivery.ONE_BY_ONE, actions=[(0, Pulse(pond=graph.keys[0]))]).run()
    end = outcome.states[graph.keys[0]].ripples["end"]
    assert outcome.runs() == {"wide": 1}
    assert end.waits_on == 3000
