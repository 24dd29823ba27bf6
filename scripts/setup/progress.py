"""Tell the person who waits where the set-up is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO


def spoken_time(seconds: float) -> str:
    """Answer a duration as people say it: `0.4 s`, `12 s`, `3 min 05 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


class Progress:
    """Prints numbered phases, and a moving line under a phase that takes long.

    On a terminal the moving line is rewritten in place each second; elsewhere, as in a CI log, a new line
    is printed every fifteen seconds.
    """

    def __init__(self, titles: list[str], stream: TextIO | None = None) -> None:
        self.titles = titles
        self.stream = stream or sys.stdout
        self.is_terminal = self.stream.isatty()
        self.number = 0
        self.began = self.phase_began = self.last_moved = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line above the moving one."""
        self._erase()
        self.stream.write(f"{text}\n")
        self.stream.flush()

    def begin(self, detail: str) -> None:
        """Start the next phase."""
        self.number += 1
        self.phase_began = self.last_moved = time.monotonic()
        self.say(f"[{self.number}/{len(self.titles)}] {self.titles[self.number - 1]}: {detail} …")

    def move(self, describe: Callable[[], str]) -> None:
        """Show that the phase goes on, and how far it is; `describe` is asked only when it is time to print."""
        now = time.monotonic()
        if now - self.last_moved < (1 if self.is_terminal else 15):
            return
        self.last_moved = now
        line = f"      {describe()} · {spoken_time(now - self.phase_began)}"
        if self.is_terminal:
            self._erase()
            self.stream.write(line[:110])
        else:
            self.stream.write(f"{line}\n")
        self.stream.flush()

    def end(self, result: str = "done") -> None:
        """Close the phase with the time it took and what is still to come."""
        to_come = self.titles[self.number :]
        rest = f"; still to come: {', '.join(to_come)}" if to_come else ""
        self.say(f"      {result} in {spoken_time(time.monotonic() - self.phase_began)}{rest}")

    def finish(self) -> None:
        """Close the whole set-up."""
        self.say(f"Set up in {spoken_time(time.monotonic() - self.began)}. The next call finds it ready.")

    def _erase(self) -> None:
        if self.is_terminal:
            self.stream.write("\r\x1b[K")
