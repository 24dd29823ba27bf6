"""The log of one attempt: what its author printed and logged, and what Pondage did, one line each, in one file."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from pondage.connect.veil import veiled
from pondage.private import make_private, make_private_file

LONGEST_LINE = 10_000
LARGEST_FILE = 64 * 1024 * 1024


class AttemptLog:
    """A file of lines like `2026-11-15T17:40:01.123Z INFO message`. Made with its first line; safe between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        self._size = 0

    def write(self, level: str, message: str) -> None:
        """Append a message; each of its lines becomes one of the file. What is too much is cut off."""
        moment = _moment()
        for line in veiled(message).splitlines() or [""]:
            self._append(f"{moment} {level} {line[:LONGEST_LINE]}\n")

    def add(self, level: str, message: str) -> None:
        """Append a message to a log that has begun. What the ledger knows anyway is not worth a file of its own."""
        if self._size:
            self.write(level, message)

    def close(self) -> None:
        """Close the file; a later line opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _append(self, line: str) -> None:
        with self._lock:
            if self._size >= LARGEST_FILE:
                return
            if self._size + len(line) >= LARGEST_FILE:
                line = f"{_moment()} WARNING the log is full; the rest is left out\n"
                self._size = LARGEST_FILE
            try:
                if self._file is None:
                    make_private(self.path.parent)
                    make_private_file(self.path)
                    self._file = self.path.open("a", encoding="utf-8", errors="backslashreplace")
                self._size += len(line)
                self._file.write(line)
                self._file.flush()
            except OSError as error:
                # A full disk must not fail the work itself: what is missing is said where it can be.
                if sys.__stderr__ is not None:
                    sys.__stderr__.write(f"attempt log {self.path}: {error}\n")


def _moment() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Bound(threading.local):
    """Which attempt the calling thread works for."""

    log: AttemptLog | None = None


_bound = Bound()


@contextmanager
def bound(log: AttemptLog) -> Iterator[None]:
    """Send what the calling thread prints and logs to this attempt, until the block ends."""
    before, _bound.log = _bound.log, log
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, RoutedStream):
                stream.finish_line()
        _bound.log = before


class AttemptHandler(logging.Handler):
    """Writes log records to the attempt of the thread that logs; of other threads to the process's own output."""

    def __init__(self, otherwise: TextIO) -> None:
        super().__init__()
        self._otherwise = otherwise
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            message = self.format(record)
            if _bound.log is not None:
                _bound.log.write(record.levelname, message)
            else:
                self._otherwise.write(f"{_moment()} {record.levelname} {veiled(message)}\n")
                self._otherwise.flush()
        except Exception:  # noqa: BLE001 - the way in which logging reports its own errors
            self.handleError(record)


class RoutedStream(io.TextIOBase):
    """Stands for `sys.stdout` or `sys.stderr`: lines of a bound thread go to its attempt, all others to `otherwise`."""

    def __init__(self, otherwise: TextIO, level: str) -> None:
        self._otherwise = otherwise
        self._level = level
        self._partial = threading.local()

    def write(self, text: str) -> int:
        """Take some text; a line is written when it is complete."""
        log = _bound.log
        if log is None:
            self._otherwise.write(veiled(text))
            return len(text)
        *lines, rest = (getattr(self._partial, "text", "") + text).split("\n")
        for line in lines:
            log.write(self._level, line)
        self._partial.text = rest
        return len(text)

    def finish_line(self) -> None:
        """Write what was printed without an end of line."""
        rest = getattr(self._partial, "text", "")
        if rest and _bound.log is not None:
            _bound.log.write(self._level, rest)
        self._partial.text = ""

    def flush(self) -> None:
        """Flush what is not bound; attempts' lines are flushed one by one."""
        self._otherwise.flush()

    def writable(self) -> bool:
        """Answer that it can be written to."""
        return True

    def fileno(self) -> int:
        """Answer the descriptor of the process's own output, for libraries that insist."""
        return self._otherwise.fileno()


def route_output() -> None:
    """Send what this process prints and logs where it belongs. Called once, by a worker that starts."""
    out, err = sys.stdout, sys.stderr
    root = logging.getLogger()
    root.handlers[:] = [AttemptHandler(err)]
    root.setLevel(logging.INFO)
    # One line for each command that is sent to the JVM helps nobody.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    sys.stdout, sys.stderr = RoutedStream(out, "INFO"), RoutedStream(err, "WARNING")
    logging.captureWarnings(True)
