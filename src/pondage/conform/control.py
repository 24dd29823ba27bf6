"""Running a scenario of a job on a host and comparing everything that it expects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from pondage.conform.control_compare import differences, normal_value
from pondage.conform.control_registry import TEST_REGISTRY
from pondage.conform.control_scenario import Behaviour, ControlScenario
from pondage.conform.verdict import Mismatch, Verdict
from pondage.define.job.job import JobRefused
from pondage.kernel.control import Index, JobPlan, JobState
from pondage.kernel.control.events import Start
from pondage.ledger.database.mapping import of_row
from pondage.plan.job.planner import PlannedJob, plan_job
from pondage.project.job import load_job
from pondage.simulate.control_drive import Ending, Play, play
from pondage.simulate.control_host import ControlHost

EXPR_STEP_MS = 0.01


def check_control(scenario: ControlScenario, make_host: Callable[[], ControlHost]) -> Verdict:
    """Run a scenario, twice when it is resumed, and compare everything that it expects."""
    mismatches = [
        Mismatch(order="", what=what, expected=expected, got=got)
        for what, expected, got in _differences(scenario, make_host)
    ]
    return Verdict(id=scenario.id, title=scenario.title, mismatches=mismatches)


def planned(scenario: ControlScenario) -> PlannedJob:
    """Load and plan the scenario's job; raises JobRefused."""

    def joblet(name: str) -> tuple[str, str] | None:
        return (scenario.joblets[name], f"{name}.yaml") if name in scenario.joblets else None

    loaded = load_job(scenario.job, joblet, file="job.yaml")
    if loaded.job is None:
        raise JobRefused(loaded.problems)
    return plan_job(loaded.job, loaded.joblets, TEST_REGISTRY, fuses=False, problems=loaded.problems)


def _differences(
    scenario: ControlScenario, make_host: Callable[[], ControlHost]
) -> Iterator[tuple[str, object, object]]:
    try:
        plan = planned(scenario).plan
    except JobRefused as error:
        yield from _refusal(scenario, error)
        return
    if scenario.error is not None:
        yield "error", scenario.error, None
        return
    host = make_host()
    try:
        first = _play(scenario, host, plan_of=plan, run=0)
        yield from _compare(scenario, host, first, Index(plan))
        if scenario.run2_timeline is not None:
            if first.state not in (JobState.ERROR, JobState.ABORTED):
                yield "resume", "a run that ended ERROR or ABORTED", first.state.value
                return
            second = _play(scenario, host, plan_of=plan, run=1)
            yield from differences(scenario.run2_timeline, second.timeline, Index(plan), "run2_timeline")
    finally:
        host.close()


def _refusal(scenario: ControlScenario, error: JobRefused) -> Iterator[tuple[str, object, object]]:
    wanted = scenario.error
    found = [{"code": problem.code, "path": problem.path, "message": problem.message} for problem in error.problems]
    if wanted is None:
        yield "error", None, found
    elif not any(
        problem.code == wanted.code and (wanted.path is None or problem.path == wanted.path)
        for problem in error.problems
    ):
        yield "error", wanted, found


def _play(scenario: ControlScenario, host: ControlHost, *, plan_of: JobPlan, run: int) -> Play:

    def behave(instance: str, attempt: int) -> Ending:
        del attempt
        plain = instance.partition("[#")[0]
        found = scenario.behave.get(instance) or scenario.behave.get(plain) or Behaviour()
        found = found.in_run(run)
        return of_row(Ending, found, deletes=tuple(found.deletes))

    cost = EXPR_STEP_MS if scenario.expr_step_ms is None else scenario.expr_step_ms
    # A quotient of floats: 100 / 0.01 is a hair below 10,000.
    steps = math.floor(plan_of.config.expr_timeout_ms / cost + 1e-9)
    start = Start(context={"env": "test", "run_id": scenario.id}, second=1, steps=steps)
    start = Start(context={**start.context, **plan_of.context}, second=1, steps=steps)
    kills = (scenario.kill_at,) if run == 0 and scenario.kill_at is not None else ()
    return play(host, plan_of, behave, start=start, kill_at=kills, is_resumed=run > 0)


def _compare(
    scenario: ControlScenario, host: ControlHost, run: Play, index: Index
) -> Iterator[tuple[str, object, object]]:
    if scenario.timeline is not None:
        yield from differences(scenario.timeline, run.timeline, index, "timeline")
    states = {name: state.value for name, state in host.states().items()}
    yield from _maps("state", scenario.states, states)
    known = {key: normal_value(key, value) for key, value in host.globals().items()}
    wanted = scenario.globals
    if wanted is not None:
        wanted = {key: normal_value(key, value) for key, value in wanted.items()}
    yield from _maps("global", wanted, known)
    if scenario.job_state is not None and scenario.job_state != run.state.value:
        yield "job_state", scenario.job_state, run.state.value
    if scenario.job_state is not None and scenario.code != run.code:
        yield "code", scenario.code, run.code


def _maps(
    what: str, expected: dict[str, object] | dict[str, str] | None, got: dict[str, object] | dict[str, str]
) -> Iterator[tuple[str, object, object]]:
    if expected is None:
        return
    for name in sorted(expected.keys() | got.keys()):
        if name not in expected or name not in got or expected[name] != got[name]:
            yield f"{what} of {name}", expected.get(name), got.get(name)
