"""Fused groups: one dispatch for several members, and the failure of each is exactly that member's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import cast

import msgspec
import pytest

from pondage.conform.control_durable import LedgerControlHost
from pondage.define.job.job import Call, ControlLink, DataLink, JobDefinition, JobRefused
from pondage.define.project.durability import Durability
from pondage.kernel.control import JobPlan, JobState
from pondage.kernel.control.events import Start, Stop
from pondage.ledger.act import jobs
from pondage.ledger.step import advance
from pondage.ledger.upkeep import reap
from pondage.plan.job.planner import plan_job
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_host import ControlHost
from pondage.simulate.control_virtual import VirtualControlHost
from pondage.work.component import ComponentTask, Made
from tests.kernel.control.random_jobs import behaviour
from tests.ledger.jobs import FUSED, Jobs, component_result, job

CHAIN = """
job: {name: fused}
components:
  - {name: read, type: source}
  - {name: clean, type: transform}
  - {name: load, type: transform, OPTIONS}
  - {name: good, type: task}
  - {name: bad, type: task}
  - {name: more, type: task}
connections:
  data: [read.main -> clean.input, clean.main -> load.input]
  control: [load (ok) good, load (error) bad, load (subjob_ok) more]
"""
MEMBERS = ("read", "clean", "load")


def chain(options: str = "params: {}", *, fuses: bool = True) -> object:
    return job(CHAIN.replace("OPTIONS", options), registry=FUSED, fuses=fuses)


def start(run: Jobs, options: str = "params: {}", *, fuses: bool = True) -> str:
    return run.start(chain(options, fuses=fuses))  # type: ignore[arg-type]


def test_a_group_is_one_execution_whose_members_hand_tables_on_unwritten(run: Jobs) -> None:
    started = start(run)
    held = run.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    assert [member.instance for member in held.task.members] == list(MEMBERS)
    assert held.task.members[1].inputs == {"input": (Made("read", "main"),)}
    assert held.task.members[2].inputs == {"input": (Made("clean", "main"),)}
    assert [member.writes for member in held.task.members] == [(), (), ()]
    assert {run.states(started)[name] for name in MEMBERS} == {"RUNNING"}
    run.commit(held)
    assert {run.states(started)[name] for name in MEMBERS} == {"OK"}
    assert run.drain() == ["good", "more"]
    assert run.row(started).state == "OK"


def test_without_fusing_each_component_is_one_execution(run: Jobs) -> None:
    started = start(run, fuses=False)
    assert run.drain() == ["read", "clean", "load", "good", "more"]
    assert run.row(started).state == "OK"


EXPECTED = {
    "read": ({"read": "ERROR", "clean": "SKIPPED", "load": "SKIPPED", "good": "SKIPPED", "bad": "SKIPPED"},
             {"clean": "DATA_STARVED(input)", "load": "DATA_STARVED(input)",
              "good": "UPSTREAM_SKIPPED(load)", "bad": "UPSTREAM_SKIPPED(load)"}, "ERROR"),
    "clean": ({"read": "OK", "clean": "ERROR", "load": "SKIPPED", "good": "SKIPPED", "bad": "SKIPPED"},
              {"load": "DATA_STARVED(input)", "good": "UPSTREAM_SKIPPED(load)", "bad": "UPSTREAM_SKIPPED(load)"},
              "ERROR"),
    "load": ({"read": "OK", "clean": "OK", "load": "ERROR", "good": "SKIPPED", "bad": "OK"},
             {"good": "UPSTREAM_ERROR(load)"}, "OK"),
}  # fmt: skip


@pytest.mark.parametrize("fuses", [True, False])
@pytest.mark.parametrize("failing", MEMBERS)
def test_the_failure_of_each_member_is_that_members_error_with_its_edges_and_skip_causes(
    run: Jobs, failing: str, fuses: bool
) -> None:
    started = start(run, fuses=fuses)
    run.drain(failing={failing})
    states, causes, ended = EXPECTED[failing]
    found = run.states(started)
    more = found.pop("more")
    assert found == states
    assert more == ("OK" if ended == "OK" else "SKIPPED")
    assert {name: cause for name, cause in run.causes(started).items() if name not in (failing, "more")} == causes
    assert run.row(started).state == ended
    shown = {one.name: one for one in run.show(started).components}
    assert (shown[failing].code, shown[failing].cause, shown[failing].trace) == ("Boom", "it went wrong", "a trace")
    assert [one.name for one in shown.values() if one.trace] == [failing]


def test_a_failed_action_is_the_last_members_error(run: Jobs) -> None:
    started = start(run)
    held = run.claim()
    assert held is not None
    result = component_result(held, {"load"})
    last = msgspec.structs.replace(result.members[-1], code="FUSED_ACTION", raises="FUSED_ACTION(read, clean, load)")
    result = msgspec.structs.replace(result, members=(*result.members[:-1], last))
    run.commit_result(held, result)
    assert run.states(started) | {"more": ""} == {
        "read": "OK", "clean": "OK", "load": "ERROR", "good": "SKIPPED", "bad": "RUNNING", "more": ""
    }  # fmt: skip


def test_an_inner_member_that_writes_a_global_is_the_error_undeclared_write(run: Jobs) -> None:
    started = start(run)
    held = run.claim()
    assert held is not None
    result = component_result(held)
    inner = msgspec.structs.replace(result.members[1], globals={"seen": 1})
    run.commit_result(held, msgspec.structs.replace(result, members=(result.members[0], inner, result.members[2])))
    shown = {one.name: one for one in run.show(started).components}
    assert (shown["clean"].state, shown["clean"].code, shown["load"].state) == ("ERROR", "UNDECLARED_WRITE", "SKIPPED")


def test_a_retry_of_the_last_member_builds_the_whole_group_again(run: Jobs) -> None:
    run.world.ledger.durability = Durability(retry_delay_s=0)
    started = start(run, "retries: 1")
    held = run.claim()
    assert held is not None
    run.commit(held, failing={"load"})
    assert {run.states(started)[name] for name in MEMBERS} == {"RUNNING"}
    held = run.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    assert (held.claim.number, len(held.task.members)) == (2, 3)
    run.commit(held)
    run.drain()
    assert run.row(started).state == "OK"


def test_a_retry_is_not_granted_for_an_inner_member(run: Jobs) -> None:
    started = start(run, "retries: 1")
    assert run.drain(failing={"clean"}) == ["load"]
    assert run.states(started)["clean"] == "ERROR"


def test_a_group_that_crashes_too_often_is_the_last_members_error(run: Jobs) -> None:
    run.world.ledger.durability = Durability(crash_budget=0)
    started = start(run)
    assert run.claim() is not None
    reap.reap_process(run.world.ledger, run.worker.row, reason="killed")
    shown = {one.name: (one.state, one.code) for one in run.show(started).components}
    assert [shown[name] for name in MEMBERS] == [("OK", ""), ("OK", ""), ("ERROR", "CRASHES_EXHAUSTED")]


def test_a_second_kill_cancels_the_one_execution_of_a_group(run: Jobs) -> None:
    started = start(run)
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    jobs.kill(run.world.ledger, "main", started)
    assert not run.commit(held)
    assert run.row(started).code == "KILLED_WITHOUT_CHECKPOINT"
    resumed = jobs.resume(run.world.ledger, "main", started)
    assert run.drain() == ["load", "good", "more"]
    assert run.row(resumed).state == "OK"


def test_stopping_an_inner_member_stops_the_group(run: Jobs) -> None:
    started = start(run)
    held = run.claim()
    assert held is not None
    actor = run.row(started).actor
    with run.world.ledger.transaction() as tx:
        advance.inline(tx, run.world.ledger, actor, process=None, event=Stop(instance="read"))
    run.world.pass_time(31)
    assert not run.commit(held)
    shown = {one.name: (one.state, one.code) for one in run.show(started).components}
    assert [shown[name] for name in MEMBERS] == [("OK", ""), ("OK", ""), ("ERROR", "STOPPED")]


BROKEN = """
job: {name: broken}
components:
  - {name: outside, type: always, startable: true}
  - {name: skipped, type: transform}
  - {name: first, type: source}
  - {name: second, type: transform}
  - {name: last, type: join2}
connections:
  data:
    - outside.main -> skipped.input
    - skipped.main -> last.left
    - first.main -> second.input
    - second.main -> last.right
"""


@pytest.mark.parametrize("fuses", [True, False])
def test_a_group_that_lost_a_member_before_it_began_is_no_group_any_more(run: Jobs, fuses: bool) -> None:
    registry = {**FUSED, "always": msgspec.structs.replace(FUSED["always"], deterministic=False)}
    stored = job(BROKEN, registry=registry, fuses=fuses)
    assert len(stored.plan.groups) == int(fuses)
    started = run.start(stored)
    run.drain(failing={"outside"})
    assert run.states(started) == {
        "outside": "ERROR", "skipped": "SKIPPED", "first": "OK", "second": "OK", "last": "SKIPPED"
    }  # fmt: skip


def flow(seed: int) -> JobDefinition:
    """A random job that is mostly data: chains and joins, some of them repeated, some with a handler."""
    rng = random.Random(seed)
    calls, data, control = [Call(name="c0", type="source")], [], []
    outputs = ["c0"]
    if rng.random() < 0.3:
        calls.append(Call(name="each", type="iterator"))
        data.append(DataLink(source="c0", source_port="main", target="each", target_port="input"))
        calls.append(Call(name="b0", type="transform"))
        data.append(DataLink(source="each", source_port="item", target="b0", target_port="input"))
        outputs = ["c0", "b0", "b0"]
    for number in range(1, rng.randint(3, 9)):
        kind = rng.choice(["source", "transform", "transform", "join2", "sink"])
        name = f"c{number}"
        calls.append(Call(name=name, type=kind))
        data += [
            DataLink(source=rng.choice(outputs[-3:]), source_port="main", target=name, target_port=port)
            for port in {"transform": ["input"], "join2": ["left", "right"], "sink": ["input"]}.get(kind, [])
        ]
        if kind != "sink":
            outputs.append(name)
        if rng.random() < 0.15:
            calls.append(Call(name=f"h{number}", type="task"))
            control.append(ControlLink(kind=rng.choice(["ok", "error"]), source=name, target=f"h{number}"))
    return JobDefinition(calls=tuple(calls), data=tuple(dict.fromkeys(data)), control=tuple(control))


def planned(seed: int, *, fuses: bool) -> JobPlan | None:
    try:
        return plan_job(flow(seed), {}, FUSED, fuses=fuses).plan
    except JobRefused:
        return None


def groups(plan: JobPlan) -> int:
    return len(plan.groups) + sum(groups(body) for body in plan.bodies.values())


def ended(host: ControlHost, seed: int, *, fuses: bool, fails: float) -> tuple[object, ...]:
    plan = planned(seed, fuses=fuses)
    assert plan is not None

    def behave(instance: str, attempt: int) -> Ending:
        made = cast("Callable[[str, int], Ending]", behaviour(seed, 1, fails=fails))(instance, attempt)
        return msgspec.structs.replace(made, writes={})

    run = play(host, plan, behave, start=Start(second=1))
    seen = (run.state, run.code, dict(host.states()) if fails == 0 else None, dict(host.globals()))
    if run.state is JobState.ERROR:
        mended = play(host, plan, lambda one, attempt: msgspec.structs.replace(behave(one, attempt), raises=None),
                      start=Start(second=1), is_resumed=True)  # fmt: skip
        assert mended.state is JobState.OK, seed
    host.close()
    return seen


@pytest.mark.parametrize("fails", [0.0, 0.2])
def test_random_jobs_end_the_same_with_and_without_groups(fails: float) -> None:
    grouped = 0
    for seed in range(120):
        plan = planned(seed, fuses=True)
        if plan is None or not groups(plan):
            continue
        grouped += 1
        fused = ended(VirtualControlHost(), seed, fuses=True, fails=fails)
        alone = ended(VirtualControlHost(), seed, fuses=False, fails=fails)
        assert fused[:3] == alone[:3], seed
        if fails == 0:
            assert fused == alone, seed
        if grouped % 4 == 0:
            assert ended(LedgerControlHost(), seed, fuses=True, fails=fails) == fused, seed
    assert grouped > 30
