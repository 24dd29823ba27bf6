"""Answers as streams of Arrow: bytes that any process can read, without keeping more than a batch of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa


class Answering(Protocol):
    """The rows of an answer, as they come."""

    @property
    def schema(self) -> pa.Schema:
        """Answer the columns."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...


class _Pieces:
    """Where Arrow writes; what was written is taken away piece by piece."""

    closed = False

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> int:
        """Keep a piece."""
        self._written += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: pieces are taken away."""

    def taken(self) -> bytes:
        """Answer what was written since the last call."""
        found = bytes(self._written)
        self._written.clear()
        return found


def stream_of(answering: AbstractContextManager[Answering]) -> Iterator[bytes]:
    """Give an answer as the bytes of a stream of Arrow. The question is asked with the first of them."""
    pieces = _Pieces()
    with answering as answer:
        writer = pa.ipc.new_stream(pa.PythonFile(pieces, mode="w"), answer.schema)
        for batch in answer:
            writer.write_batch(batch)
            yield pieces.taken()
        writer.close()
        yield pieces.taken()


class _Read:
    """Bytes that come, as a file that Arrow reads."""

    closed = False

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = b""

    def read(self, size: int = -1) -> bytes:
        """Answer so many bytes, fewer at the end."""
        while size < 0 or len(self._left) < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._left += chunk
        size = len(self._left) if size < 0 else size
        found, self._left = self._left[:size], self._left[size:]
        return found


def reader_of(chunks: Iterable[bytes]) -> pa.RecordBatchReader:
    """Answer the rows of a stream of Arrow; raises what the stream raises."""
    return pa.ipc.open_stream(pa.PythonFile(_Read(chunks), mode="r"))
