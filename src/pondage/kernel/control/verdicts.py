"""Judging: is an ERROR handled, allowed or neither; is a sub-job final, and how; is a failure contained (2.5)."""

from __future__ import annotations

from pondage.kernel.control.shape import EdgeKind, ScopeKind, Virtual
from pondage.kernel.control.state import EdgeState, State
from pondage.kernel.control.work import Level, Work


class Undecided(Exception):
    """The answer hangs on a handler that has not settled."""


def is_handled(work: Work, level: Level, at: int) -> bool:
    """Did an error edge inside its own sub-job lead to a success? Raises Undecided while that is open."""
    shape = work.shape(level, at)
    is_call = shape.virtual is Virtual.OUT
    numbers = [number for number in level.index.own_edges.get(at, ())
               if level.plan.control[number].kind is EdgeKind.ERROR]  # fmt: skip
    if is_call:
        numbers += [number for number in level.index.whole_edges.get(at, ())
                    if level.plan.control[number].kind is EdgeKind.SUBJOB_ERROR]  # fmt: skip
    return _any_recovers(work, level, [
        number for number in numbers
        if is_call or work.shape(level, handler_of(level, number)).sub == shape.sub
    ])  # fmt: skip


def handler_of(level: Level, number: int) -> int:
    """Give whose success counts for an error edge: its target, or the end of the joblet call that it leads into."""
    target = level.plan.control[number].target
    return level.index.handler.get(target, target)


def _any_recovers(work: Work, level: Level, numbers: list[int]) -> bool:
    is_open = False
    for number in numbers:
        if work.edge(level, number).state is not EdgeState.FIRED:
            continue
        target = handler_of(level, number)
        state = work.state(level, target)
        try:
            if state is State.OK or (state is State.ERROR and is_handled(work, level, target)):
                return True
        except Undecided:
            is_open = True
        is_open |= not state.is_final
    if is_open:
        raise Undecided
    return False


def is_allowed(work: Work, level: Level, at: int) -> bool:
    """May this ERROR be tolerated? Decided by the plan alone, so that timing does not matter (C-37)."""
    shape = work.shape(level, at)
    return not shape.die_on_error and not shape.is_needed


def unhandled(work: Work, level: Level, sub: int) -> list[int]:
    """Give the members of a sub-job whose ERROR is neither handled nor allowed."""
    return [
        member
        for member in sorted(work.sub(level, sub).errors)
        if not is_allowed(work, level, member) and not is_handled(work, level, member)
    ]


def verdict(work: Work, level: Level, sub: int) -> State | None:
    """Give the final state of a sub-job, or None while it is open."""
    row = work.sub(level, sub)
    if row.open > 0:
        return None
    try:
        has_failed = bool(unhandled(work, level, sub)) or bool(row.failed_iterations)
        has_failed |= bool(_uncontained_children(work, level, sub))
    except Undecided:
        return None
    if has_failed:
        return State.ERROR
    return State.OK if row.ran else State.SKIPPED


def first_error(work: Work, level: Level, sub: int) -> str:
    """Name the first ERROR of a sub-job that has failed: its own in topological order, then those of its branches."""
    failed = unhandled(work, level, sub)
    if failed:
        return level.instance(failed[0])
    inner = [work.sub(level, child).error for child in _uncontained_children(work, level, sub)]
    return next(iter([*inner, *work.sub(level, sub).failed_iterations]))


def _uncontained_children(work: Work, level: Level, sub: int) -> list[int]:
    found, is_open = [], False
    for scope in level.index.branches.get(sub, ()):
        for child in level.plan.scopes[scope].subs:
            try:
                if work.sub(level, child).state is State.ERROR and not is_contained(work, level, child):
                    found.append(child)
            except Undecided:
                is_open = True
    if is_open and not found:
        raise Undecided
    return found


def is_contained(work: Work, level: Level, sub: int) -> bool:
    """Was the failure of a sub-job captured outside it? Raises Undecided while a handler runs."""
    numbers = [number for number in level.index.sub_edges.get(sub, ())
               if level.plan.control[number].kind is EdgeKind.SUBJOB_ERROR]  # fmt: skip
    is_open = False
    try:
        if _any_recovers(work, level, numbers):
            return True
    except Undecided:
        is_open = True
    row = work.sub(level, sub)
    failed = unhandled(work, level, sub)
    if failed and not row.failed_iterations and not _uncontained_children(work, level, sub):
        try:
            if all(_is_captured(work, level, member) for member in failed):
                return True
        except Undecided:
            is_open = True
    if is_open:
        raise Undecided
    return False


def _is_captured(work: Work, level: Level, member: int) -> bool:
    is_open = False
    own = work.shape(level, member).sub
    for number in level.index.own_edges.get(member, ()):
        edge = level.plan.control[number]
        handler = handler_of(level, number)
        outside = edge.kind is EdgeKind.ERROR and work.shape(level, handler).sub != own
        if outside and work.edge(level, number).state is EdgeState.FIRED:
            state = work.state(level, handler)
            if state is State.OK:
                return True
            is_open |= not state.is_final
    if is_open:
        raise Undecided
    return False


def scope_verdict(work: Work, level: Level, scope: int) -> State | None:
    """Give the verdict of a branch or a joblet call whose sub-jobs are all final; None while a handler is open."""
    shape = level.plan.scopes[scope]
    return _whole(work, level, list(shape.subs), counts_contained=shape.kind is ScopeKind.BRANCH)


def level_verdict(work: Work, level: Level, *, epilogues: bool = False) -> State | None:
    """Give the verdict of a job or an iteration: of its body, or of the handlers of its iteration edges."""
    subs = [number for number in level.plan.scopes[0].subs if level.plan.subs[number].is_epilogue == epilogues]
    return _whole(work, level, subs, counts_contained=False)


def _whole(work: Work, level: Level, subs: list[int], *, counts_contained: bool) -> State | None:
    states = [work.sub(level, sub).state for sub in subs]
    try:
        for sub, state in zip(subs, states, strict=True):
            if state is State.ERROR and (counts_contained or not is_contained(work, level, sub)):
                return State.ERROR
    except Undecided:
        return None
    return State.SKIPPED if states and all(state is State.SKIPPED for state in states) else State.OK
