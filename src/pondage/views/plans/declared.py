"""From a name that a person types to a Pond of a plan, which need not be deployed."""

from __future__ import annotations

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound
from pondage.plan.deploy.fusion import unfused
from pondage.plan.deploy.values import Plan
from pondage.views.words import list_text


def declared_pond(plan: Plan, name: str, ripple: str) -> PondDefinition:
    """Answer the Pond in the project's files, in its newest major version; raises `NotFound` with the nearest name."""
    plain, _, major = name.partition("@")
    found = [pond for pond in plan.ponds if pond.name == plain and (not major or str(pond.major) == major)]
    if not found:
        names = sorted({pond.name for pond in plan.ponds})
        close = nearest(plain, names)
        meant = f"did you mean {close!r}?" if close else f"it declares {list_text(names)}"
        raise NotFound(
            f"project {plan.project} declares no Pond {name!r}; {meant}", code="NO_POND", hint="pondage plan"
        )
    pond = unfused(max(found, key=lambda each: each.major))
    ripples = [each.name for each in pond.ripples]
    if ripple and ripple not in ripples:
        raise NotFound(
            f"{pond.name} has no Ripple {ripple!r}; it has {list_text(ripples)}",
            hint=f"pondage run {pond.name}.{nearest(ripple, ripples) or ripples[0]} --sample",
            code="NO_RIPPLE",
        )
    return pond
