"""What a process that stays says to whoever started it; it never waits for a reader, and outlives him.

A pipe whose reader has gone raises, one whose reader has stopped is full and blocks. Either would hold up a drain that
somebody asked for, in whichever thread happens to speak: a signal's, a logger's, the server's. So everything that such
a process writes goes through here.
"""

from __future__ import annotations

import io
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

KEPT_BYTES = 65_536
"""How much is kept for a reader that is slow; what is said beyond that is lost."""

_AT_ONCE = min(512, select.PIPE_BUF)
"""A pipe that says that it can be written takes as much without blocking."""


class Voice(io.RawIOBase):
    """Writes to a file descriptor as far as that is possible at once, and keeps a little of the rest for later."""

    def __init__(self, descriptor: int) -> None:
        """The descriptor stays the caller's."""
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._pending = bytearray()
        self._is_heard = True

    def writable(self) -> bool:
        """Answer yes: what nobody hears is written, too."""
        return True

    def fileno(self) -> int:
        """Answer the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Answer whether a person may be looking."""
        return os.isatty(self._descriptor)

    def write(self, said: ReadableBuffer, /) -> int:
        """Take all of it; it is written now, later or never."""
        words = bytes(said)
        with self._lock:
            if self._is_heard and len(self._pending) + len(words) <= KEPT_BYTES:
                self._pending += words
            self._speak()
        return len(words)

    def _speak(self) -> None:
        ready = select.poll()
        ready.register(self._descriptor, select.POLLOUT)
        while self._pending and ready.poll(0):
            try:
                written = os.write(self._descriptor, self._pending[:_AT_ONCE])
            except BlockingIOError:
                return
            except OSError:
                # Nobody listens any more, and nobody will: the words are not worth the process.
                self._is_heard = False
                self._pending.clear()
                return
            del self._pending[:written]


@contextmanager
def unhindered() -> Iterator[None]:
    """Let nobody who reads what this process says, or does not, hinder it while the block runs."""
    with ExitStack() as stack:
        for redirect, stream in ((redirect_stdout, sys.stdout), (redirect_stderr, sys.stderr)):
            try:
                descriptor = stream.fileno()
            except (OSError, ValueError, AttributeError):
                continue  # It writes to memory, or there is none: nothing of it blocks.
            voice = io.TextIOWrapper(
                Voice(descriptor), encoding=stream.encoding, errors="backslashreplace", write_through=True
            )  # type: ignore[type-var]  # raw is enough where everything is written through
            stack.enter_context(redirect(voice))
        yield
