"""How long Runs are kept, as an author writes it: `1h all, 2d hourly, 30d daily`.

A step says how old a Run may be, and how many of that age stay: all, or the last of each hour, day or week. So what a
Pond keeps follows the time it looks back, and not how often it runs.
"""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from pondage.define.values.duration import parsed_duration
from pondage.errors import DefinitionError

EVERY_US = {"all": 0, "hourly": 3_600_000_000, "daily": 86_400_000_000, "weekly": 7 * 86_400_000_000}
"""The words of a step, and the length of the time of which one Run stays; with 0 each does."""
_STEP = re.compile(r"\s*(\S.*?)\s+(\S+)\s*\Z")
_EXAMPLE = 'write steps from new to old: "1h all, 2d hourly, 30d daily"'


class KeepStep(msgspec.Struct, frozen=True, kw_only=True):
    """Up to this age the last Run of each so long time stays; all of them with `every_us` 0."""

    until_us: int
    every_us: int


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """The steps, from new to old; what is older than the last one goes."""

    steps: tuple[KeepStep, ...]

    @property
    def all_us(self) -> int:
        """Answer up to which age nothing goes."""
        return max((step.until_us for step in self.steps if step.every_us == 0), default=0)


def parsed_keep(text: object, *, what: str = "keep", place: str | None = None) -> Keep:
    """Answer the steps; raises `DefinitionError` when one is malformed, or older ones keep more than newer ones."""
    steps: list[KeepStep] = []
    for part in text.split(",") if isinstance(text, str) else ():
        found = _STEP.match(part)
        if found is None or found[2] not in EVERY_US:
            raise _refused(what, text, f"{part.strip()!r} is not an age and one of {', '.join(EVERY_US)}", place)
        steps.append(
            KeepStep(until_us=parsed_duration(found[1], what=f"{what}: age", place=place), every_us=EVERY_US[found[2]])
        )
    if not steps:
        raise _refused(what, text, "it has no step", place)
    for newer, older in pairwise(steps):
        if older.until_us <= newer.until_us or older.every_us <= newer.every_us:
            raise _refused(what, text, "each step must reach further back than the one before, and keep fewer", place)
    return Keep(steps=tuple(steps))


def _refused(what: str, text: object, why: str, place: str | None) -> DefinitionError:
    return DefinitionError(f"{what} = {text!r}: {why}", hint=_EXAMPLE, place=place, code="BAD_KEEP")
