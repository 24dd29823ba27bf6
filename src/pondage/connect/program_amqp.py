"""External programs over an AMQP broker: the queues of the wire protocol, bridged to the ledger by a worker.

`AmqpQueue` is the worker's side: a message of an output is acknowledged when its segment is committed, never before.
`AmqpTransport` is the side of a program in Python. A broker is a way, not a store: after a loss the execution begins
again with new queues, and what was committed is skipped.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from pondage.connect.tables import needed
from pondage.define.component_work import Program
from pondage.define.frames import END, framed, unframed
from pondage.errors import PondageError
from pondage.program.transport import JobDesc, Refused

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractQueue

ANSWER_S = 30.0
MOST_WAITING = 64
"""So many messages may lie in a queue: then whoever writes waits."""
UNUSED_MS = 86_400_000
"""A broker deletes queues that nobody touched for so long: those of a worker that died."""
LOOK_S = 0.05
SENT = "sent_ms"
"""The header that says when, by the sender's clock, a sign of health was sent."""

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


class _Loop:
    """An event loop in a thread of its own, which other threads ask."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()
        self._guard = threading.Lock()
        self._is_stopped = False

    def ask(self, work: Coroutine[object, object, _Answer], timeout_s: float | None = ANSWER_S) -> _Answer:
        """Wait for an answer; raises `Refused` when the loop has ended or ends meanwhile."""
        with self._guard:
            if self._is_stopped:
                work.close()
                raise Refused("the connection was closed", code="HUNG_UP")
            asked = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return asked.result(timeout_s)
        except CancelledError:
            raise Refused("the connection was closed", code="HUNG_UP") from None

    def stop(self) -> None:
        """End the loop and everything in it. Calling it twice is harmless."""

        async def cancel() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        with self._guard:
            if self._is_stopped:
                return
            # Whoever asked before is in the loop, and ended by this; whoever comes later is refused.
            self._is_stopped = True
            ended = asyncio.run_coroutine_threadsafe(cancel(), self.loop)
        with suppress(TimeoutError):
            ended.result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        if not self._thread.is_alive():
            self.loop.close()


async def _connected(url: str) -> AbstractConnection:
    needed("aio_pika", "amqp")
    import aio_pika

    async with asyncio.timeout(ANSWER_S):
        return await aio_pika.connect(url)


async def _declare(channel: AbstractChannel, name: str, **arguments: object) -> AbstractQueue:
    return await channel.declare_queue(name, arguments={"x-expires": UNUSED_MS, **arguments})  # type: ignore[dict-item]


async def _publish(
    channel: AbstractChannel, name: str, frame: bytes, headers: Mapping[str, object] | None = None
) -> None:
    """Send a frame and wait until the broker has it; a queue that is full is tried again, one that is gone is not."""
    import aio_pika
    from aio_pika.exceptions import DeliveryError, PublishError

    message = aio_pika.Message(frame, headers={SENT: int(time.time() * 1000), **(headers or {})})  # type: ignore[dict-item]
    while True:
        try:
            await channel.default_exchange.publish(message, routing_key=name, mandatory=True)
            return
        except PublishError as error:
            raise Refused(f"the queue {name} is gone", code="HUNG_UP") from error
        except DeliveryError:
            await asyncio.sleep(LOOK_S)


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
        self._loop = _Loop("program queues")
        try:
            self._connection = self._loop.ask(_connected(url))
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
                await _publish(self._channel, name, b"", headers={LAST: True})
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
            await self._make(name, **{"x-max-length": MOST_WAITING, "x-overflow": "reject-publish"})
            self._takers[name] = self._spawn(self._consume(name, partial(self._on_output, port)))
        for name, take in ((described.panic, self._on_panic), (described.health, self._on_health)):
            await self._make(name)
            self._takers[name] = self._spawn(self._consume(name, take))
        await self._make(described.stop)
        self._spawn(self._tell_stop())
        if session.program.command:
            await self._make(self.mailbox)
        else:
            await self._channel.declare_queue(self.mailbox, durable=True)
        await _publish(self._channel, self.mailbox, framed(msgspec.json.encode(described)))
        if session.program.command:
            await _publish(self._channel, self.mailbox, END)

    async def _make(self, name: str, **arguments: object) -> None:
        await _declare(self._channel, name, **arguments)
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
            while (await self._waiting(name)) >= MOST_WAITING:
                await asyncio.sleep(LOOK_S)
            await _publish(self._channel, name, frame)

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
            await _publish(self._channel, self._description.stop, frame)

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


class AmqpTransport:
    """The verbs of a program over a broker. Ports are names in the job that was taken last."""

    def __init__(self, url: str, mailbox: str, description: JobDesc | None = None) -> None:
        self._mailbox = mailbox
        self._description = description or JobDesc()
        self._is_draining = False
        self._loop = _Loop("program")
        self._connection = self._loop.ask(_connected(url))
        self._channel = self._loop.ask(self._open())
        self._queues: dict[str, AbstractQueue] = {}
        self._ended: set[str] = set()

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
        return self._description

    def pop(self, port: str) -> bytes | None:
        """Wait for the next segment."""
        if port in self._ended:
            return None
        frame = self._next(self._description.inputs[port], lambda: False)
        found = None if frame is None else unframed(frame)
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
        """Say after which moment the job should be taken for dead."""
        self.send(self._description.health, framed(str(dead_after_ms).encode("ascii")))

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
        self._loop.ask(_publish(self._channel, name, frame), None)

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
