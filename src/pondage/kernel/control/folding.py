"""Merging the globals of iterations into the iterator's own write (C-36b)."""

from __future__ import annotations

from pondage.kernel.control.state import Entry, IteratorRow, State
from pondage.kernel.control.work import Level, Work

CURRENT_ITERATION = "CURRENT_ITERATION"
CURRENT_VALUE = "CURRENT_VALUE"

_NOTHING = object()


def contributed(work: Work, iteration: Level) -> dict[str, Entry]:
    """Give what an iteration changed, without the two variables that only its body sees."""
    base = work.view(iteration.row.view).entries
    hidden = {f"{iteration.row.path[-1]}__{name}" for name in (CURRENT_ITERATION, CURRENT_VALUE)}
    return {
        key: entry
        for key, entry in work.view(iteration.row.result).entries.items()
        if key not in hidden and (key not in base or base[key].version != entry.version)
    }


def folded(work: Work, level: Level, at: int, row: IteratorRow, mode: str) -> tuple[dict[str, object], frozenset[str]]:
    """Fold the OK iterations in the order of their numbers; give the values, and the keys that may be exported."""
    result: dict[str, object] = {}
    exported: set[str] = set()
    for number in range(1, row.next):
        iteration = work.level(f"{level.instance(at)}#{number}")
        if iteration is None or iteration.row.verdict is State.ERROR or not iteration.row.is_over:
            continue
        news = contributed(work, iteration)
        if mode == "reset":
            result, exported = {}, set()
        for key, entry in news.items():
            version = work.version(entry.version)
            if version.is_exported:
                exported.add(key)
            if version.is_deleted:
                result.pop(key, None)
            elif mode == "accumulate":
                result[key] = combined(result.get(key, _NOTHING), version.value)
            else:
                result[key] = version.value
    return result, frozenset(exported)


def combined(one: object, other: object) -> object:
    """Combine two values of one key: lists and sets are joined, dictionaries merged, single values become a list."""
    if one is _NOTHING:
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() == other.keys() == {"$set"}:
            news = [value for value in other["$set"] if value not in one["$set"]]
            return {"$set": [*one["$set"], *news]}
        return {**one, **other}
    return [*_as_list(one), *_as_list(other)]


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]
