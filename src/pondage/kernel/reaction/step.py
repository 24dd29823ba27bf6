"""`step`: one event, what follows from it, and what a host must do. Total, deterministic, and time never runs back."""

from collections.abc import Callable, Iterable
from typing import Any

from pondage.kernel.reaction.commands import on_bind, on_command, on_unbind
from pondage.kernel.reaction.demand import on_blocked, on_target, on_unblocked, on_want
from pondage.kernel.reaction.effects import Effect, RefusedEvent
from pondage.kernel.reaction.events import (
    Accumulator,
    Ask,
    Begin,
    Bind,
    Blocked,
    Done,
    Event,
    Flush,
    Journal,
    Polled,
    PondRun,
    Push,
    ReactorCrashed,
    Shutdown,
    Skip,
    TargetEvent,
    Tick,
    Unbind,
    Unblocked,
    UndecodableEvent,
    WantEvent,
    is_well_formed,
)
from pondage.kernel.reaction.firing import on_done
from pondage.kernel.reaction.ingest import on_flush, on_polled, on_pond, on_push, on_skip, on_undecodable
from pondage.kernel.reaction.living import begin, on_accumulator, on_reactor_crashed, shut_down, tick
from pondage.kernel.reaction.onward import begin_next, go_on
from pondage.kernel.reaction.settling import settle
from pondage.kernel.reaction.shape import Kind
from pondage.kernel.reaction.state import State


def step(state: State, event: Event | object, now: int) -> list[Effect]:
    """Take in one event at `now` (an earlier time counts as the last one). What is no event is refused."""
    if type(now) is int and now > state.now:
        state.now = now
    state.out = []
    state.started_fire = None
    kind = type(event)
    if kind is Done and state.shape.is_plain and _is_sound_report(event) and go_on(state, event):  # type: ignore[arg-type]
        return state.out
    _take(state, event)
    if kind is Push and state.shape.is_plain and begin_next(state):
        return state.out
    settle(state)
    return state.out


def step_many(state: State, events: Iterable[Event | object], now: int) -> list[Effect]:
    """Take in several events that arrived at the same time, and evaluate once."""
    if type(now) is int and now > state.now:
        state.now = now
    state.out = []
    state.started_fire = None
    for event in events:
        _take(state, event)
    settle(state)
    return state.out


def _take(state: State, event: object) -> None:
    kind = type(event)
    if kind is Push:
        if _is_sound_push(event):
            on_push(state, event)  # type: ignore[arg-type]
            return
    elif kind is Done:
        if _is_sound_report(event):
            on_done(state, event)  # type: ignore[arg-type]
            return
    else:
        handler = _HANDLERS.get(kind)
        if handler is not None and is_well_formed(event):  # type: ignore[arg-type]
            handler(state, event)
            return
    state.out.append(RefusedEvent(f"no such event: {str(event)[:200]}"))


def _is_sound_push(event: Any) -> bool:
    # The two events of the hot path are looked at by hand: a general check would cost as much as the step.
    offset, f, cid = event.offset, event.f, event.cid
    return (
        type(event.source) is str
        and (offset is None or type(offset) is int)
        and (f is None or type(f) is int)
        and type(event.d) is int
        and (cid is None or type(cid) is str)
        and (event.lane is None or type(event.lane) is str)
    )


def _is_sound_report(event: Any) -> bool:
    error = event.error
    return (
        type(event.graph) is str
        and type(event.fire) is int
        and type(event.attempt) is int
        and (error is None or type(error) is str)
    )


def _on_blocked(state: State, event: Blocked | Unblocked) -> None:
    source = state.sources.get(event.source)
    if source is not None and source.shape.kind is Kind.POND:
        (on_blocked if type(event) is Blocked else on_unblocked)(state, source)


def _on_journal(state: State, event: Journal) -> None:
    state.is_journal_ok = event.ok
    state.is_health_due = True


_HANDLERS: dict[type, Callable[[State, Any], None]] = {
    Skip: on_skip,
    UndecodableEvent: on_undecodable,
    Flush: on_flush,
    Polled: on_polled,
    Accumulator: on_accumulator,
    Begin: lambda state, _: begin(state),
    ReactorCrashed: lambda state, _: on_reactor_crashed(state),
    Journal: _on_journal,
    Tick: lambda state, _: tick(state),
    Shutdown: lambda state, event: shut_down(state, event.drain),
    Bind: on_bind,
    Unbind: on_unbind,
    Ask: on_command,
    WantEvent: lambda state, event: on_want(state, event.f),
    TargetEvent: lambda state, event: on_target(state, event.f),
    PondRun: on_pond,
    Blocked: _on_blocked,
    Unblocked: _on_blocked,
}
