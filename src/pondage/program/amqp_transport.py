"""The side of a program in Python that is served over a broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from pondage.errors import PondageError
from pondage.program.amqp_link import LOOK_S, Loop, connected, publish
from pondage.program.frames import END, framed, unframed
from pondage.program.transport import JobDesc, Refused

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractQueue


class AmqpTransport:
    """The verbs of a program over a broker. Ports are names in the job that was taken last."""

    def __init__(self, url: str, mailbox: str, description: JobDesc | None = None) -> None:
        self._mailbox = mailbox
        self._description = description or JobDesc()
        self._is_draining = False
        self._loop = Loop("program")
        self._connection = self._loop.ask(connected(url))
        self._channel = self._loop.ask(self._open())
        self._queues: dict[str, AbstractQueue] = {}
        self._ended: set[str] = set()
        self._is_left = False
        """Has the worker of this job gone? Nothing more comes from it."""

    async def _open(self) -> AbstractChannel:
        return await self._connection.channel(on_return_raises=True)

    def take(self) -> JobDesc | None:
        """Wait for a job; None when the mailbox says that there are no more."""
        frame = self._next(self._mailbox, lambda: self._is_draining)
        found = None if frame is None else unframed(frame)
        if found is None:
            return None
        self._description = msgspec.json.decode(found, type=JobDesc)
        self._ended.clear()
        self._is_left = False
        self._loop.ask(self._forget_queues())
        return self._description

    async def _forget_queues(self) -> None:
        """Let go of the queues of earlier jobs: each has a channel, and a connection has not many."""
        for name in [name for name in self._queues if name != self._mailbox]:
            with suppress(Exception):
                await self._queues.pop(name).channel.close()

    def pop(self, port: str) -> bytes | None:
        """Wait for the next segment."""
        if port in self._ended:
            return None
        frame = self._next(self._description.inputs[port], lambda: self._is_left)
        if frame is None:
            raise Refused("the worker of this job has gone", code="HUNG_UP")
        found = unframed(frame)
        if found is None:
            self._ended.add(port)
        return found

    def put(self, port: str, data: bytes) -> None:
        """Put a segment out."""
        self.send(self._description.outputs[port], framed(data))

    def close(self, port: str) -> None:
        """Say that an output has ended."""
        self.send(self._description.outputs[port], END)

    def panic(self, text: str) -> None:
        """Say that the job failed."""
        self.send(self._description.panic, framed(text.encode()))

    def done(self) -> None:
        """Say that the job has ended."""
        self.send(self._description.panic, END)

    def health(self, dead_after_ms: int) -> None:
        """Say after which moment the job should be taken for dead; when nobody hears it, the job is over."""
        described = self._description
        try:
            self.send(described.health, framed(str(dead_after_ms).encode("ascii")))
        except Refused:
            self._is_left = self._description is described
            raise

    def wait_stop(self) -> bool:
        """Wait until the job is asked to stop."""
        described = self._description
        with suppress(PondageError, OSError, RuntimeError):
            return self._next(described.stop, lambda: self._description is not described) is not None
        return False

    def drain(self) -> None:
        """Take no more jobs."""
        self._is_draining = True

    def end(self) -> None:
        """Hang up."""
        with suppress(Exception):
            self._loop.ask(self._hang_up())
        self._loop.stop()

    async def _hang_up(self) -> None:
        await self._connection.close()

    def send(self, name: str, frame: bytes) -> None:
        """Send a frame to a queue by its name, and wait until the broker has it."""
        self._loop.ask(publish(self._channel, name, frame), None)

    def _next(self, name: str, is_over: Callable[[], bool]) -> bytes | None:
        pause_s = 0.002
        while not is_over():
            frame = self._loop.ask(self._got(name))
            if frame is not None:
                return frame
            time.sleep(pause_s)
            pause_s = min(LOOK_S, pause_s * 1.5)
        return None

    async def _got(self, name: str) -> bytes | None:
        """Get one message and acknowledge it: what is lost after that, the worker hands out again in a new attempt."""
        try:
            if name not in self._queues:
                # A channel for each: asking for a queue that is gone ends the channel on which it is asked.
                channel = await self._connection.channel()
                self._queues[name] = await channel.get_queue(name)
            message = await self._queues[name].get(fail=False)
        except Exception as error:  # the client raises the bare class when its connection ends
            self._queues.pop(name, None)
            raise Refused(f"the queue {name} is gone: {error}", code="HUNG_UP") from error
        if message is None:
            return None
        await message.ack()
        return message.body
