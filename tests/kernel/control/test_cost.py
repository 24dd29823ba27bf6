"""Work and rows are counted, not timed: they follow what changed, not how large the job is."""

from __future__ import annotations

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.job import Call, ControlLink, JobDefinition
from pondage.kernel.control import JobPlan, JobState
from pondage.kernel.control.events import Settled, Start
from pondage.plan.job.planner import plan_job
from pondage.simulate.control_virtual import VirtualControlHost


def chain(size: int) -> JobPlan:
    calls = tuple(Call(name=f"c{number}", type="task") for number in range(size))
    control = tuple(ControlLink(kind="ok", source=f"c{number}", target=f"c{number + 1}") for number in range(size - 1))
    return plan_job(JobDefinition(calls=calls, control=control), {}, TEST_REGISTRY, fuses=False).plan


def star(size: int) -> JobPlan:
    """One fork with many branches and a join."""
    names = [f"b{number}" for number in range(size)]
    calls = tuple(Call(name=name, type="task") for name in ("fork", *names, "join"))
    control = [ControlLink(kind="parallelise", source="fork", target=name) for name in names]
    control += [ControlLink(kind="synchronise", source=name, target="join") for name in names]
    return plan_job(JobDefinition(calls=calls, control=tuple(control)), {}, TEST_REGISTRY, fuses=False).plan


def costs(host: VirtualControlHost, instance: str, **writes: object) -> tuple[int, int, int]:
    before = host.rows.reads
    host.apply(1, [Settled(instance=instance, attempt=1, writes=dict(writes))])
    return host.rows.reads - before, len(host.steps[-1].changed), host.steps[-1].visits


def test_one_settlement_in_a_chain_costs_the_same_in_a_small_and_in_a_large_job() -> None:
    found = []
    for size in (20, 2000):
        host = VirtualControlHost()
        host.start(chain(size), Start(), 0)
        costs(host, "c0", k=1)
        found.append(costs(host, "c1", k=2))
    assert found[0] == found[1]
    reads, changed, visits = found[0]
    assert reads <= 30
    assert changed <= 10
    assert visits <= 5


def test_one_branch_that_ends_costs_the_same_beside_few_and_beside_many() -> None:
    found = []
    for size in (5, 500):
        host = VirtualControlHost()
        host.start(star(size), Start(), 0)
        host.apply(1, [Settled(instance="fork", attempt=1)])
        found.append(costs(host, "b1"))
    assert found[0] == found[1]
    assert found[0][1] <= 10


def test_an_iteration_costs_the_same_whether_ten_or_ten_thousand_follow() -> None:
    calls = (Call(name="it", type="iterator"), Call(name="body", type="transform"))
    from pondage.define.job.job import DataLink

    data = (DataLink(source="it", source_port="item", target="body", target_port="input"),)
    plan = plan_job(JobDefinition(calls=calls, data=data), {}, TEST_REGISTRY).plan
    found = []
    for size in (10, 10_000):
        host = VirtualControlHost()
        host.start(plan, Start(), 0)
        host.apply(1, [Settled(instance="it", attempt=1, items=list(range(size)))])
        costs(host, "body[#1]")
        found.append(costs(host, "body[#2]"))
    assert found[0] == found[1]


def test_a_whole_chain_costs_a_constant_for_each_component() -> None:
    host = VirtualControlHost()
    host.start(chain(1000), Start(), 0)
    for number in range(1000):
        host.apply(number, [Settled(instance=f"c{number}", attempt=1)])
    assert host.result()[0] is JobState.OK
    # The end of the one sub-job reads each member once more.
    assert host.rows.reads <= 25 * 1000
    assert sum(len(one.changed) for one in host.steps) <= 8 * 1000
