"""`advance`: a worklist until nothing moves. What changed queues what reads it; nothing is scanned again."""

from __future__ import annotations

from pondage.kernel.control import iterate
from pondage.kernel.control.effects import Cancel, Checkpoint, ComponentChanged, Done, JobChanged, SubChanged
from pondage.kernel.control.settle import Outcome, decide, ended, kill_edges, settle
from pondage.kernel.control.shape import EdgeKind, ScopeKind, Virtual
from pondage.kernel.control.starting import begin_sub, is_ready, prepare, start
from pondage.kernel.control.state import JobState, JoinRow, State
from pondage.kernel.control.verdicts import first_error, level_verdict, scope_verdict, verdict
from pondage.kernel.control.views import exported, level_result, stored, sub_result
from pondage.kernel.control.work import Level, Work


def advance(work: Work) -> None:
    """Work everything off: skips, sub-jobs, scopes, joins, iterators until quiet; then starts; and again."""
    moved = True
    while moved:
        while _run_phases(work):
            pass
        moved = not work.run.is_killed and _start_ready(work)
    _finish(work)


def _run_phases(work: Work) -> bool:
    moved = _panic(work)
    for phase, look in (
        ("dead", _look_dead),
        ("sub", _look_sub),
        ("scope", look_scope),
        ("join", look_join),
        ("iterator", _look_iterator),
    ):
        while not work.is_over and (found := work.take(phase)) is not None:
            moved |= look(work, *found)
            _panic(work)
    return moved and not work.is_over


def _panic(work: Work) -> bool:
    if work.is_panicking and not work.is_over:
        work.is_panicking = False
        abort(work, "PANIC")
    return False


def _start_ready(work: Work) -> bool:
    moved = False
    for level, at in work.taken("ready") if not work.is_over else ():
        if is_ready(work, level, at):
            start(work, level, at)
            moved = True
    return moved


# ------------------------------------------------------------------------------------------------------- 1 skips


def _look_dead(work: Work, level: Level, at: int) -> bool:
    row, shape = work.component(level, at), work.shape(level, at)
    if row.state is not State.WAIT or shape.virtual is Virtual.OUT:
        return False
    if not shape.startable and row.undecided == 0 and not row.has_fired:
        skip(work, level, at, _control_cause(work, level, at))
        return True
    lost = next((port.name for port in shape.ports if row.ports[port.name].lost), None)
    if lost is not None:
        skip(work, level, at, f"DATA_STARVED({lost})")
        return True
    return False


def _control_cause(work: Work, level: Level, at: int) -> str:
    causes = {work.edge(level, number).cause: None for number in level.index.inbound.get(at, ())}
    return "+".join(causes)


def skip(work: Work, level: Level, at: int, cause: str) -> None:
    """Declare that a component can never run in this run."""
    row = work.touch(level, at)
    row.state, row.cause = State.SKIPPED, cause
    work.log(
        ComponentChanged(
            reason=cause,
            scope=work.scope_of(level, at),
            instance=level.instance(at),
            state=State.SKIPPED,
            cause=cause,
        )
    )
    kill_edges(work, level, at, cause)
    ended(work, level, at)
    for member in level.index.group_of.get(at, ()):
        # Without it there is no group: whoever waited for the others to be ready is looked at again.
        if work.state(level, member) is State.WAIT:
            work.queue_ready(level, member)


# ---------------------------------------------------------------------------------------------------- 2 sub-jobs


def _look_sub(work: Work, level: Level, number: int) -> bool:
    row = work.sub(level, number)
    if row.state.is_final or (state := verdict(work, level, number)) is None:
        return False
    row, sub = work.touch_sub(level, number), level.plan.subs[number]
    scope, name = level.scope_key(sub.scope), level.sub_name(number)
    row.view = stored(work, sub_result(work, level, number), f"sub:{level.key}/{number}", [])
    row.state = state
    row.error = first_error(work, level, number) if state is State.ERROR else ""
    exported(work, level, number, work.view(row.view).entries, audits=True)
    work.log(SubChanged(reason="final", scope=scope, name=name, state=state))
    if level.is_job:
        members = tuple(level.instance(member) for member in sub.members)
        work.log(
            Checkpoint(
                reason="final", kind="subjob", name=name, status=state, scope=scope, members=members, view=row.view
            )
        )
    sub_ended(work, level, number)
    config = work.index.plan.config
    has_handler = any(level.plan.control[edge].kind is EdgeKind.SUBJOB_ERROR
                      for edge in level.index.sub_edges.get(number, ()))  # fmt: skip
    if state is State.ERROR and config.on_subjob_error == "abort" and not has_handler:
        abort(work, "ABORTED_BY_POLICY")
    return True


def sub_ended(work: Work, level: Level, number: int) -> None:
    """Decide the edges of a final sub-job and tell its scope, the sub-job around it, and its level."""
    sub, row = level.plan.subs[number], work.sub(level, number)
    for edge in level.index.sub_edges.get(number, ()):
        _decide_subjob(work, level, edge, row.state, level.sub_name(number), row.error)
    if sub.scope > 0:
        scope = work.scope(level, sub.scope)
        scope.open -= 1
        if scope.open == 0:
            work.queue("scope", level, sub.scope)
        if level.plan.scopes[sub.scope].kind is ScopeKind.BRANCH:
            parent = work.touch_sub(level, sub.parent)
            parent.open -= 1
            if parent.open == 0:
                work.queue("sub", level, sub.parent)
        _wake_scope(work, level, number)
    level.row.open -= 1
    if not sub.is_epilogue:
        level.row.open_main -= 1
    work.keep("level", level.key, level.row)
    if not level.is_job:
        around, iterator = work.parent(level)
        work.wake(instance=around.instance(iterator), key=level.key)
        work.queue("iterator", around, iterator)


def _wake_scope(work: Work, level: Level, number: int) -> None:
    # A scope's verdict may have waited for a handler that stands in another sub-job.
    scope = level.plan.subs[number].scope
    while scope > 0:
        row = work.scope(level, scope)
        if row.open == 0 and not row.state.is_final:
            work.queue("scope", level, scope)
        scope = level.plan.scopes[scope].parent


def _decide_subjob(work: Work, level: Level, number: int, state: State, name: str, error: str = "") -> None:
    kind = level.plan.control[number].kind
    fires = (kind is EdgeKind.SUBJOB_OK and state is State.OK) or (
        kind is EdgeKind.SUBJOB_ERROR and state is State.ERROR
    )
    reason = f"sub-job {name} {state.value}" + (f": {error}" if error else "")
    decide(work, level, number, fires, f"SUBJOB_{state.value}({name})", reason)


# ------------------------------------------------------------------------------------------------------ 3 scopes


def look_scope(work: Work, level: Level, number: int, *, is_restoring: bool = False) -> bool:
    """Record the verdict of a scope whose sub-jobs are all final; joins and the end of a call follow."""
    row = work.scope(level, number)
    if row.state.is_final or row.open > 0 or (state := scope_verdict(work, level, number)) is None:
        return False
    row.state = state
    shape = level.plan.scopes[number]
    if shape.kind is ScopeKind.JOBLET:
        _end_call(work, level, number, state, is_restoring=is_restoring)
    for join in level.index.joins_of.get(number, ()):
        key = f"{level.key}/{join}"
        gate = work.find("join", key, JoinRow) or JoinRow(open=len(level.plan.joins[join].branches))
        gate.open -= 1
        work.keep("join", key, gate)
        if gate.open == 0:
            work.queue("join", level, join)
    return True


def _end_call(work: Work, level: Level, number: int, state: State, *, is_restoring: bool) -> None:
    shape = level.plan.scopes[number]
    name, scope = shape.name + level.suffix, level.scope_key(number)
    members = tuple(level.instance(member) for sub in shape.subs for member in level.plan.subs[sub].members)
    work.log(SubChanged(reason="final", scope=scope, name=name, state=state))
    work.log(Checkpoint(reason="final", kind="joblet", name=name, status=state, scope=scope, members=members))
    error = next((found for sub in shape.subs if (found := work.sub(level, sub).error)), "")
    for edge in level.index.whole_edges.get(shape.owner, ()):
        _decide_subjob(work, level, edge, state, name, error)
    if is_restoring:
        # Only what is put in place is silent: an end of a call that was not kept happens in this run, after it.
        work.unsettled_calls.append((shape.owner, state))
    else:
        settle_call(work, level, shape.owner, state)


def settle_call(work: Work, level: Level, at: int, state: State) -> None:
    """Settle the proxy behind a joblet call by the verdict of the call."""
    shape = work.shape(level, at)
    if work.state(level, at).is_final:
        return
    if state is State.SKIPPED:
        skip(work, level, at, f"UPSTREAM_SKIPPED({shape.caller}{level.suffix})")
        return
    prepare(work, level, at)
    begin_sub(work, level, shape.sub)
    row = work.touch(level, at)
    row.absent = tuple(port for port in shape.outputs if not getattr(row.ports.get(port), "arrived", 0))
    raises = f"joblet {shape.caller}{level.suffix} failed" if state is State.ERROR else None
    settle(work, level, at, Outcome(raises=raises, code="" if raises is None else "JOBLET_FAILED"), "joblet")


# ------------------------------------------------------------------------------------------------------- 4 joins


def look_join(work: Work, level: Level, number: int) -> bool:
    """Decide the gate before a join whose branches are all final (R-072)."""
    join = level.plan.joins[number]
    states = {scope: work.scope(level, scope).state for scope in join.branches}
    failed = [level.plan.scopes[scope].name + level.suffix
              for scope, state in states.items() if state is State.ERROR]  # fmt: skip
    fires, cause = not failed, f"BRANCH_ERROR({','.join(failed)})"
    if not failed and State.OK not in states.values():
        fires, cause = False, "ALL_BRANCHES_SKIPPED"
    for edge in join.edges:
        decide(work, level, edge, fires, cause, "all branches final")
    return True


# --------------------------------------------------------------------------------------------------- 5 iterators


def _look_iterator(work: Work, level: Level, at: int) -> bool:
    code = iterate.turn(work, level, at)
    if code:
        abort(work, code)
    return True


# ----------------------------------------------------------------------------------------------------------- end


def _finish(work: Work) -> None:
    job = work.level("")
    if job is None or work.is_over:
        work.drop_queues()
        return
    if job.row.open == 0:
        state = level_verdict(work, job)
        if state is not None:
            end(
                work,
                JobState.ERROR if state is State.ERROR else JobState.OK,
                "STOPPED" if work.run.is_stopped else None,
            )
            return
    if work.run.is_killed and work.run.running == 0:
        end(work, JobState.ABORTED, "KILLED")


def abort(work: Work, code: str) -> None:
    """End the run at once: what runs is cancelled and stays RUNNING, what waits is skipped (2.4)."""
    for level, at in open_components(work, State.WAIT):
        skip(work, level, at, f"ABORTED({code})")
    cancel_running(work, code)
    work.drop_queues()
    end(work, JobState.ERROR, code)


def cancel_running(work: Work, code: str) -> None:
    """Cancel every dispatched instance; its state stays RUNNING."""
    for level, at in open_components(work, State.RUNNING):
        if work.iterator(level, at) is None:
            instance, attempt = level.instance(at), work.component(level, at).attempt
            work.log(Cancel(reason=code, instance=instance, attempt=attempt))


def open_components(work: Work, state: State) -> list[tuple[Level, int]]:
    """Give all components of a state in all levels that are not over, outer levels first."""
    found: list[tuple[Level, int]] = []
    stack = [""]
    while stack:
        level = work.level(stack.pop(0))
        if level is None or level.row.is_over:
            continue
        for at in range(len(level.plan.components)):
            if work.state(level, at) is state:
                found.append((level, at))
            if (row := work.iterator(level, at)) is not None and not row.is_done:
                stack += [f"{level.instance(at)}#{number}" for number in range(1, row.next)]
    return found


def end(work: Work, state: JobState, code: str | None) -> None:
    """Give the run its final state."""
    run = work.touch_run()
    run.state, run.code = state, code
    job = work.level("")
    assert job is not None
    job.row.result = stored(work, level_result(work, job), "result", [])
    work.keep("level", "", job.row)
    work.log(JobChanged(reason=code or "final", scope="", state=state, code=code))
    work.log(Done(reason=code or "final", state=state, code=code, view=job.row.result))
