"""A job while a program works on it: slots for its ports, its parameters, and whether it is asked to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TypeVar

import msgspec

from pondage.errors import PondageError
from pondage.program.transport import JobDesc, Refused, Transport

_Answer = TypeVar("_Answer")

HEALTH_S = 30.0
"""For how long a sign of health is good; one is sent three times as often."""


class JobOver(Exception):
    """The worker has taken the job away: there is nobody left who wants its result."""


class InputSlot:
    """An input: iterate over its segments, each as bytes. It ends when the stream does."""

    def __init__(self, transport: Transport, port: str) -> None:
        self.port = port
        self._transport = transport
        self._has_ended = False

    def pop(self) -> bytes | None:
        """Wait for the next segment; None at the end, however often it is asked for."""
        if self._has_ended:
            return None
        found = _told(lambda: self._transport.pop(self.port))
        self._has_ended = found is None
        return found

    def value(self) -> object:
        """Answer the next segment as the JSON that a `Value` travels as."""
        found = self.pop()
        return None if found is None else msgspec.json.decode(found)

    def __iter__(self) -> Iterator[bytes]:
        """Give the segments in order."""
        while (found := self.pop()) is not None:
            yield found


class OutputSlot:
    """An output: put segments, then close it. A job that returns with an open output has failed."""

    def __init__(self, transport: Transport, port: str) -> None:
        self.port = port
        self._transport = transport

    def put(self, data: bytes) -> None:
        """Put a segment out; when this returns it is durable. Waits while readers are too far behind."""
        _told(lambda: self._transport.put(self.port, data))

    def put_value(self, value: object) -> None:
        """Put out a value as JSON."""
        self.put(msgspec.json.encode(value))

    def close(self) -> None:
        """Say that nothing follows."""
        _told(lambda: self._transport.close(self.port))


class Job:
    """One job. `params` are those of its node, `inputs` and `outputs` its slots by port."""

    def __init__(self, transport: Transport, description: JobDesc) -> None:
        self._transport = transport
        self.params: Mapping[str, object] = MappingProxyType(description.params)
        self.inputs = {port: InputSlot(transport, port) for port in description.inputs}
        self.outputs = {port: OutputSlot(transport, port) for port in description.outputs}
        self._stop = threading.Event()
        self._over = threading.Event()

    @property
    def stopping(self) -> bool:
        """Was it asked to stop? Then close the outputs and return soon."""
        return self._stop.is_set()

    def close(self) -> None:
        """Close every output; closing one twice is harmless."""
        for slot in self.outputs.values():
            slot.close()

    def panic(self, text: str) -> None:
        """Say that the job failed; an exception does it, too."""
        self._transport.panic(text)

    def look_after(self) -> None:
        """Begin to send signs of health and to watch for a stop, beside the work."""
        for target in (self._be_healthy, self._watch_stop):
            threading.Thread(target=target, daemon=True).start()

    def over(self) -> None:
        """End what looks after the job, and say that it is done."""
        self._over.set()
        with suppress(OSError, PondageError):
            self._transport.done()

    def _be_healthy(self) -> None:
        while not self._over.is_set():
            try:
                self._transport.health(int((time.time() + HEALTH_S) * 1000))
            except (OSError, PondageError):
                return
            self._over.wait(HEALTH_S / 3)

    def _watch_stop(self) -> None:
        if self._transport.wait_stop():
            self._stop.set()


def _told(ask: Callable[[], _Answer]) -> _Answer:
    try:
        return ask()
    except (OSError, Refused) as error:
        raise JobOver(str(error)) from error
