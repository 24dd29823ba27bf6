"""A Pond as a stranger sent it: what an author's declaration refuses by itself is looked at once more."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from pondage.define.pond.definition import PondDefinition, RippleDefinition
from pondage.define.pond.window import check_schedule, check_window
from pondage.define.values.duration import LONGEST_US
from pondage.define.values.names import checked_name, parsed_version
from pondage.errors import DefinitionError


def check_pond(pond: PondDefinition, place: str) -> None:
    """Raise `DefinitionError` for a name, a read, a time or a duration that no declaration could have made."""
    checked_name(pond.name, what="Pond", place=place)
    parsed_version(pond.version, place=place)
    for source in pond.sources:
        checked_name(source.pond, what="Source", place=f"{place}.sources")
    for window in pond.windows:
        check_window(window, f"{place}.windows")
    for schedule in pond.triggers.schedules:
        check_schedule(schedule, f"{place}.triggers.schedules")
    for tide in pond.triggers.tides:
        checked_name(tide.name, what="Tide", place=f"{place}.triggers.tides")
        _check_length(tide.limit_us, f"{place}.triggers.tides", least=1)
    if pond.feed is not None:
        _check_length(pond.feed.period_us, f"{place}.feed")
    for ripple in pond.ripples:
        _check_ripple(pond, ripple, f"{place}.ripples")
    _check_order(pond, f"{place}.ripples")


def _check_ripple(pond: PondDefinition, ripple: RippleDefinition, place: str) -> None:
    for each in (ripple, *ripple.members):
        checked_name(each.name, what="Ripple", place=place)
        for seconds in (each.timeout_s, each.progress_lease_s):
            if seconds is not None:
                _check_length(seconds * 1e6, place, least=1)
        for rule in each.expectations:
            _check_length(rule.within_us, place)
    ripples, sources = {each.name for each in pond.ripples}, {each.pond for each in pond.sources}
    for read in ripple.reads:
        if read.ripple not in ripples if read.pond is None else read.pond not in sources:
            raise DefinitionError(
                f"Ripple {ripple.name} of {pond.name} reads {read.table(pond.name)[:200]!r}, which it does not name",
                place=place,
                code="NO_SUCH_READ",
            )


def _check_order(pond: PondDefinition, place: str) -> None:
    """Refuse Ripples with one name, and Ripples that wait for each other."""
    if len({each.name for each in pond.ripples}) < len(pond.ripples):
        raise DefinitionError(f"two Ripples of {pond.name} have one name", place=place, code="RIPPLE_TWICE")
    try:
        TopologicalSorter({each.name: each.parents for each in pond.ripples}).prepare()
    except CycleError:
        raise DefinitionError(f"Ripples of {pond.name} wait for each other", place=place, code="CYCLE") from None


def _check_length(length_us: float, place: str, *, least: int = 0) -> None:
    if not least <= length_us <= LONGEST_US:
        raise DefinitionError("a duration is at most 100 years, and not below zero", place=place, code="BAD_DURATION")
