"""Questions answered in processes apart: a bounded number at once, and none of them can take the server down."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

import msgspec
import pyarrow as pa

from pondage.embedded import frames
from pondage.embedded.question import Question, QuestionRefused
from pondage.errors import PondageError

LOOK_EVERY_S = 0.1
GRACE_S = 5.0
"""So much longer than its own limit a process may take to end a question, before it is ended itself."""
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH")
"""Variables that it gets; there is nothing in them that nobody may know."""


class ApartAnswer:
    """The rows of a question, as they come from the process that answers it, and the tables that it reads."""

    def __init__(self, child: _Child, question: Question) -> None:
        self.is_cut = False
        self.tables: frozenset[str] = frozenset()
        self.parameters = 0
        self._child = child
        self._reader = pa.ipc.open_stream(pa.PythonFile(_Source(child, self), mode="r"))
        self.schema: pa.Schema = self._reader.schema
        self._question = question

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._reader
        self._child.drain(self)


class _Source:
    """The frames of an answer as one stream of bytes."""

    closed = False

    def __init__(self, child: _Child, answer: ApartAnswer) -> None:
        self._child = child
        self._answer = answer
        self._left = b""

    def read(self, size: int = -1) -> bytes:
        """Answer the next bytes, nothing at the end; raises what the question ended with."""
        found = bytearray()
        while size < 0 or len(found) < size:
            if not self._left:
                self._left = self._child.rows(self._answer)
                if not self._left:
                    break
            taken = len(self._left) if size < 0 else size - len(found)
            found += self._left[:taken]
            self._left = self._left[taken:]
        return bytes(found)


class _Child:
    """One process, and how far its answer is."""

    def __init__(self) -> None:
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pondage.embedded.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self._out_of_time = False
        self._is_cancelled = False
        self._limit_s = 0.0
        self.is_over = True
        frames.receive(self._output)  # it says that it is there

    @property
    def _input(self) -> BinaryIO:
        return cast(BinaryIO, self._process.stdin)

    @property
    def _output(self) -> BinaryIO:
        return cast(BinaryIO, self._process.stdout)

    @property
    def pid(self) -> int:
        """Answer the number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Answer whether it may be asked something."""
        return self._process.poll() is None

    def ask(self, question: Question) -> None:
        """Hand over a question."""
        self.is_over, self._out_of_time, self._limit_s = False, False, question.limits.seconds
        frames.send(self._input, frames.ASKED, msgspec.json.encode(question))

    def rows(self, answer: ApartAnswer) -> bytes:
        """Answer the next piece of the rows, nothing at the end; raises what the question ended with."""
        if self.is_over:
            return b""
        try:
            kind, body = frames.receive(self._output)
        except (frames.Gone, OSError):
            self.is_over = True
            raise self._lost() from None
        if kind == frames.TABLES:
            begun = msgspec.json.decode(body, type=frames.Begun)
            answer.tables, answer.parameters = frozenset(begun.tables), begun.parameters
            return self.rows(answer)
        if kind == frames.ROWS:
            return body
        self.is_over = True
        if kind == frames.ERROR:
            said = msgspec.json.decode(body, type=frames.Said)
            raise QuestionRefused(said.message, hint=said.hint, code=said.code)
        answer.is_cut = msgspec.json.decode(body, type=frames.Ended).is_cut
        return b""

    def drain(self, answer: ApartAnswer) -> None:
        """Read what comes behind the rows: that the answer is whole, or why it is not."""
        while self.rows(answer):
            pass

    def _lost(self) -> PondageError:
        if self._is_cancelled:
            return QuestionRefused("it was cancelled: nobody waited for the answer", hint="ask again", code="CANCELLED")
        if self._out_of_time:
            return QuestionRefused(
                f"the question ran longer than {self._limit_s:g} s, and was ended", hint="ask for less", code="TIMEOUT"
            )
        return QuestionRefused("the process that answered it died", hint="ask for less, or again", code="QUERY_LOST")

    def cancel(self) -> None:
        """End it because nobody waits for its answer."""
        self._is_cancelled = True
        self.end()

    def expire(self) -> None:
        """End it because its question took too long."""
        self._out_of_time = True
        self.end()

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process and close its pipes."""
        self.end()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _watch(child: _Child, done: threading.Event, limit_s: float, is_cancelled: Callable[[], bool] | None) -> None:
    """End a question that takes too long, or that nobody waits for any more."""
    if is_cancelled is None:
        if not done.wait(limit_s):
            child.expire()
        return
    deadline = time.monotonic() + limit_s
    while not done.wait(LOOK_EVERY_S):
        if is_cancelled():
            child.cancel()
            return
        if time.monotonic() > deadline:
            child.expire()
            return


class Apart:
    """Processes that answer questions. One that has answered is asked again; at most `at_once` answer at a time."""

    def __init__(self, *, at_once: int, patience_s: float = 10.0) -> None:
        self._room = threading.BoundedSemaphore(at_once)
        self._at_once = at_once
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._is_closed = False

    @contextmanager
    def answered(self, question: Question, *, is_cancelled: Callable[[], bool] | None = None) -> Iterator[ApartAnswer]:
        """Answer a question while the block runs; whoever leaves before its end, or `is_cancelled`, ends it."""
        if not self._room.acquire(timeout=self._patience_s):
            raise QuestionRefused(
                f"{self._at_once} questions are being answered already",
                hint="ask again later",
                code="TOO_MANY_QUESTIONS",
            )
        try:
            child = self._taken()
            done = threading.Event()
            watch = threading.Thread(
                target=_watch, args=(child, done, question.limits.seconds + GRACE_S, is_cancelled), daemon=True
            )
            watch.start()
            try:
                child.ask(question)
                yield ApartAnswer(child, question)
            finally:
                done.set()
                watch.join()
                self._give_back(child)
        finally:
            self._room.release()

    def warm(self) -> None:
        """Have a process ready, so that the first question waits for none."""
        self._give_back(self._taken())

    def _taken(self) -> _Child:
        with self._lock:
            if self._is_closed:
                raise QuestionRefused("the server is ending", hint="ask again later", code="QUERY_LOST")
            while self._idle:
                child = self._idle.pop()
                if child.is_alive:
                    self._busy.add(child)
                    return child
                child.close()
        child = _Child()
        with self._lock:
            self._busy.add(child)
        return child

    def _give_back(self, child: _Child) -> None:
        with self._lock:
            self._busy.discard(child)
            # One whose answer nobody has read to its end still works on it.
            if child.is_over and child.is_alive and not self._is_closed:
                self._idle.append(child)
                return
        child.close()

    def close(self) -> None:
        """End all of them, and what they do."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for child in busy:
            child.end()
        for child in idle:
            child.close()
