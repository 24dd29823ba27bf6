"""Running a reaction scenario on a host and comparing everything that it expects."""

from collections.abc import Iterator
from typing import Any

import msgspec

from pondage.conform.reaction_host import MakeReactorHost
from pondage.conform.reaction_scenario import Expected, ReactionScenario
from pondage.conform.reaction_trace import ReactionTrace
from pondage.conform.reaction_world import ReactionWorld
from pondage.conform.verdict import Mismatch, Verdict

_KEYS = {"replies": 1, "acc_health": 1, "recovery": 1, "ponds": 2}
"""Where an entry names its cid, source, component or Pond: only those of one are in order within an instant."""


def check_reaction(scenario: ReactionScenario, make_host: MakeReactorHost) -> Verdict:
    """Run a scenario once on a fresh host and say what differs."""
    world = ReactionWorld(scenario, make_host)
    try:
        trace = world.play()
    finally:
        world.host.close()
    mismatches = [
        Mismatch(order="", what=what, expected=expected, got=got)
        for what, expected, got in _differences(scenario.expect, trace)
    ]
    return Verdict(id=scenario.id, title=scenario.title, mismatches=mismatches)


def _differences(expected: Expected, trace: ReactionTrace) -> Iterator[tuple[str, object, object]]:
    for part in Expected.__struct_fields__:
        wanted = getattr(expected, part)
        if wanted is None:
            continue
        wanted, got = _plain(wanted), _plain(getattr(trace, part))
        if part == "state":
            yield from _state_differences(wanted, got)
            continue
        wanted, got = _arranged(part, wanted), _arranged(part, got)
        if wanted != got:
            place = next((n for n, pair in enumerate(zip(wanted, got, strict=False)) if pair[0] != pair[1]), None)
            place = min(len(wanted), len(got)) if place is None else place
            yield f"{part}[{place}]", wanted[place : place + 1], got[place : place + 1]


def _state_differences(wanted: dict[str, Any], got: dict[str, Any]) -> Iterator[tuple[str, object, object]]:
    for name in sorted(wanted.keys() | got.keys()):
        if wanted.get(name) != got.get(name) or (name in wanted) != (name in got):
            yield f"state of {name}", wanted.get(name), got.get(name)


def _arranged(part: str, entries: list[Any]) -> list[Any]:
    key = _KEYS.get(part)
    return entries if key is None else sorted(entries, key=lambda entry: (entry[0], str(entry[key])))


def _plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
