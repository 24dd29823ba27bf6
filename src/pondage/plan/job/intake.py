"""A planned job as a stranger sent it: the machine takes a plan at its word, so every place in it is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pondage.define.job.component import ComponentDefinition
from pondage.errors import DefinitionError
from pondage.kernel.control.shape import JobPlan, ScopeKind, Virtual
from pondage.plan.job.stored_job import StoredJob


def check_sent(job: StoredJob, place: str) -> None:
    """Raise `DefinitionError` when a plan names a place that it does not have, or goes round in a circle."""
    for path, plan in _levels(job.plan, f"{place}.plan"):
        for problem in _problems(plan, job.components):
            raise DefinitionError(f"job {job.plan.name!r} has no sound plan: {problem}", place=path, code="BAD_PLAN")


def _levels(plan: JobPlan, path: str) -> Iterator[tuple[str, JobPlan]]:
    yield path, plan
    for name, body in plan.bodies.items():
        yield from _levels(body, f"{path}.bodies.{name[:63]}")


def _problems(plan: JobPlan, known: dict[str, ComponentDefinition]) -> Iterator[str]:
    parts, scopes, subs = len(plan.components), len(plan.scopes), len(plan.subs)
    ranges = (
        ("component", _ends(plan), parts),
        ("component", (edge.source for edge in plan.control if not edge.kind.startswith("iteration_")), parts),
        ("component", (at for sub in plan.subs for at in sub.members), parts),
        ("component", (scope.owner for scope in plan.scopes if scope.kind is not ScopeKind.JOB), parts),
        ("component", (at for group in plan.groups for at in group), parts),
        ("component", (at for join in plan.joins for at in (join.target, join.fork)), parts),
        ("scope", (part.scope for part in plan.components), scopes),
        ("scope", (sub.scope for sub in plan.subs), scopes),
        ("scope", (at for join in plan.joins for at in join.branches), scopes),
        ("sub-job", (part.sub for part in plan.components), subs),
        ("sub-job", (at for scope in plan.scopes for at in scope.subs), subs),
        ("edge", (at for join in plan.joins for at in join.edges), len(plan.control)),
    )
    for what, places, count in ranges:
        if any(not 0 <= at < count for at in places):
            yield f"it names a {what} that it does not have"
    if not (_is_rooted([each.parent for each in plan.scopes]) and _is_rooted([each.parent for each in plan.subs])):
        yield "a scope or a sub-job of it lies in nothing"
    if any(edge.source >= edge.target for edge in plan.data):
        yield "its components are not in the order of its data"
    yield from _wrong_names(plan, known)


def _ends(plan: JobPlan) -> Iterator[int]:
    for edge in (*plan.data, *plan.stops):
        yield from (edge.source, edge.target)
    yield from (edge.target for edge in plan.control)


def _is_rooted(parents: Sequence[int]) -> bool:
    """Answer whether everybody has an ancestor that has no parent."""
    for at in range(len(parents)):
        for _ in range(len(parents) + 1):
            if at == -1:
                break
            if not 0 <= at < len(parents):
                return False
            at = parents[at]
        else:
            return False
    return True


def _wrong_names(plan: JobPlan, known: Iterable[str]) -> Iterator[str]:
    names = {part.name for part in plan.components}
    if len(names) < len(plan.components):
        yield "two of its components have one name"
    if any(part.virtual is Virtual.NONE and part.type not in known for part in plan.components):
        yield "a component of it is of a kind that was not sent with it"
    if {part.name for part in plan.components if part.iterator is not None} != plan.bodies.keys():
        yield "its iterators and their bodies are not the same"
    calls = {f"{scope.name}.__proxy_in" for scope in plan.scopes if scope.kind is ScopeKind.JOBLET}
    exposed = {name for name, _ in (*plan.inputs.values(), *plan.outputs.values())}
    if not calls | exposed <= names:
        yield "it names a component that it does not have"
