"""What a deploy does to the components and types that a project exposes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from pondage.define.job.component import ComponentDefinition
from pondage.define.job.exposed import Exposed
from pondage.define.types.type_registry import TypeEntry

Change = Literal["added", "changed", "removed", "unchanged"]
_Versioned = ComponentDefinition | TypeEntry


class ExposedChange(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one component or type that trees may use. What runs goes on with the code that it has."""

    kind: Literal["component", "type"]
    name: str
    change: Change
    version_from: str | None = None
    version_to: str | None = None


def exposed_changes(declared: Exposed, former: Exposed) -> tuple[ExposedChange, ...]:
    """Answer what a deploy would do to each of them; another archive alone changes nothing."""
    before = {one.name: one for one in former.with_code("").components}
    now = {one.name: one for one in declared.with_code("").components}
    return (*_changes("component", before, now), *_changes("type", former.types, declared.types))


def _changes(
    kind: Literal["component", "type"], before: Mapping[str, _Versioned], now: Mapping[str, _Versioned]
) -> Iterator[ExposedChange]:
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        change: Change = "unchanged" if old == new else "changed"
        if old is None or new is None:
            change = "added" if old is None else "removed"
        yield ExposedChange(
            kind=kind,
            name=name,
            change=change,
            version_from=None if old is None else old.version,
            version_to=None if new is None else new.version,
        )
