"""The process that answers questions for a server: it may be ended at any moment, and takes nobody along.

It reads questions from its input, one after the other, and ends with it. It has no ledger and no token.
"""

from __future__ import annotations

import os
import queue
import resource
import sys
import threading
from typing import BinaryIO

import msgspec
import pyarrow as pa

from pondage.embedded import frames
from pondage.embedded.engine import answered
from pondage.embedded.question import Question
from pondage.errors import PondageError


class _Sink:
    """Where Arrow writes its stream: each piece is a frame."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> int:
        """Send a piece of the stream."""
        piece = bytes(data)
        frames.send(self._stream, frames.ROWS, piece)
        return len(piece)

    def flush(self) -> None:
        """Do nothing: each frame goes at once."""


def answer(question: Question, output: BinaryIO) -> None:
    """Answer one question as frames: rows, and then that it is whole, or what went wrong."""
    try:
        with answered(question) as found:
            frames.send(
                output, frames.TABLES, msgspec.json.encode(frames.Begun(sorted(found.tables), found.parameters))
            )
            with pa.ipc.new_stream(pa.PythonFile(_Sink(output), mode="w"), found.schema) as writer:
                for batch in found if not question.is_described else ():
                    writer.write_batch(batch)
            end = frames.Ended(found.is_cut)
    except PondageError as error:
        frames.send(output, frames.ERROR, msgspec.json.encode(frames.Said.of(error)))
    except MemoryError:
        lost = frames.Said("the process that answers ran out of memory", "QUERY_TOO_LARGE", "ask for less")
        frames.send(output, frames.ERROR, msgspec.json.encode(lost))
    else:
        frames.send(output, frames.END, msgspec.json.encode(end))


def _questions(stream: BinaryIO) -> queue.SimpleQueue[Question]:
    """Read questions in a thread: whoever asks may go in the middle of an answer, and then this process ends."""
    asked: queue.SimpleQueue[Question] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                _, body = frames.receive(stream)
                asked.put(msgspec.json.decode(body, type=Question))
        finally:
            os._exit(0)

    threading.Thread(target=read, name="questions", daemon=True).start()
    return asked


def main() -> None:
    """Answer until nobody asks any more."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.fdopen(os.dup(1), "wb")
    # Whatever a library prints goes where errors go, and never among the frames.
    os.dup2(2, 1)
    asked = _questions(sys.stdin.buffer)
    frames.send(output, frames.END, msgspec.json.encode(frames.Ended(False)))
    while True:
        answer(asked.get(), output)


if __name__ == "__main__":
    main()
