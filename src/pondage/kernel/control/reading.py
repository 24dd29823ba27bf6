"""Reading the rows of a run from outside: for hosts, views and tests. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pondage.kernel.control.index import Index
from pondage.kernel.control.state import ComponentRow, LevelRow, Row, VersionRow, ViewRow


def components_of(
    index: Index, levels: Mapping[str, Row], components: Mapping[str, Row]
) -> Iterator[tuple[str, ComponentRow]]:
    """Give every component of every level that exists; one to which nothing has happened has an empty row."""
    for level in levels.values():
        assert isinstance(level, LevelRow)
        inner = index
        for name in level.path:
            inner = inner.bodies[name]
        suffix = "".join(f"[#{number}]" for number in level.numbers)
        for component in inner.plan.components:
            row = components.get(component.name + suffix)
            yield component.name + suffix, row if isinstance(row, ComponentRow) else ComponentRow()


def values_of(view: str, get: Callable[[str, str], Row | None]) -> dict[str, object]:
    """Give the globals of a view by their full names; the empty name is the empty view."""
    row = get("view", view) if view else None
    found: dict[str, object] = {}
    for key, entry in row.entries.items() if isinstance(row, ViewRow) else ():
        version = get("version", entry.version)
        assert isinstance(version, VersionRow), f"a view names the version {entry.version}, which is not stored"
        if not version.is_deleted:
            found[key] = version.value
    return found


def result_values(get: Callable[[str, str], Row | None]) -> dict[str, object]:
    """Give the globals that a run leaves behind; complete when it is over."""
    job = get("level", "")
    return values_of(job.result, get) if isinstance(job, LevelRow) else {}
