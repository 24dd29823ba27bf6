"""Playing a job in virtual time: instances take as long, and end, as they are told."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import msgspec

from pondage.kernel.control import Effect, Event, JobPlan, JobState
from pondage.kernel.control.effects import Cancel, Run
from pondage.kernel.control.events import Kill, Settled, Start
from pondage.simulate.control_host import ControlHost
from pondage.simulate.control_timeline import lines

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
    workers: list[tuple[int, int, Settled]] = []
    cancelled: set[tuple[str, int]] = set()
    shown: list[tuple[int, list[str]]] = []
    effects: list[tuple[int, Effect]] = []
    kills = sorted(kill_at)

    def carry_out(now: int, decided: Sequence[Effect]) -> None:
        texts: list[str] = []
        for effect in decided:
            effects.append((now, effect))
            texts += lines(effect)
            if isinstance(effect, Run):
                ending = behave(effect.instance, effect.attempt)
                heapq.heappush(workers, (now + ending.takes, len(effects), _report(effect, ending)))
            elif isinstance(effect, Cancel):
                cancelled.add((effect.instance, effect.attempt))
        if texts:
            shown.append((now, texts))

    carry_out(0, host.resume(plan, start, 0) if is_resumed else host.start(plan, start, 0))
    for _ in range(MAX_INSTANTS):
        if host.result()[0] is not JobState.RUNNING:
            break
        times = [workers[0][0]] if workers else []
        times += kills[:1]
        if (timer := host.next_timer()) is not None:
            times.append(timer)
        if not times:
            break
        now = min(times)
        events: list[Event] = []
        while kills and kills[0] <= now:
            kills.pop(0)
            events.append(Kill())
        while workers and workers[0][0] <= now:
            event = heapq.heappop(workers)[2]
            if (event.instance, event.attempt) not in cancelled:
                events.append(event)
        carry_out(now, host.settle(now, events))
    state, code = host.result()
    return Play(timeline=shown, effects=effects, state=state, code=code)


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
