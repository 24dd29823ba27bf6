"""Every single failure of a job, played in virtual time: what nobody handles, never runs, or can only be skipped."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.kernel.control import Index, JobPlan, JobState, State
from pondage.kernel.control.events import Start
from pondage.kernel.control.shape import Virtual
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_virtual import VirtualControlHost


class FailureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of playing each failure: names are those of the plan, without the numbers of iterations."""

    played: int
    unhandled: tuple[str, ...]
    """Components whose failure makes the job fail."""
    handled: tuple[str, ...]
    never_run: tuple[str, ...]
    """Components that ran in none of the plays."""
    skipped_joins: tuple[str, ...]
    """Joins that were skipped in every play in which they were decided."""


def all_failures(plan: JobPlan, behave: Callable[[str, int], Ending], start: Start) -> FailureReport:
    """Play the job as it is, and once for each component with that one failing."""
    names = real_components(plan)
    ran: set[str] = set()
    joined: dict[str, set[State]] = {}
    unhandled: list[str] = []
    handled: list[str] = []
    for failing in (None, *names):
        host = VirtualControlHost()
        result = play(host, plan, _failing(behave, failing), start=start)
        for instance, state in host.states().items():
            name = instance.partition("[#")[0]
            if state not in (State.WAIT, State.SKIPPED):
                ran.add(name)
            if name in joins(plan):
                joined.setdefault(name, set()).add(state)
        if failing is not None:
            (unhandled if result.state is not JobState.OK else handled).append(failing)
    return FailureReport(
        played=len(names) + 1,
        unhandled=tuple(unhandled),
        handled=tuple(handled),
        never_run=tuple(name for name in names if name not in ran),
        skipped_joins=tuple(name for name, states in joined.items() if states <= {State.SKIPPED, State.WAIT}),
    )


def _failing(behave: Callable[[str, int], Ending], failing: str | None) -> Callable[[str, int], Ending]:
    def chosen(instance: str, attempt: int) -> Ending:
        ending = behave(instance, attempt)
        if instance.partition("[#")[0] != failing:
            return ending
        return msgspec.structs.replace(ending, raises=ending.raises or "it failed")

    return chosen


def real_components(plan: JobPlan) -> list[str]:
    """Give the components of a plan and its bodies, without proxies."""
    found = [component.name for component in plan.components if component.virtual is Virtual.NONE]
    for body in plan.bodies.values():
        found += real_components(body)
    return found


def joins(plan: JobPlan) -> set[str]:
    """Give the components that wait for branches, in the plan and its bodies."""
    index = Index(plan)
    found = {index.plan.components[join.target].name for join in plan.joins}
    for body in plan.bodies.values():
        found |= joins(body)
    return found
