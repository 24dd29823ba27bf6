"""What a component writes and reads: keys inside joblets have a prefix (R-087), conditions see after-variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pondage.expr import Missing
from pondage.kernel.control.shape import PlanComponent
from pondage.kernel.control.state import Entry
from pondage.kernel.control.work import Level, Work


def global_key(shape: PlanComponent, key: str) -> str:
    """Give the name under which a component writes a global."""
    return f"{shape.name}__{key}" if shape.caller else key


def after_key(shape: PlanComponent, name: str) -> str:
    """Give the global that an after-variable becomes."""
    return f"{shape.name}__{name}"


def readable(values: Mapping[str, object], shape: PlanComponent, siblings: Sequence[str]) -> dict[str, object]:
    """Give globals as a component reads them: inside a joblet also without the prefixes, its own first (R-087)."""
    found = dict(values)
    if not shape.caller:
        return found
    for owner in (*reversed(siblings), shape.name):
        prefix = f"{owner}__"
        found.update({key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix)})
    return found


class Names:
    """What a condition of a component sees. Reads look for its own prefix, a sibling's prefix, then the name itself."""

    def __init__(
        self, work: Work, level: Level, at: int, entries: Mapping[str, Entry], after: Mapping[str, object]
    ) -> None:
        self.work = work
        self.level = level
        self.shape = level.plan.components[at]
        self.entries = entries
        self.after = after

    @property
    def context(self) -> Mapping[str, object]:
        """Give the run's context."""
        return self.work.run.context

    def name(self, name: str) -> object:
        """Give the source's own after-variable, else a global."""
        return self.after[name] if name in self.after else self.glob(name)

    def glob(self, key: str) -> object:
        """Give a global; raises Missing when it does not exist or was deleted."""
        for candidate in self._candidates(key):
            entry = self.entries.get(candidate)
            if entry is not None and not (version := self.work.version(entry.version)).is_deleted:
                return version.value
        raise Missing(key)

    def _candidates(self, key: str) -> list[str]:
        if not self.shape.caller:
            return [key]
        siblings = self.level.index.siblings[self.shape.caller]
        return [f"{self.shape.name}__{key}", *(f"{sibling}__{key}" for sibling in siblings), key]
