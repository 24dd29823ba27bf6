"""The options of `pondage job`: which file, and how the components of a play behave."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from pondage.define.values.duration import parsed_duration
from pondage.errors import NotFound, PondageError
from pondage.kernel.control import JobPlan
from pondage.simulate.control_drive import Ending
from pondage.simulate.control_failures import real_components

SECOND_MS = 1_000
file_argument = click.argument("file", type=click.Path(path_type=Path))


def endings(
    plan: JobPlan,
    *,
    fails: Sequence[str] = (),
    takes: Sequence[str] = (),
    after: Sequence[str] = (),
    writes: Sequence[str] = (),
    items: Sequence[str] = (),
) -> Callable[[str, int], Ending]:
    """Answer how each instance ends; `x[#2]` wins over `x`. Raises NotFound for a name that the job does not have."""
    names = set(real_components(plan))
    failing = {_known(name, names): text or "it failed" for name, text in map(_split, fails)}
    lengths = {_known(name, names): milliseconds(text, "--takes") for name, text in map(_split, takes)}
    counts = {_known(name, names): _count(text) for name, text in map(_split, items)}
    variables, keys = _by_name(after, names), _by_name(writes, names)

    def behave(instance: str, attempt: int) -> Ending:
        del attempt
        plain = instance.partition("[#")[0]
        found = counts.get(instance, counts.get(plain, 2))
        return Ending(
            takes=lengths.get(instance, lengths.get(plain, SECOND_MS)),
            raises=failing.get(instance, failing.get(plain)),
            after=variables.get(instance, variables.get(plain, {})),
            writes=keys.get(instance, keys.get(plain, {})),
            items=list(range(1, found + 1)),
        )

    return behave


def _split(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _known(name: str, names: set[str]) -> str:
    if name.partition("[#")[0] not in names:
        raise NotFound(f"the job has no component {name!r}", hint=f"it has {', '.join(sorted(names))}")
    return name


def _by_name(given: Sequence[str], names: set[str]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for end, text in map(_pair, given):
        name, _, key = end.rpartition(".")
        found.setdefault(_known(name, names), {})[key] = _value(text)
    return found


def _value(text: str) -> object:
    def no_number(constant: str) -> object:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError):
        return text


def values(given: Sequence[str]) -> dict[str, object]:
    """Answer `K=V` options; a value that is JSON is taken as such. Raises UsageError for what is no such pair."""
    return {name: _value(text) for name, text in map(_pair, given)}


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise click.UsageError(f"{text!r} is not K=V")
    return name, value


def milliseconds(text: str, what: str) -> int:
    """Answer a duration in milliseconds; raises for what is none."""
    return max(1, parsed_duration(text, what=what) // 1_000)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) > 1_000:
        raise PondageError(f"--items takes a number up to 1000, not {text!r}", code="BAD_NUMBER")
    return int(text)
