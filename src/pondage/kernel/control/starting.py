"""A component starts: what it sees of the globals, its counter, its inputs (R-015, R-081)."""

from __future__ import annotations

from pondage.kernel.control.effects import ComponentChanged, GroupMember, Run, Source, SubChanged
from pondage.kernel.control.settle import Outcome, settle
from pondage.kernel.control.shape import EdgeKind, Virtual
from pondage.kernel.control.state import EdgeState, State
from pondage.kernel.control.views import Entries, crossed, merged, stored, sub_result
from pondage.kernel.control.work import Level, Work


def is_ready(work: Work, level: Level, at: int) -> bool:
    """May the component start: permitted by control, and every connected port satisfied? A group starts as a whole."""
    group = whole_group(work, level, at, State.WAIT)
    if not group:
        return _is_satisfied(work, level, at, group)
    return all(_is_satisfied(work, level, member, group) for member in group)


def whole_group(work: Work, level: Level, at: int, state: State) -> tuple[int, ...]:
    """Give the fused group of a component when all its members are in this state.

    One that lost a member is no group any more: each of the others goes its own way.
    """
    group = level.index.group_of.get(at, ())
    return group if all(work.state(level, member) is state for member in group) else ()


def _is_satisfied(work: Work, level: Level, at: int, group: tuple[int, ...]) -> bool:
    row, shape = work.component(level, at), work.shape(level, at)
    if row.state is not State.WAIT or shape.virtual is Virtual.OUT:
        return False
    if not shape.startable and not row.has_fired:
        return False
    for port in shape.ports:
        known = row.ports[port.name]
        inside = sum(data.source in group for data in level.index.fed_by.get((at, port.name), ())) if group else 0
        if known.waiting > inside or known.lost:
            return False
    return True


def start(work: Work, level: Level, at: int) -> None:
    """Set a component, or the whole group that it is in, RUNNING and dispatch it; a proxy settles at once."""
    group = whole_group(work, level, at, State.WAIT)
    for member in group[:-1]:
        _begin(work, level, member)
        work.touch(level, member).attempt = 1
    at = group[-1] if group else at
    reason = _begin(work, level, at)
    row, shape = work.touch(level, at), work.shape(level, at)
    if shape.virtual is Virtual.IN:
        row.absent = tuple(port for port in shape.outputs if not _has_come(row.ports.get(port)))
        settle(work, level, at, Outcome(), "proxy")
        return
    row.attempt = 1
    work.touch_run().running += 1
    dispatch(work, level, at, reason)
    for data in level.index.feeds.get(at, ()):
        if data.is_stream:
            consumer = work.touch(level, data.target)
            consumer.ports[data.target_port].waiting -= 1
            consumer.ports[data.target_port].arrived += 1
            work.queue_ready(level, data.target)


def _begin(work: Work, level: Level, at: int) -> str:
    row, shape = work.touch(level, at), work.shape(level, at)
    prepare(work, level, at)
    row.state = State.RUNNING
    if shape.virtual is Virtual.IN:
        _log_call(work, level, at)
    begin_sub(work, level, shape.sub)
    reason = _reason(work, level, at)
    work.log(
        ComponentChanged(
            reason=reason, scope=work.scope_of(level, at), instance=level.instance(at), state=State.RUNNING
        )
    )
    return reason


def _has_come(port: object) -> bool:
    return bool(getattr(port, "arrived", 0))


def _log_call(work: Work, level: Level, at: int) -> None:
    shape = work.shape(level, at)
    work.log(
        SubChanged(
            reason="called",
            scope=level.scope_key(shape.scope),
            name=shape.caller + level.suffix,
            state=State.RUNNING,
        )
    )


def begin_sub(work: Work, level: Level, number: int) -> None:
    """Set a sub-job RUNNING at the start of its first member."""
    if work.sub(level, number).state is not State.WAIT:
        return
    row, sub = work.touch_sub(level, number), level.plan.subs[number]
    row.state = State.RUNNING
    if not sub.is_entry and not row.has_prefix:
        work.log(
            SubChanged(
                reason="started",
                scope=level.scope_key(sub.scope),
                name=level.sub_name(number),
                state=State.RUNNING,
            )
        )


def dispatch(work: Work, level: Level, at: int, reason: str) -> None:
    """Hand the latest attempt to the host."""
    row, shape = work.component(level, at), work.shape(level, at)
    group = whole_group(work, level, at, State.RUNNING)
    work.log(
        Run(
            reason=reason,
            instance=level.instance(at),
            component=shape.name,
            attempt=row.attempt,
            inputs=_inputs(work, level, at),
            view=row.view_in,
            members=tuple(
                GroupMember(level.instance(member), work.shape(level, member).name, _inputs(work, level, member))
                for member in group[:-1]
            ),
        )
    )


def _inputs(work: Work, level: Level, at: int) -> dict[str, tuple[Source, ...]]:
    return {port.name: tuple(_sources(work, level, at, port.name)) for port in work.shape(level, at).ports}


def _is_fused(work: Work, level: Level, source: int, target: int) -> bool:
    """Do both run in the same execution?"""
    return source in whole_group(work, level, target, State.RUNNING)


def _sources(work: Work, level: Level, at: int, port: str) -> list[Source]:
    found: list[Source] = []
    for data in level.index.fed_by.get((at, port), ()):
        producer, shape = work.component(level, data.source), work.shape(level, data.source)
        if shape.virtual is not Virtual.NONE:
            found += _sources(work, level, data.source, data.source_port)
        elif (
            producer.state is (State.ERROR if data.is_panic else State.OK)
            or (data.is_stream and producer.state is State.RUNNING)
            or _is_fused(work, level, data.source, at)
        ):
            found.append(Source(level.instance(data.source), data.source_port, data.gathers))
    return found + _outside_sources(work, level, at, port)


def _outside_sources(work: Work, level: Level, at: int, port: str) -> list[Source]:
    """Give what an input of a body reads from outside: an element of an iterator, or what was handed to an iterator."""
    shape = level.plan.components[at]
    declared = next((one for one in shape.ports if one.name == port and one.is_outside), None)
    found: list[Source] = []
    while declared is not None and not level.is_job:
        number = level.row.numbers[-1]
        level, iterator = work.parent(level)
        if declared.item_of == level.plan.components[iterator].name:
            found.append(Source(level.instance(iterator), "item", element=number))
        found += _sources(work, level, iterator, f"{shape.name}.{port}")
    return found


def _reason(work: Work, level: Level, at: int) -> str:
    fired = []
    for number in level.index.inbound.get(at, ()):
        edge = level.plan.control[number]
        if work.edge(level, number).state is EdgeState.FIRED:
            fired.append(f"{level.instance(edge.source) if edge.source >= 0 else level.name} {edge.label}")
    return ", ".join(fired) or "startable"


def prepare(work: Work, level: Level, at: int) -> None:
    """Give a component its view of the globals and its counter: what happened before it along edges and data."""
    row, shape = work.touch(level, at), work.shape(level, at)
    names = [level.row.view]
    views: list[Entries] = [dict(work.view(level.row.view).entries)]
    counter = 0
    for source, name, entries in _before(work, level, at):
        counter = max(counter, _counter(work, level, source, shape.sub))
        source_sub = work.shape(level, source).sub
        names.append(name)
        views.append(dict(entries) if source_sub == shape.sub else crossed(work, level, source_sub, shape.sub, entries))
    if shape.virtual is Virtual.IN:
        out = level.plan.scopes[shape.scope].owner
        row.entry_counter = max(
            (_counter(work, level, source, work.shape(level, out).sub) for source, _, _ in _before(work, level, at)),
            default=0,
        )
    if shape.virtual is Virtual.OUT:
        entry = level.index.place[f"{shape.caller}.__proxy_in"]
        counter = max(counter, work.component(level, entry).entry_counter)
        inside = level.plan.scopes[level.index.scope_of_call[at]].subs
        views += [crossed(work, level, sub, shape.sub, sub_result(work, level, sub)) for sub in inside]
    row.counter = counter + 1
    row.view_in = stored(work, merged(work, views), f"{level.instance(at)}.in", names)


def _before(work: Work, level: Level, at: int) -> list[tuple[int, str, Entries]]:
    """Give the sources whose fired edge or arrived data happened before the start, with what they hand on."""
    found: list[tuple[int, str, Entries]] = []
    for number in level.index.inbound.get(at, ()):
        edge = level.plan.control[number]
        if work.edge(level, number).state is not EdgeState.FIRED or edge.source < 0:
            continue
        if edge.kind in (EdgeKind.SUBJOB_OK, EdgeKind.SUBJOB_ERROR):
            found += _of_sub(work, level, edge.source, is_whole=edge.is_whole)
        elif edge.kind is not EdgeKind.SYNCHRONISE:
            name = work.component(level, edge.source).view_out
            found.append((edge.source, name, work.view(name).entries))
    for join in level.index.join_at.get(at, ()):
        if work.edge(level, join.edges[0]).state is EdgeState.FIRED:
            name = work.component(level, join.fork).view_out
            found.append((join.fork, name, work.view(name).entries))
            for scope in join.branches:
                for sub in level.plan.scopes[scope].subs:
                    found.append((level.plan.subs[sub].members[0], "", sub_result(work, level, sub)))
    for port in work.shape(level, at).ports:
        for data in level.index.fed_by.get((at, port.name), ()):
            producer = work.component(level, data.source)
            # A member of the same group is still being built, and writes nothing: what it sees is what it hands on.
            is_early = data.is_stream or data.source in level.index.group_of.get(at, ())
            is_running = producer.state is State.RUNNING
            name = producer.view_in if data.is_stream or (is_early and is_running) else producer.view_out
            if producer.state is State.OK or (is_early and is_running):
                found.append((data.source, name, work.view(name).entries))
    return found


def _of_sub(work: Work, level: Level, source: int, *, is_whole: bool) -> list[tuple[int, str, Entries]]:
    if not is_whole:
        sub = work.shape(level, source).sub
        return [(source, work.sub(level, sub).view, sub_result(work, level, sub))]
    subs = level.plan.scopes[level.index.scope_of_call[source]].subs
    return [(level.plan.subs[sub].members[0], "", sub_result(work, level, sub)) for sub in subs]


def _counter(work: Work, level: Level, source: int, sub: int) -> int:
    """Give the counter that a source hands on to a sub-job: its own, or that of what led into its scope."""
    shape = work.shape(level, source)
    if shape.sub == sub:
        return work.component(level, source).counter
    scope = level.plan.scopes[shape.scope]
    if scope.owner < 0:
        return 0
    if work.shape(level, scope.owner).virtual is Virtual.NONE:
        return _counter(work, level, scope.owner, sub)
    owner = work.shape(level, scope.owner)
    if owner.sub == sub:
        entry = level.index.place[f"{owner.caller}.__proxy_in"]
        return work.component(level, entry).entry_counter
    return _counter(work, level, scope.owner, sub)
