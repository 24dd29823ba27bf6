"""What a simulation of a job needs of a host. The virtual host and the durable one answer in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pondage.kernel.control import Effect, Event, JobPlan, JobState, State
from pondage.kernel.control.events import Start


class ControlHost(Protocol):
    """Runs of one job whose clock and workers are played by a simulation."""

    def start(self, plan: JobPlan, start: Start, now: int) -> Sequence[Effect]:
        """Begin a run; gives what was decided, in order."""

    def resume(self, plan: JobPlan, start: Start, now: int) -> Sequence[Effect]:
        """Begin a new run that takes over what the last one finished; called only after a run that ended."""

    def settle(self, now: int, events: Sequence[Event]) -> Sequence[Effect]:
        """Set the clock to `now`, take in the events and every timer that is due, and advance once."""

    def next_timer(self) -> int | None:
        """Give the time of the earliest timer, or None."""

    def states(self) -> Mapping[str, State]:
        """Give the state of every component instance of the current run."""

    def globals(self) -> Mapping[str, object]:
        """Give the globals that the current run leaves behind; complete when it is over."""

    def result(self) -> tuple[JobState, str | None]:
        """Give the state and code of the current run."""

    def close(self) -> None:
        """Release whatever the host holds."""
