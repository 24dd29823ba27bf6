"""The worker's side of a broker: the queues of one execution, bridged to the ledger.

A message of an output is acknowledged when its segment is committed, never before.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from pondage.errors import PondageError
from pondage.program.amqp_link import ANSWER_S, LOOK_S, SENT, Loop, connected, declare, publish
from pondage.program.frames import END, framed
from pondage.program.transport import JobDesc
from pondage.work.component import Program

if TYPE_CHECKING:
    from aio_pika.abc import AbstractIncomingMessage

MOST_QUEUED = 64
"""So many messages may lie in a queue: then whoever writes waits."""
LAST = "pondage-last"
"""The header of a message of our own: everything that the program sent lies before it."""

_Answer = TypeVar("_Answer")


class BrokerLost(PondageError):
    """Nothing is wrong with the program or its data, but nobody can reach it."""

    code = "BROKER_LOST"


class Served(Protocol):
    """A session of a program: what its queues are bridged to."""

    program: Program
    outputs: tuple[str, ...]

    @property
    def inputs(self) -> list[str]:
        """Answer the connected inputs."""

    def description(self) -> JobDesc:
        """Answer the job."""

    def pop(self, port: str) -> bytes:
        """Wait for the next frame of an input."""

    def put(self, port: str, frame: bytes) -> None:
        """Commit a frame of an output."""

    def panic(self, frame: bytes) -> None:
        """Take a frame of the panic stream."""

    def health(self, frame: bytes, *, now_ms: float) -> None:
        """Take a frame of the health stream."""

    def wait_stop(self) -> bytes:
        """Wait for a stop."""


class AmqpQueue:
    """The queues of one execution: made when it begins, bridged, and deleted when it ends."""

    def __init__(self, session: Served, url: str) -> None:
        self._session = session
        self._address = url
        self._description = session.description()
        self.lost: str | None = None
        self._made: list[str] = []
        self._takers: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False
        self._loop = Loop("program queues")
        try:
            self._connection = self._loop.ask(connected(url))
            self._loop.ask(self._open())
        except Exception as error:
            self._loop.stop()
            raise BrokerLost(f"the broker cannot be reached: {error}") from error

    @property
    def url(self) -> str:
        """Answer what PONDAGE_QUEUE says."""
        return self._address

    @property
    def mailbox(self) -> str:
        """Answer what PONDAGE_JOBS says: of a program that we start, a mailbox of its own."""
        program = self._session.program
        return f"{program.hash}.{self._description.stop}" if program.command else program.hash

    def drain(self) -> None:
        """Wait until everything that the program has sent is committed: it may have ended before we came to it."""
        if self.lost is None:
            try:
                self._loop.ask(self._drained(), None)
            except Exception as error:  # noqa: BLE001 - whatever it was, the program cannot be reached any more
                self._on_lost(None, error)

    async def _drained(self) -> None:
        for name, taker in self._takers.items():
            if not taker.done():
                await publish(self._channel, name, b"", headers={LAST: True})
        if self._takers:
            await asyncio.wait(self._takers.values())

    def close(self) -> None:
        """Delete the queues and hang up."""
        self._is_closed = True
        with suppress(Exception):
            self._loop.ask(self._end())
        self._loop.stop()

    async def _open(self) -> None:
        described, session = self._description, self._session
        self._channel = await self._connection.channel(on_return_raises=True)
        self._connection.close_callbacks.add(self._on_lost)
        for port, name in described.inputs.items():
            await self._make(name)
            self._spawn(self._feed(port, name))
        for port, name in described.outputs.items():
            await self._make(name, read_here=True, **{"x-max-length": MOST_QUEUED, "x-overflow": "reject-publish"})
            self._takers[name] = self._spawn(self._consume(name, partial(self._on_output, port)))
        for name, take in ((described.panic, self._on_panic), (described.health, self._on_health)):
            await self._make(name, read_here=True)
            self._takers[name] = self._spawn(self._consume(name, take))
        await self._make(described.stop)
        self._spawn(self._tell_stop())
        if session.program.command:
            await self._make(self.mailbox)
        else:
            await self._channel.declare_queue(self.mailbox, durable=True)
        await publish(self._channel, self.mailbox, framed(msgspec.json.encode(described)))
        if session.program.command:
            await publish(self._channel, self.mailbox, END)

    async def _make(self, name: str, *, read_here: bool = False, **arguments: object) -> None:
        """Make a queue. What is read here goes when this process dies: so the program hears that nobody listens."""
        await declare(self._channel, name, ends_with_reader=read_here, **arguments)
        self._made.append(name)

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        async def watched() -> None:
            try:
                await work
            except (PondageError, asyncio.CancelledError):
                pass  # the session knows
            except Exception as error:  # noqa: BLE001 - whatever it was, the program cannot be reached any more
                self._on_lost(None, error)

        return self._loop.loop.create_task(watched())

    def _on_lost(self, _sender: object, error: BaseException | None = None) -> None:
        if not self._is_closed and self.lost is None:
            self.lost = f"the broker was lost: {error or 'it hung up'}"

    async def _aside(self, act: Callable[[], _Answer]) -> _Answer:
        """Do what may wait long in a thread that nobody waits for when this process ends."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[_Answer] = loop.create_future()

        def run() -> None:
            try:
                answer = act()
            except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                _tell(loop, done, error=error)
            else:
                _tell(loop, done, answer)

        threading.Thread(target=run, name="program port", daemon=True).start()
        return await done

    async def _feed(self, port: str, name: str) -> None:
        """Hand an input on, never further ahead than a queue may be full."""
        frame = b""
        while frame != END:
            frame = await self._aside(lambda: self._session.pop(port))
            while (await self._waiting(name)) >= MOST_QUEUED:
                await asyncio.sleep(LOOK_S)
            await publish(self._channel, name, frame)

    async def _waiting(self, name: str) -> int:
        found = await self._channel.declare_queue(name, passive=True)
        return found.declaration_result.message_count or 0

    async def _consume(self, name: str, take: Callable[[AbstractIncomingMessage], None]) -> None:
        """Take one message after the other; each is acknowledged when what it says is committed."""
        channel = await self._connection.channel()
        await channel.set_qos(prefetch_count=1)
        queue = await channel.declare_queue(name, passive=True)
        async with queue.iterator() as messages:
            async for message in messages:
                if LAST in message.headers:
                    return
                await self._aside(partial(take, message))
                await message.ack()

    def _on_output(self, port: str, message: AbstractIncomingMessage) -> None:
        self._session.put(port, message.body)

    def _on_panic(self, message: AbstractIncomingMessage) -> None:
        self._session.panic(message.body)

    def _on_health(self, message: AbstractIncomingMessage) -> None:
        """Judge a sign of health by the sender's clock: as it says itself, else as the broker noted, else as here."""
        sent = message.headers.get(SENT)
        if isinstance(sent, int):
            now_ms = float(sent)
        elif message.timestamp is not None:
            now_ms = message.timestamp.timestamp() * 1000
        else:
            now_ms = time.time() * 1000
        self._session.health(message.body, now_ms=now_ms)

    async def _tell_stop(self) -> None:
        frame = await self._aside(self._session.wait_stop)
        if frame != END:
            await publish(self._channel, self._description.stop, frame)

    async def _end(self) -> None:
        if not self._connection.is_closed:
            async with asyncio.timeout(ANSWER_S):
                channel = await self._connection.channel()
                for name in self._made:
                    await channel.queue_delete(name)
                await self._connection.close()


def _tell(
    loop: asyncio.AbstractEventLoop,
    done: asyncio.Future[_Answer],
    answer: _Answer | None = None,
    error: BaseException | None = None,
) -> None:
    def tell() -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(answer)  # type: ignore[arg-type]

    with suppress(RuntimeError):  # the loop has ended, and so has whoever waited
        loop.call_soon_threadsafe(tell)
