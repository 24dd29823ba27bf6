"""The pump of a reactor: events go to the machine one at a time, its effects to the output. No clock, no loop, no I/O.

Real hosts and the one of conformance scenarios differ in what performs effects and in what time it is, not in this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pondage.kernel.reaction import Effect, Event, State, step

if TYPE_CHECKING:
    from pondage.engine.live.output import Output

Clock = Callable[[], int]
Perform = Callable[[Effect], None]


class Pump:
    """Feeds the machine. What arrives while an event is worked on, or effects are performed, waits for its turn."""

    def __init__(self, state: State, output: Output, clock: Clock, perform: Perform) -> None:
        self.state = state
        self.perform = perform
        self.on_settled: Callable[[], None] | None = None
        self.on_crash: Callable[[Exception], None] | None = None
        self._clock = clock
        self._inbox: deque[Event | list[object]] = deque()
        self._is_busy = False
        self._take = output.take
        output.attach(self)

    def feed(self, event: Event | list[object]) -> None:
        """Take in an event."""
        self._inbox.append(event)
        if not self._is_busy:
            self._run()

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Perform effects that were held, in order, and only then take in what they caused."""
        was_busy, self._is_busy = self._is_busy, True
        try:
            for effect in effects:
                self.perform(effect)
        finally:
            self._is_busy = was_busy
        if not was_busy:
            self._run()

    def _run(self) -> None:
        self._is_busy = True
        inbox, state, clock, take = self._inbox, self.state, self._clock, self._take
        try:
            while inbox:
                take(step(state, inbox.popleft(), clock()))
        except Exception as error:
            if self.on_crash is None:
                raise
            inbox.clear()
            self.on_crash(error)
        finally:
            self._is_busy = False
        if self.on_settled is not None:
            self.on_settled()
