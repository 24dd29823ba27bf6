"""Playing a job in virtual time: instances take as long, and end, as they are told."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

import msgspec

from pondage.kernel.control import Effect, Event, JobPlan, JobState
from pondage.kernel.control.effects import (
    Cancel,
    Checkpoint,
    ComponentChanged,
    EdgeFired,
    GlobalWritten,
    IterationsHalted,
    IteratorChanged,
    JobChanged,
    Run,
    Signalled,
    SubChanged,
    SubRestored,
)
from pondage.kernel.control.events import Kill, Settled, Start
from pondage.kernel.control.state import State
from pondage.simulate.control_host import ControlHost

MAX_INSTANTS = 1_000_000


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How an instance ends, and after how long."""

    takes: int = 1
    raises: str | None = None
    code: str = ""
    writes: dict[str, object] = {}
    deletes: tuple[str, ...] = ()
    after: dict[str, object] = {}
    items: list[object] | None = None


class Play(msgspec.Struct, frozen=True, kw_only=True):
    """One run: everything that was shown, by instant, and every effect."""

    timeline: list[tuple[int, list[str]]]
    effects: list[tuple[int, Effect]]
    state: JobState
    code: str | None


def play(
    host: ControlHost,
    plan: JobPlan,
    behave: Callable[[str, int], Ending],
    *,
    start: Start,
    kill_at: Sequence[int] = (),
    is_resumed: bool = False,
) -> Play:
    """Play a run from 0 until it is over. `behave(instance, attempt)` says how an attempt ends."""
    stage = _Stage(behave, sorted(kill_at))
    stage.carry_out(0, host.resume(plan, start, 0) if is_resumed else host.start(plan, start, 0))
    for _ in range(MAX_INSTANTS):
        now = stage.next_instant(host.next_timer())
        if now is None or host.result()[0] is not JobState.RUNNING:
            break
        stage.carry_out(now, host.settle(now, stage.due(now)))
    state, code = host.result()
    return Play(timeline=stage.shown, effects=stage.effects, state=state, code=code)


class _Stage:
    """The workers of a play, and everything that was seen."""

    def __init__(self, behave: Callable[[str, int], Ending], kills: list[int]) -> None:
        self.behave = behave
        self.kills = kills
        self.workers: list[tuple[int, int, Settled]] = []
        self.cancelled: set[tuple[str, int]] = set()
        self.shown: list[tuple[int, list[str]]] = []
        self.effects: list[tuple[int, Effect]] = []

    def carry_out(self, now: int, decided: Sequence[Effect]) -> None:
        """Show what was decided, start what must run, forget what is cancelled."""
        texts: list[str] = []
        for effect in decided:
            self.effects.append((now, effect))
            texts += lines(effect)
            if isinstance(effect, Run):
                takes, report = self._played(effect)
                heapq.heappush(self.workers, (now + takes, len(self.effects), report))
            elif isinstance(effect, Cancel):
                self.cancelled.add((effect.instance, effect.attempt))
        if texts:
            self.shown.append((now, texts))

    def _played(self, effect: Run) -> tuple[int, Settled]:
        """Give how long an execution takes and how it ends; the members of a group are built one after the other."""
        takes = 0
        for member in effect.members:
            ending = self.behave(member.instance, effect.attempt)
            takes += ending.takes
            if ending.raises is not None:
                return takes, msgspec.structs.replace(_report(effect, ending), member=member.instance, items=None)
        ending = self.behave(effect.instance, effect.attempt)
        return takes + ending.takes, _report(effect, ending)

    def next_instant(self, timer: int | None) -> int | None:
        """Give when something happens next, or None."""
        times = [self.workers[0][0]] if self.workers else []
        times += self.kills[:1]
        return min([*times, timer] if timer is not None else times, default=None)

    def due(self, now: int) -> list[Event]:
        """Give what happens at this instant."""
        events: list[Event] = []
        while self.kills and self.kills[0] <= now:
            self.kills.pop(0)
            events.append(Kill())
        while self.workers and self.workers[0][0] <= now:
            event = heapq.heappop(self.workers)[2]
            if (event.instance, event.attempt) not in self.cancelled:
                events.append(event)
        return events


def _report(effect: Run, ending: Ending) -> Settled:
    return Settled(
        instance=effect.instance,
        attempt=effect.attempt,
        raises=ending.raises,
        code=ending.code,
        writes=ending.writes,
        deletes=ending.deletes,
        after=ending.after,
        items=ending.items,
    )


def lines(effect: Effect) -> Iterator[str]:
    """Give the lines of a timeline that an effect is shown as; most effects are shown as one or none."""
    match effect:
        case ComponentChanged():
            yield f"{effect.instance} {effect.state.value}{_cause(effect.cause, effect.state)}"
        case EdgeFired():
            yield f"«{effect.source} -{effect.label}-> {effect.target}»"
        case GlobalWritten():
            yield _written(effect)
        case SubChanged():
            yield f"sub-job {effect.name} {effect.state.value}{f' [{effect.cause}]' if effect.cause else ''}"
        case Checkpoint():
            yield f"ckpt {effect.name}={effect.status.value}"
        case SubRestored():
            prefix = f" (prefix: {', '.join(effect.prefix)})" if effect.prefix else ""
            yield f"restored {effect.name}{prefix}"
        case IterationsHalted():
            for number in range(effect.first, effect.last + 1):
                yield f"sub-job {effect.iterator}[#{number}]{effect.suffix} SKIPPED [ITERATION_HALTED]"
        case IteratorChanged():
            yield _iterator(effect)
        case Signalled():
            yield "signal SIGTERM"
        case JobChanged():
            yield _job(effect)
        case _:
            return


def _cause(cause: str, state: State) -> str:
    return f" [{cause}]" if state in (State.ERROR, State.SKIPPED) else ""


def _written(effect: GlobalWritten) -> str:
    value = "deleted" if effect.is_deleted else repr(effect.value)
    old = f" old={effect.old[0]!r}" if effect.old else ""
    return f"{effect.key}={value} @({effect.clock[0]},{effect.clock[1]}){old}"


def _iterator(effect: IteratorChanged) -> str:
    text = f"iterator {effect.instance} {effect.phase}"
    if effect.phase != "DISPATCHING":
        return text
    restored = "(restored)" if effect.is_restored else ""
    return f"{text}{restored} {'while' if effect.total < 0 else f'n={effect.total}'}"


def _job(effect: JobChanged) -> str:
    if effect.state is JobState.ABORTED and effect.code == "KILLED":
        return "job ABORTED graceful checkpoint"
    return f"job {effect.state.value}{f' {effect.code}' if effect.code else ''}"
