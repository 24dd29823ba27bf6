"""The beginning of a resumed run: what the run before had finished is put in place, without happening again."""

from __future__ import annotations

import msgspec

from pondage.kernel.control import advance, iterate
from pondage.kernel.control.effects import ComponentChanged, SubRestored
from pondage.kernel.control.events import Restore
from pondage.kernel.control.settle import decide, ended
from pondage.kernel.control.starting import begin_sub, prepare
from pondage.kernel.control.state import ComponentRow, EdgeState, State
from pondage.kernel.control.views import stored, sub_result
from pondage.kernel.control.work import Level, Work

_COPIED = ("state", "cause", "code", "attempt", "counter", "entry_counter", "view_in", "view_out", "absent")


def edge_name(level: Level, number: int) -> str:
    """Give the name by which an edge is found again in another plan."""
    edge = level.plan.control[number]
    source = level.instance(edge.source) if edge.source >= 0 else ""
    return f"{source} -{edge.label}-> {level.instance(edge.target)}"


def restore(work: Work, job: Level, event: Restore) -> None:
    """Put everything in place; whatever does not fit the plan is left out."""
    for table, rows in (("view", event.views), ("version", event.versions)):
        for key, row in rows.items():
            work.keep(table, key, row)
    work.is_silent = True
    for at in range(len(job.plan.components)):
        if (kept := event.components.get(job.instance(at))) is not None and kept.state.is_final:
            _restore_component(work, job, at, kept, event)
    restored = _restore_subs(work, job, event)
    _settle_scopes(work)
    work.is_silent = False
    for number, sub in enumerate(job.plan.subs):
        prefix = event.prefixes.get(sub.name, ())
        if number in restored or prefix:
            scope = job.scope_key(sub.scope)
            work.log(SubRestored(reason="resumed", scope=scope, name=sub.name, prefix=tuple(prefix)))
    for owner, state in work.unsettled_calls:
        advance.settle_call(work, job, owner, state)
    for at, shape in enumerate(job.plan.components):
        if shape.iterator is not None and job.instance(at) in event.iterators and work.state(job, at) is State.WAIT:
            _restore_iterator(work, job, at, event)


def _restore_component(work: Work, level: Level, at: int, kept: ComponentRow, event: Restore) -> None:
    row = work.touch(level, at)
    for name in _COPIED:
        setattr(row, name, getattr(kept, name))
    row.is_restored = True
    for number in level.index.own_edges.get(at, ()):
        known = event.edges.get(edge_name(level, number))
        if known is not None:
            decide(work, level, number, known.state is EdgeState.FIRED, known.cause, "restored")
    ended(work, level, at)


def _restore_subs(work: Work, job: Level, event: Restore) -> set[int]:
    found = set()
    for number, sub in enumerate(job.plan.subs):
        if sub.name in event.subs and all(work.state(job, member).is_final for member in sub.members):
            found.add(number)
            row = work.touch_sub(job, number)
            row.view = stored(work, sub_result(work, job, number), f"sub:{job.key}/{number}", [])
            row.state, row.is_restored = State.OK, True
        elif event.prefixes.get(sub.name):
            row = work.touch_sub(job, number)
            row.state, row.has_prefix = State.RUNNING, True
    for number in sorted(found):
        advance.sub_ended(work, job, number)
    return found


def _settle_scopes(work: Work) -> None:
    """Branches and calls that were finished keep their verdict; a call's end that was not kept settles anew."""
    while (found := work.take("scope")) is not None:
        advance.look_scope(work, *found, is_restoring=True)
    while (found := work.take("join")) is not None:
        advance.look_join(work, *found)


def _restore_iterator(work: Work, job: Level, at: int, event: Restore) -> None:
    instance, shape = job.instance(at), iterate.shape_of(work, job, at)
    row = msgspec.structs.replace(
        event.iterators[instance], next=1, running=0, succeeded=0, failed=(), has_ended=False, error="", code="",
        evaluations=0, is_done=False,
    )  # fmt: skip
    component = work.touch(job, at)
    prepare(work, job, at)
    component.state, component.attempt, component.is_restored = State.RUNNING, 1, True
    begin_sub(work, job, job.plan.components[at].sub)
    work.log(ComponentChanged(reason="resumed", scope=work.scope_of(job, at), instance=instance, state=State.RUNNING))
    elements = event.elements.get(instance)
    items = elements.items if elements else []
    iterate.begin(work, job, at, row, items, is_restored=True)
    one_by_one = shape.mode == "while" or (shape.globals == "override" and shape.parallel == 1)
    number = 0
    total = row.total if row.total >= 0 else len(event.iterations)
    for number in range(1, total + 1):
        key = f"{instance}#{number}"
        if key not in event.iterations:
            if one_by_one:
                break
            continue
        level = work.open_level(key, msgspec.structs.replace(event.iterations[key], is_over=True))
        for inner in range(len(level.plan.components)):
            name = level.instance(inner)
            if name in event.components:
                work.keep("component", name, event.components[name])
        row.succeeded += 1
        iterate.hand_on(work, job, at, row, level)
        work.log(SubRestored(reason="resumed", scope=level.scope_key(0), name=level.name))
