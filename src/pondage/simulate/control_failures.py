"""Every single failure of a job, played in virtual time: what nobody handles, never runs, or can only be skipped."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.expr import compile_text
from pondage.kernel.control import Index, JobPlan, JobState, State
from pondage.kernel.control.events import Start
from pondage.kernel.control.shape import EdgeKind, Virtual
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
    """Play the job as it is, and once for each component with that one failing.

    A condition over values that nobody knows before the run is false there. So a job with conditions is played once
    more with all of them true: what runs behind one can run, and can fail.
    """
    names = real_components(plan)
    plays = _Plays(plan, behave, start)
    for world in (plan, *([_with_open_conditions(plan)] if _has_conditions(plan) else [])):
        plays.play(world, None)
        for failing in names:
            plays.play(world, failing)
    return FailureReport(
        played=plays.count,
        unhandled=tuple(name for name in names if name in plays.unhandled),
        handled=tuple(name for name in names if name in plays.failed - plays.unhandled),
        never_run=tuple(name for name in names if name not in plays.ran),
        skipped_joins=tuple(name for name, states in plays.joined.items() if states <= {State.SKIPPED, State.WAIT}),
    )


class _Plays:
    """What was seen in all plays so far."""

    def __init__(self, plan: JobPlan, behave: Callable[[str, int], Ending], start: Start) -> None:
        self._behave, self._start, self._joins = behave, start, joins(plan)
        self.count = 0
        self.ran: set[str] = set()
        self.failed: set[str] = set()
        self.unhandled: set[str] = set()
        self.joined: dict[str, set[State]] = {}

    def play(self, plan: JobPlan, failing: str | None) -> None:
        host = VirtualControlHost()
        result = play(host, plan, _failing(self._behave, failing), start=self._start)
        self.count += 1
        for instance, state in host.states().items():
            name = instance.partition("[#")[0]
            if state not in (State.WAIT, State.SKIPPED):
                self.ran.add(name)
            if name in self._joins:
                self.joined.setdefault(name, set()).add(state)
            if name == failing and state is State.ERROR:
                self.failed.add(name)
                if result.state is not JobState.OK:
                    self.unhandled.add(name)


def _has_conditions(plan: JobPlan) -> bool:
    return any(edge.kind is EdgeKind.IF for edge in plan.control) or any(map(_has_conditions, plan.bodies.values()))


def _with_open_conditions(plan: JobPlan) -> JobPlan:
    """Answer the plan with every condition of an edge true; those of `while` would never end."""
    always = compile_text("True")
    return msgspec.structs.replace(
        plan,
        control=tuple(
            msgspec.structs.replace(edge, expression=always) if edge.kind is EdgeKind.IF else edge
            for edge in plan.control
        ),
        bodies={name: _with_open_conditions(body) for name, body in plan.bodies.items()},
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
