"""The pump of a reactor: events go to the machine one at a time, its effects to the output. No clock, no loop, no I/O.

Real hosts and the one of conformance scenarios differ in what performs effects and in what time it is, not in this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import TYPE_CHECKING

from pondage.kernel.reaction import Effect, Event, State, step, step_many
from pondage.kernel.reaction.events import Push

if TYPE_CHECKING:
    from pondage.engine.live.output import Output

Clock = Callable[[], int]
Perform = Callable[[Effect], None]
Schedule = Callable[[Callable[[], None]], object]
NEAR_NS = 8_000
"""Nothing that comes so soon can have come by another turn of the loop: more of it is probably there."""
MOST_AT_ONCE = 256
"""So many pushes are evaluated together, at most."""


class Pump:
    """Feeds the machine. What arrives while an event is worked on, or effects are performed, waits for its turn."""

    def __init__(
        self, state: State, output: Output, clock: Clock, perform: Perform, schedule: Schedule | None = None
    ) -> None:
        self.state = state
        self.perform = perform
        self.on_settled: Callable[[], None] | None = None
        self.on_crash: Callable[[Exception], None] | None = None
        self._clock = clock
        self._inbox: deque[Event | list[object]] = deque()
        self._reports: deque[Event] = deque()
        self._is_busy = False
        self._is_resting = False
        self._ended_ns = 0
        self._schedule = schedule
        self._take = output.take
        output.attach(self)

    def feed(self, event: Event | list[object]) -> None:
        """Take in an event, behind everything that was offered."""
        self._inbox.append(event)
        if not self._is_busy:
            self._run()

    def report(self, event: Event) -> None:
        """Take in how a graph ended, before pushes that wait: so what was taken in is fired before more is taken in."""
        self._reports.append(event)
        if not self._is_busy:
            self._run()

    def offer(self, event: Event | list[object]) -> None:
        """Take in an event at once; those that come close behind it, before the loop goes on, together (H6)."""
        self._inbox.append(event)
        if self._is_busy or self._is_resting:
            return
        if self._schedule is not None and perf_counter_ns() - self._ended_ns < NEAR_NS:
            self._is_resting = True
            self._schedule(self._wake)
            return
        self._run()
        self._ended_ns = perf_counter_ns()

    def flush(self) -> None:
        """Take in what was offered and still waits for the loop."""
        if self._inbox and not self._is_busy:
            self._run()

    def _wake(self) -> None:
        self._is_resting = False
        self.flush()
        self._ended_ns = perf_counter_ns()

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Perform effects that were held, in order, and only then take in what they caused."""
        was_busy, self._is_busy = self._is_busy, True
        try:
            for effect in effects:
                self.perform(effect)
        except Exception as error:  # noqa: BLE001 - of this reactor's own code: this life ends
            self.crash(error)
            return
        finally:
            self._is_busy = was_busy
        if not was_busy:
            self._run()

    def crash(self, error: Exception) -> None:
        """End this life: whoever owns it is told, and without an owner the error is raised."""
        if self.on_crash is None:
            raise error
        self._inbox.clear()
        self._reports.clear()
        self.on_crash(error)

    def _pushes(self, first: Push) -> list[Push]:
        inbox, found = self._inbox, [first]
        while inbox and len(found) < MOST_AT_ONCE and type(event := inbox[0]) is Push:
            found.append(event)
            inbox.popleft()
        return found

    def _run(self) -> None:
        self._is_busy = True
        inbox, reports, state, clock, take = self._inbox, self._reports, self.state, self._clock, self._take
        try:
            while inbox or reports:
                if reports and (not inbox or type(inbox[0]) is Push):
                    take(step(state, reports.popleft(), clock()))
                    continue
                event = inbox.popleft()
                if inbox and type(event) is Push and type(inbox[0]) is Push:
                    take(step_many(state, self._pushes(event), clock()))
                else:
                    take(step(state, event, clock()))
        except Exception as error:  # noqa: BLE001 - of this reactor's own code: this life ends
            self.crash(error)
        finally:
            self._is_busy = False
        if self.on_settled is not None:
            self.on_settled()
