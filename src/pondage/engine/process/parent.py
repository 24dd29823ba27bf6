"""Noticing that the process which started us has died, so that nobody works for nobody."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


class ParentWatch:
    """Calls `on_death` once when the parent is gone. Three detectors, because each of them has a gap:

    the standard input is a pipe that only the parent holds open (any system); the kernel sends SIGTERM on Linux, which
    reaches a process that does not read; and `is_gone` compares the parent's pid, for a death before we looked.
    """

    def __init__(self, parent: int, on_death: Callable[[], None]) -> None:
        self._parent = parent
        self._on_death = on_death

    def start(self, pipe: int) -> None:
        """Begin to watch; `pipe` is the file descriptor whose end of file means that the parent has died."""
        ask_for_signal()
        threading.Thread(target=self._read_to_end, args=(pipe,), name="parent", daemon=True).start()

    def is_gone(self) -> bool:
        """Answer whether we have another parent than the one that started us."""
        return os.getppid() != self._parent

    def _read_to_end(self, pipe: int) -> None:
        while os.read(pipe, 1024):
            pass
        self._on_death()


def ask_for_signal() -> None:
    """Ask Linux to send SIGTERM to this process when its parent ends; elsewhere nothing happens.

    Linux means the thread that started us: supervisors and commands start their children in their main thread.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
