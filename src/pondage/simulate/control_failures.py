"""Failures of a job, played in virtual time: what nobody handles, never runs, or can only be skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations, product

import msgspec

from pondage.expr import compile_text
from pondage.kernel.control import Index, JobPlan, JobState, State
from pondage.kernel.control.events import Start
from pondage.kernel.control.shape import ControlEdge, EdgeKind, Virtual
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_virtual import VirtualControlHost

MOST_PLAYS = 1_000
"""So many plays look for what runs only when several fail."""
MOST_CHOICES = 10
"""A job with at most so many components and conditions is played in all its ways."""


class FailureReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of playing each failure: names are those of the plan, without the numbers of iterations."""

    played: int
    unhandled: tuple[str, ...]
    """Components whose failure makes the job fail."""
    handled: tuple[str, ...]
    never_run: tuple[str, ...]
    """Components that cannot run: every way in which the job can go was played."""
    unseen: tuple[str, ...] = ()
    """Components that ran in none of the plays, of which there are more than were played."""
    together: dict[str, tuple[str, ...]] = {}
    """Components that run only when several others fail in one run, and which did."""
    skipped_joins: tuple[str, ...]
    """Joins that were skipped in every play in which they were decided."""


def all_failures(plan: JobPlan, behave: Callable[[str, int], Ending], start: Start) -> FailureReport:
    """Play the job as it is, once for each component with that one failing, and further for what has not run yet.

    A condition over values that nobody knows before the run is false there. So a job with conditions is played once
    more with all of them true: what runs behind one can run, and can fail. A component that has run in no play is
    looked for with several failing at once: those that run in a play are the next to fail in it.
    """
    names = real_components(plan)
    plays = _Plays(plan, behave, start)
    conditions = sum(1 for edge in _edges(plan) if edge.kind is EdgeKind.IF)
    worlds = [plan, *([_decided(plan, iter([True] * conditions))] if conditions else [])]
    for world in worlds:
        plays.play(world, frozenset())
        for failing in names:
            plays.play(world, frozenset({failing}))
    alone = set(plays.ran)
    is_proved = False
    if not alone.issuperset(names):
        is_proved = not plan.bodies and len(names) + conditions <= MOST_CHOICES
        if is_proved:
            plays.play_all_ways(conditions)
        else:
            plays.search(worlds, names)
    missing = tuple(name for name in names if name not in plays.ran)
    return FailureReport(
        played=plays.count,
        unhandled=tuple(name for name in names if name in plays.unhandled),
        handled=tuple(name for name in names if name in plays.failed - plays.unhandled),
        never_run=missing if is_proved else (),
        unseen=() if is_proved else missing,
        together={name: plays.first[name] for name in names if name in plays.ran - alone},
        skipped_joins=tuple(name for name, states in plays.joined.items() if states <= {State.SKIPPED, State.WAIT}),
    )


class _Plays:
    """What was seen in all plays so far."""

    def __init__(self, plan: JobPlan, behave: Callable[[str, int], Ending], start: Start) -> None:
        self._plan, self._behave, self._start, self._joins = plan, behave, start, joins(plan)
        self.count = 0
        self.ran: set[str] = set()
        self.first: dict[str, tuple[str, ...]] = {}
        """Who failed when a component ran for the first time."""
        self.failed: set[str] = set()
        self.unhandled: set[str] = set()
        self.joined: dict[str, set[State]] = {}

    def play(self, plan: JobPlan, failing: frozenset[str]) -> set[str]:
        """Play once, and answer what ran."""
        host = VirtualControlHost()
        result = play(host, plan, _failing(self._behave, failing), start=self._start)
        self.count += 1
        ran = set()
        for instance, state in host.states().items():
            name = instance.partition("[#")[0]
            if state not in (State.WAIT, State.SKIPPED):
                ran.add(name)
            if name in self._joins:
                self.joined.setdefault(name, set()).add(state)
            if failing == {name} and state is State.ERROR:
                self.failed.add(name)
                if result.state is not JobState.OK:
                    self.unhandled.add(name)
        for name in ran - self.ran:
            self.first[name] = tuple(sorted(failing & ran))
        self.ran |= ran
        return ran

    def play_all_ways(self, conditions: int) -> None:
        """Play every set of failures under every outcome of the conditions, small sets first."""
        names = real_components(self._plan)
        sets = chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))
        for failing in sets:
            for outcomes in product((False, True), repeat=conditions):
                self.play(_decided(self._plan, iter(outcomes)), frozenset(failing))

    def search(self, worlds: list[JobPlan], names: list[str]) -> None:
        """Let more and more fail, each time somebody who has just run, until everything ran or there were enough."""
        waiting = [(world, frozenset[str]()) for world in worlds]
        seen = {frozenset[str]()}
        for world, failing in waiting:
            ran = self.play(world, failing)
            for name in sorted(ran - failing):
                if self.ran.issuperset(names) or self.count >= MOST_PLAYS:
                    return
                if (more := failing | {name}) not in seen:
                    seen.add(more)
                    waiting += [(each, more) for each in worlds]


def _edges(plan: JobPlan) -> Iterator[ControlEdge]:
    yield from plan.control
    for body in plan.bodies.values():
        yield from _edges(body)


def _decided(plan: JobPlan, outcomes: Iterator[bool]) -> JobPlan:
    """Answer the plan with the conditions of its edges decided; those of `while` would never end."""
    control = tuple(
        msgspec.structs.replace(edge, expression=compile_text(str(next(outcomes))))
        if edge.kind is EdgeKind.IF
        else edge
        for edge in plan.control
    )
    bodies = {name: _decided(body, outcomes) for name, body in plan.bodies.items()}
    return msgspec.structs.replace(plan, control=control, bodies=bodies)


def _failing(behave: Callable[[str, int], Ending], failing: frozenset[str]) -> Callable[[str, int], Ending]:
    def chosen(instance: str, attempt: int) -> Ending:
        ending = behave(instance, attempt)
        if instance.partition("[#")[0] not in failing:
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
