"""Globals: views of versions, how they are merged, and what of them leaves a sub-job.

A view maps each key to the version that is seen. Of two versions the one that happened after the other wins; of two
concurrent ones the greater clock (sub-job index, counter, writer's name).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pondage.kernel.control.effects import GlobalDropped
from pondage.kernel.control.state import Entry, VersionRow, ViewRow
from pondage.kernel.control.work import Level, Work

Entries = dict[str, Entry]


def merged(work: Work, views: Iterable[Mapping[str, Entry]]) -> Entries:
    """Merge views: for each key the descendant, else the greater clock."""
    result: Entries = {}
    for view in views:
        for key, entry in view.items():
            known = result.get(key)
            result[key] = entry if known is None else _winner(work, known, entry)
    return result


def _winner(work: Work, one: Entry, other: Entry) -> Entry:
    if one.version == other.version:
        ancestors = tuple(sorted({*one.ancestors, *other.ancestors}))
        return Entry(one.version, one.owner, ancestors)
    if one.version in other.ancestors:
        return other
    if other.version in one.ancestors:
        return one
    winner, loser = (one, other) if _clock(work, one) > _clock(work, other) else (other, one)
    ancestors = tuple(sorted({*winner.ancestors, *loser.ancestors, loser.version} - {winner.version}))
    return Entry(winner.version, winner.owner, ancestors)


def _clock(work: Work, entry: Entry) -> tuple[int, int, str]:
    version = work.version(entry.version)
    return (*version.clock, version.writer)


def stored(work: Work, entries: Entries, name: str, alike: Iterable[str]) -> str:
    """Store a view under a name, unless one of those that it was made of (or the empty one) is equal."""
    if not entries:
        return ""
    for key in alike:
        if work.view(key).entries == entries:
            return key
    work.keep("view", name, ViewRow(entries=entries))
    return name


def sub_key(level: Level, sub: int) -> str:
    """Give the key by which versions name a sub-job."""
    return f"{level.key}/{sub}"


def exported(work: Work, level: Level, sub: int, entries: Mapping[str, Entry], *, audits: bool = False) -> Entries:
    """Take out what was written in a sub-job on a foreign key without `global_export`: the older version returns."""
    if work.index.plan.config.globals_export == "all":
        return dict(entries)
    own, mine = sub_key(level, sub), f"it:{level.key.rpartition('#')[0]}"
    result: Entries = {}
    for key, entry in entries.items():
        kept: Entry | None = entry
        while kept is not None:
            version = work.version(kept.version)
            if version.sub != own or version.is_exported or kept.owner in (own, mine):
                break
            if audits:
                work.log(
                    GlobalDropped(
                        reason="GLOBAL_NOT_EXPORTED",
                        scope=level.scope_key(level.plan.subs[sub].scope),
                        key=key,
                        writer=version.writer,
                    )
                )
            kept = version.previous
        if kept is not None:
            result[key] = kept
    return result


def crossed(work: Work, level: Level, source: int, target: int, entries: Mapping[str, Entry]) -> Entries:
    """Bring a view from one sub-job to another: unfiltered inwards, filtered by every sub-job that it leaves.

    What a branch or a joblet created belongs from then on to the sub-job that it is nested in.
    """
    subs = level.plan.subs
    around = set()
    at = target
    while at >= 0:
        around.add(at)
        at = subs[at].parent
    result, at = dict(entries), source
    while at not in around:
        result = exported(work, level, at, result)
        parent = subs[at].parent
        if parent < 0 or (parent in around and parent != target):
            break
        inside = {sub_key(level, sub) for sub in level.plan.scopes[subs[at].scope].subs}
        new_owner = sub_key(level, parent)
        result = {
            key: Entry(entry.version, new_owner, entry.ancestors) if entry.owner in inside else entry
            for key, entry in result.items()
        }
        at = parent
    return result


def sub_result(work: Work, level: Level, sub: int) -> Entries:
    """Give everything that is known at the end of a sub-job: of its members and of its branches."""
    row = work.sub(level, sub)
    if row.view or row.is_restored:
        return work.view(row.view).entries
    names = {_last_view(work, level, member): None for member in level.plan.subs[sub].members}
    views = [work.view(name).entries for name in names if name]
    calls = [
        level.index.scope_of_call[member]
        for member in level.plan.subs[sub].members
        if member in level.index.scope_of_call and not work.state(level, member).is_final
    ]
    for scope in [*level.index.branches.get(sub, ()), *calls]:
        views += [
            crossed(work, level, child, sub, sub_result(work, level, child)) for child in level.plan.scopes[scope].subs
        ]
    return merged(work, views)


def _last_view(work: Work, level: Level, member: int) -> str:
    row = work.component(level, member)
    return row.view_out or row.view_in


def level_result(work: Work, level: Level) -> Entries:
    """Give what a level leaves behind: the results of its sub-jobs, each without what it may not export."""
    top = [number for number, sub in enumerate(level.plan.subs) if sub.parent < 0]
    return merged(work, (exported(work, level, number, sub_result(work, level, number)) for number in top))


def written(
    work: Work, entries: Entries, version: VersionRow, name: str, *, owner_if_new: str
) -> tuple[Entries, tuple[object, ...]]:
    """Add one write to a view; give the new view, and the old value when there was one."""
    before = entries.get(version.key)
    old: tuple[object, ...] = ()
    owner = owner_if_new
    ancestors: tuple[str, ...] = ()
    if before is not None:
        former = work.version(before.version)
        if not former.is_deleted:
            old = (former.value,)
            owner = before.owner
        ancestors = tuple(sorted({*before.ancestors, before.version} - {name}))
        # Written twice in one settlement (a write and its deletion): what counts is what was there before.
        version.previous = former.previous if before.version == name else before
    work.keep("version", name, version)
    return {**entries, version.key: Entry(name, owner, ancestors)}, old
