"""What a person types after `pondage simulate`, made into values: timings, actions, failures, consumption."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import PondKey
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound, PondageError
from pondage.kernel.demand import PondShape
from pondage.kernel.demand.events import Follow, Pulse, Tap, Tide, Verb, Wave
from pondage.kernel.demand.state import Pacing
from pondage.simulate.consumption import ConsumptionVerb, read_trace
from pondage.simulate.pipeline import Place, Timing
from pondage.views.plans.simulation import Recorded

_DURATION = re.compile(r"(?:\d+(?:ms|[smhd]))+\Z")


class Names:
    """The Ponds and Ripples that may be typed: `sales` is the newest major of it, `sales@1` exactly that one."""

    def __init__(self, shapes: Iterable[PondShape]) -> None:
        self._shapes = {shape.key: shape for shape in shapes}
        self._newest: dict[str, PondKey] = {}
        for key in sorted(self._shapes, key=lambda key: int(key.rpartition("@")[2])):
            self._newest[key.rpartition("@")[0]] = key

    def pond(self, name: str) -> PondKey:
        """Answer a Pond's key; raises `NotFound` with the nearest name."""
        found = self._newest.get(name, PondKey(name))
        if found not in self._shapes:
            close = nearest(name, self._newest)
            meant = f"; did you mean {close!r}?" if close else ""
            raise NotFound(f"there is no Pond {name!r} in this pipeline{meant}", hint="pondage status", code="NO_POND")
        return found

    def places(self, name: str) -> list[Place]:
        """Answer the Ripples of `sales.clean`, or all of `sales`; raises `NotFound`."""
        plain, _, ripple = name.partition(".")
        key = self.pond(plain)
        ripples = self._shapes[key].ripples
        if not ripple:
            return [(key, each) for each in ripples]
        if ripple not in ripples:
            known = ", ".join(ripples)
            raise NotFound(f"Pond {plain!r} has no Ripple {ripple!r}; it has {known}", code="NO_RIPPLE")
        return [(key, ripple)]


def timings(
    shapes: Sequence[PondShape],
    names: Names,
    recorded: Mapping[Place, Recorded],
    *,
    given: Sequence[str],
    default: str,
    jitter: float | None,
) -> dict[Place, Timing]:
    """Answer how long each Ripple takes: as given, else as recorded, else the default.

    A Ripple of a Pond is more exact than the Pond, whatever the order. Without `jitter` a recorded Ripple varies as it
    did, and no other does.
    """
    chosen: dict[Place, int] = {}
    for text in sorted(given, key=lambda text: "." in text.partition("=")[0]):
        name, is_given, length = text.partition("=")
        if not is_given:
            raise _refused("duration", text, "--duration sales.clean=5s")
        chosen.update(dict.fromkeys(names.places(name.strip()), parsed_duration(length.strip())))
    otherwise = parsed_duration(default, what="default")
    found: dict[Place, Timing] = {}
    for shape in shapes:
        for ripple in shape.ripples:
            place = shape.key, ripple
            known = recorded.get(place)
            if place in chosen:
                timing = Timing(base=chosen[place], spread=jitter or 0.0, origin="given")
            elif known is not None:
                spread = known.spread if jitter is None else jitter
                timing = Timing(base=known.median_us, spread=spread, origin="history")
            else:
                timing = Timing(base=otherwise, spread=jitter or 0.0, origin="default")
            found[place] = timing
    return found


def failing(names: Names, given: Sequence[str]) -> dict[Place, frozenset[int]]:
    """Answer which executions fail: `sales.clean:2` is the second one of that Ripple."""
    found: dict[Place, set[int]] = {}
    for text in given:
        name, _, count = text.rpartition(":")
        if not name or not count.isdecimal() or int(count) < 1:
            raise _refused("failure", text, "--fail sales.clean:2 (the second execution fails)")
        for place in names.places(name):
            found.setdefault(place, set()).add(int(count))
    return {place: frozenset(counts) for place, counts in found.items()}


def actions(
    names: Names,
    start: int,
    *,
    taps: Sequence[str],
    pulses: Sequence[str],
    waves: Sequence[str],
    just_in_time: Sequence[str],
    tides: Sequence[str],
) -> list[tuple[int, Verb]]:
    """Answer the triggers that were given, by absolute time."""
    found: list[tuple[int, Verb]] = []
    paced = partial(Wave, pacing=Pacing.JUST_IN_TIME)
    for make, texts in ((Tap, taps), (Pulse, pulses), (Wave, waves), (paced, just_in_time)):
        for pond, at in (_timed(names, text) for text in texts):
            found.append((start + at, make(pond=pond)))
    for text in tides:
        name, is_given, limit = text.partition("=")
        if not is_given:
            raise _refused("Tide", text, "--tide reports=1m")
        found.append((start, Tide(pond=names.pond(name), limit=parsed_duration(limit, what="limit"))))
    return found


def followers(names: Names, start: int, given: Sequence[str], *, tz: str) -> list[tuple[int, Verb]]:
    """Answer the Tides that follow their readers: `reports=15m`."""
    found: list[tuple[int, Verb]] = []
    for text in given:
        name, is_given, limit = text.partition("=")
        if not is_given:
            raise _refused("Tide", text, "--while-read reports=15m")
        length = parsed_duration(limit, what="limit")
        found.append((start, Tide(pond=names.pond(name), limit=length, follow=Follow(tz=tz))))
    return found


def consumption(names: Names, path: Path, start: int) -> list[tuple[int, PondKey, ConsumptionVerb]]:
    """Answer a recorded trace by absolute time."""
    return [(start + one.at_us, names.pond(one.pond), one.verb) for one in read_trace(path)]


def moment(text: str) -> int:
    """Answer an ISO time in microseconds; one without a zone is local."""
    try:
        return int(datetime.fromisoformat(text).astimezone().timestamp()) * 1_000_000
    except ValueError:
        raise _refused("time", text, "--start 2026-03-02T08:00:00+01:00") from None


def _timed(names: Names, text: str) -> tuple[PondKey, int]:
    name, _, at = text.rpartition("@")
    # `sales@1` is a major version, `sales@1s` a time: a time has a unit, and a bare 0 is the beginning.
    if name and _DURATION.match(at):
        return names.pond(name), parsed_duration(at, what="time")
    return names.pond(name if name and at == "0" else text), 0


def _refused(what: str, text: str, example: str) -> PondageError:
    return PondageError(f"{what} {text!r} is not understood", hint=f"write for example {example}", code="BAD_OPTION")
