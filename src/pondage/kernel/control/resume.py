"""What a resumed run may keep: the largest causally closed set of finished work (2.6, C-24 to C-26)."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from pondage.kernel.control.events import Restore
from pondage.kernel.control.index import Index
from pondage.kernel.control.restoring import edge_name
from pondage.kernel.control.rows import Rows
from pondage.kernel.control.shape import EdgeKind, ScopeKind, Virtual
from pondage.kernel.control.state import ComponentRow, EdgeState, ElementsRow, Entry, JobState, State, ViewRow
from pondage.kernel.control.work import Level, Work

RESUMABLE = (JobState.ERROR, JobState.ABORTED)


def is_resumable(rows: Rows) -> bool:
    """Did the run end ERROR or ABORTED? Only then can it be resumed (NOT_HALTED)."""
    row = rows.get("run", "")
    return row is not None and getattr(row, "state", None) in RESUMABLE


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How an edited job differs from the one that ran, by sub-job."""

    kept: tuple[str, ...]
    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


def difference(old: Index, new: Index) -> Difference:
    """Compare two plans of a job."""
    before = {sub.name: sub.digest for sub in old.plan.subs}
    after = {sub.name: sub.digest for sub in new.plan.subs}
    return Difference(
        kept=tuple(name for name in after if before.get(name) == after[name]),
        changed=tuple(name for name in after if name in before and before[name] != after[name]),
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
    )


def collect(old: Index, rows: Rows, new: Index | None = None, *, fresh_globals: bool = False) -> Restore:
    """Give the event that puts into a new run everything that it need not repeat.

    `new` is the plan of the new run when the job was edited: sub-jobs whose definition changed are not kept, nor
    whatever depends on them.
    """
    work = Work(rows, old, 0)
    job = work.level("")
    if job is None:
        return Restore()
    return _Collection(work, job, Index(old.plan) if new is None else new).event(fresh_globals=fresh_globals)


class _Collection:
    def __init__(self, work: Work, old: Level, index: Index) -> None:
        self.work = work
        self.old = old
        self.index = index
        self.plan = index.plan
        self.finished = self._finished_subs()
        self.sources = [self._sources(at) for at in range(len(self.plan.components))]
        self._bind_groups()
        self.kept = self._closed(self._candidates())

    def _place(self, at: int) -> int | None:
        """Find a component of the new plan in the old one: same name, same definition."""
        component = self.plan.components[at]
        place = self.old.index.place.get(component.name)
        if place is None or self.old.plan.components[place].digest != component.digest:
            return None
        last = self.old.index.group_of.get(place, (place,))[-1]
        # An inner member of a fused group wrote nothing: without the last member there is nothing to keep.
        return place if self.old.plan.components[last].name in self.index.place else None

    def _row(self, at: int) -> ComponentRow | None:
        place = self._place(at)
        return None if place is None else self.work.component(self.old, place)

    def _finished_subs(self) -> set[int]:
        before = {sub.name: number for number, sub in enumerate(self.old.plan.subs)}
        return {
            number
            for number, sub in enumerate(self.plan.subs)
            if sub.name in before
            and self.old.plan.subs[before[sub.name]].digest == sub.digest
            and self.work.sub(self.old, before[sub.name]).state is State.OK
            and not any(self._has_failed_iterations(member) for member in sub.members)
        }

    def _has_failed_iterations(self, at: int) -> bool:
        """Did iterations fail that the iterator let pass? They are executed again, so it is not finished (A4)."""
        place = self._place(at)
        return place is not None and not _is_whole(self.work, self.old, place)

    def _sources(self, at: int) -> set[int]:
        found: set[int] = set()
        for number in self.index.inbound.get(at, ()):
            edge = self.plan.control[number]
            if edge.kind in (EdgeKind.SUBJOB_OK, EdgeKind.SUBJOB_ERROR):
                if edge.is_whole:
                    found |= self._of_scope(self.index.scope_of_call[edge.source])
                else:
                    found |= self._of_sub(self.plan.components[edge.source].sub)
            elif edge.kind is not EdgeKind.SYNCHRONISE:
                found.add(edge.source)
        for join in self.index.join_at.get(at, ()):
            for scope in join.branches:
                found |= self._of_scope(scope)
        for port in self.plan.components[at].ports:
            found |= {data.source for data in self.index.fed_by.get((at, port.name), ())}
        if at in self.index.scope_of_call:
            found |= self._of_scope(self.index.scope_of_call[at])
        return found

    def _bind_groups(self) -> None:
        """Keep an inner member of a fused group only together with the last one: what it gave was never written."""
        for group in self.old.plan.groups:
            *inner, last = (self.index.place.get(self.old.plan.components[at].name) for at in group)
            for at in inner:
                if at is not None and last is not None:
                    self.sources[at].add(last)

    def _of_scope(self, scope: int) -> set[int]:
        return {member for sub in self.plan.scopes[scope].subs for member in self._of_sub(sub)}

    def _of_sub(self, sub: int) -> set[int]:
        found = set(self.plan.subs[sub].members)
        for scope in self.index.branches.get(sub, ()):
            found |= self._of_scope(scope)
        return found

    def _candidates(self) -> set[int]:
        found = {member for sub in self.finished for member in self.plan.subs[sub].members}
        for at in range(len(self.plan.components)):
            if self._is_reached_entry(at):
                found |= {
                    one
                    for one in self._ancestors(at)
                    if (row := self._row(one)) is not None
                    and row.state is State.OK
                    and not self._has_failed_iterations(one)
                }
        return found

    def _is_reached_entry(self, at: int) -> bool:
        """Was a child scope of an unfinished sub-job entered here: a fork, an iterator, a joblet call?"""
        component, row, place = self.plan.components[at], self._row(at), self._place(at)
        if row is None or place is None:
            return False
        if component.iterator is not None:
            return component.sub not in self.finished and self.work.iterator(self.old, place) is not None
        if component.virtual is Virtual.IN:
            owner = self.plan.components[self.plan.scopes[component.scope].owner].sub
            return not {owner, component.sub} <= self.finished and row.state is State.OK
        is_fork = any(scope.kind is ScopeKind.BRANCH and scope.owner == at for scope in self.plan.scopes)
        return is_fork and component.sub not in self.finished and row.state is State.OK

    def _ancestors(self, at: int) -> set[int]:
        found, stack = {at}, [at]
        while stack:
            for source in self.sources[stack.pop()]:
                if source not in found:
                    found.add(source)
                    stack.append(source)
        return found

    def _closed(self, found: set[int]) -> set[int]:
        """Drop whatever has a source outside, and with it the whole of a finished sub-job, until nothing changes."""
        readers: dict[int, set[int]] = defaultdict(set)
        for at, sources in enumerate(self.sources):
            for source in sources:
                readers[source].add(at)
        stack = [at for at in found if not self.sources[at] <= found]
        while stack:
            at = stack.pop()
            if at not in found:
                continue
            sub = self.plan.components[at].sub
            gone = {at}
            if sub in self.finished:
                gone |= set(self.plan.subs[sub].members)
                self.finished.discard(sub)
            found -= gone
            stack += [reader for one in gone for reader in readers[one] if reader in found]
        return found

    def event(self, *, fresh_globals: bool) -> Restore:
        """Copy the rows of everything that is kept."""
        components, edges = {}, {}
        for at in sorted(self.kept):
            place = self._place(at)
            if place is None:
                continue
            row = self.work.component(self.old, place)
            components[self.old.instance(place)] = _without(row) if fresh_globals else row
            for number in self.old.index.own_edges.get(place, ()):
                edge = self.work.edge(self.old, number)
                if edge.state is not EdgeState.PENDING:
                    edges[edge_name(self.old, number)] = edge
        event = Restore(
            subs=tuple(self.plan.subs[sub].name for sub in sorted(self.finished)),
            prefixes=self._prefixes(),
            components=components,
            edges=edges,
        )
        event = self._with_iterators(event)
        return event if fresh_globals else self._with_globals(event)

    def _prefixes(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for number, sub in enumerate(self.plan.subs):
            kept = tuple(self.plan.components[at].name for at in sub.members if at in self.kept)
            if number not in self.finished and kept:
                found[sub.name] = kept
        return found

    def _with_iterators(self, event: Restore) -> Restore:
        iterators, elements, iterations, components = {}, {}, {}, dict(event.components)
        for at, component in enumerate(self.plan.components):
            place = self._place(at)
            if component.iterator is None or at in self.kept or place is None or not self.sources[at] <= self.kept:
                continue
            row = self.work.iterator(self.old, place)
            if row is None:
                continue
            name = self.old.instance(place)
            iterators[name] = row
            if row.total >= 0:
                elements[name] = ElementsRow(items=self.work.elements(self.old, place))
            for number in range(1, row.next):
                level = self.work.level(f"{name}#{number}")
                if level is None or not _went_well(self.work, level):
                    continue
                iterations[level.key] = level.row
                for inner in range(len(level.plan.components)):
                    components[level.instance(inner)] = self.work.component(level, inner)
        return msgspec.structs.replace(
            event, iterators=iterators, elements=elements, iterations=iterations, components=components
        )

    def _with_globals(self, event: Restore) -> Restore:
        names = {name for row in event.components.values() for name in (row.view_in, row.view_out)}
        names |= {name for row in event.iterations.values() for name in (row.view, row.result)}
        views: dict[str, ViewRow] = {name: self.work.view(name) for name in sorted(names) if name}
        versions = {}
        stack: list[Entry] = [entry for view in views.values() for entry in view.entries.values()]
        while stack:
            entry = stack.pop()
            if entry.version not in versions:
                version = self.work.version(entry.version)
                versions[entry.version] = version
                stack += [version.previous] if version.previous is not None else []
        return msgspec.structs.replace(event, views=views, versions=versions)


def _is_whole(work: Work, level: Level, at: int) -> bool:
    """Did every iteration of an iterator go well, and every one of an iterator inside? True of what is no iterator."""
    row = work.iterator(level, at)
    if row is None:
        return True
    body = level.index.bodies[level.plan.components[at].name].plan
    if row.failed or not body.bodies:
        return not row.failed
    opened = (work.level(f"{level.instance(at)}#{number}") for number in range(1, row.next))
    return all(_went_well(work, each) for each in opened if each is not None)


def _went_well(work: Work, level: Level) -> bool:
    if not level.row.is_over or level.row.verdict is State.ERROR:
        return False
    return all(_is_whole(work, level, at) for at in range(len(level.plan.components)))


def _without(row: ComponentRow) -> ComponentRow:
    return msgspec.structs.replace(row, view_in="", view_out="")
