"""From a stored declaration to what the demand machine needs to know of it."""

from __future__ import annotations

from pondage.define.pond.calendar import Calendar
from pondage.define.pond.definition import FollowDefinition, PondDefinition
from pondage.define.values.names import pond_key
from pondage.kernel.demand.events import Follow
from pondage.kernel.demand.shape import Occurrences, PondShape, Retries
from pondage.kernel.reading.profile import ONE

BORROWED = "published"
"""The only Ripple that the machine sees of a borrowed Pond; its Runs show whatever the Run above shows."""


def shape_of(definition: PondDefinition) -> PondShape:
    """Answer what the machine needs to know of a declared Pond whose Sources are bound."""
    if definition.borrowed:
        return PondShape.of(pond_key(definition.name, definition.major), {BORROWED: ()}, calendar=Occurrences(()))
    sources: dict[str, bool] = {}
    for source in definition.sources:
        assert source.major is not None, f"{definition.name}: source {source.pond} is not bound"
        sources[pond_key(source.pond, source.major)] = source.required
    return PondShape.of(
        pond_key(definition.name, definition.major),
        {ripple.name: ripple.parents for ripple in definition.ripples},
        sources=sources,
        calendar=Calendar(definition.windows) if definition.windows else None,
        retries=Retries(immediately=definition.retries.immediately, on_change=definition.retries.on_change),
        must_agree=definition.coherent == "required",
        schedules=[schedule.name for schedule in definition.triggers.schedules],
        feed_period=definition.feed.period_us if definition.feed is not None else None,
    )


def follow_of(declared: FollowDefinition | None) -> Follow | None:
    """Answer how the machine is told that a trigger follows its readers."""
    if declared is None:
        return None
    return Follow(tz=declared.tz, sure=round(declared.sure * ONE), is_resting=declared.is_resting)
