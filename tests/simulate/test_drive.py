"""The virtual clock and the virtual workers."""

from pondage.kernel.demand import PondKey
from pondage.kernel.demand.events import Pulse, Tap
from pondage.simulate.drive import Delivery, Execution, Simulation, Workers, jittered
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.graphs import chain


def simulation(takes: int = 1000, delivery: Delivery = Delivery.TOGETHER) -> Simulation:
    host = VirtualHost()
    host.deploy(chain(2).shapes, 0)
    return Simulation(host, Workers(takes=lambda _: takes), delivery=delivery)


def test_the_instant_until_which_it_runs_is_included() -> None:
    played = simulation()
    played.act(0, Pulse(pond=PondKey("p1")))
    played.run_until(1999)
    assert played.trace.runs(PondKey("p1")) == 0
    played.run_until(2000)
    assert played.trace.completed == {"p0": [(1000, 0)], "p1": [(2000, 0)]}
    assert played.is_idle


def test_work_that_takes_no_time_is_reported_in_the_same_instant() -> None:
    for delivery in Delivery:
        played = simulation(takes=0, delivery=delivery)
        played.act(5, Pulse(pond=PondKey("p1")))
        played.run_until(5)
        assert played.trace.completed == {"p0": [(5, 5)], "p1": [(5, 5)]}


def test_a_wave_of_instant_work_makes_no_more_than_one_run_in_a_unit_of_time() -> None:
    played = simulation(takes=0)
    for _ in range(3):
        played.act(5, Tap(pond=PondKey("p0")))
    played.run_until(20)
    assert played.trace.runs(PondKey("p0")) == 1


def test_jitter_depends_on_the_seed_and_the_execution_only() -> None:
    durations = {(PondKey("p"), "r"): 1000}
    executions = [Execution(pond=PondKey("p"), ripple="r", count=count) for count in range(1, 200)]
    takes, again, other = jittered(durations, 0.3, 1), jittered(durations, 0.3, 1), jittered(durations, 0.3, 2)
    found = [takes(execution) for execution in executions]
    assert found == [again(execution) for execution in executions]
    assert found != [other(execution) for execution in executions]
    assert 700 <= min(found) < 750 < 1250 < max(found) <= 1300
    assert {jittered(durations, 0, 1)(execution) for execution in executions} == {1000}
