"""A queue of an AMQP broker (RabbitMQ) as a stream: a message is acknowledged when its boundary is durable."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING

from pondage.connect.tables import needed
from pondage.define.reactor.accumulator import Arrived
from pondage.define.values.place import place_of_caller
from pondage.errors import DefinitionError, PondageError

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue

ANSWER_S = 30.0
"""A broker that does not answer for so long is lost."""
LOOK_S = 5.0
"""A queue that is silent for so long is asked whether it is still there."""
MOST_AHEAD = 500
"""So many messages may wait for their acknowledgement: half of those whose ids a journal remembers."""


class AmqpGone(PondageError):
    """The queue cannot be read: it is not there, or this user may not."""

    code = "AMQP_GONE"


class Amqp:
    """Reads a queue that exists. A message leaves it when the boundary is journaled, never before.

    A broker hands out again what was not acknowledged. Messages with a `message_id` are known again by it, also in
    another process, so each gives one boundary. Without one, a message whose acknowledgement was lost comes twice.
    `url` is `amqp://...` or `amqps://...`, or a function that gives one, for passwords that are not in the code.
    """

    says_connected = True

    def __init__(self, queue: str, *, url: str | Callable[[], str], ahead: int = 100) -> None:
        if not 1 <= ahead <= MOST_AHEAD:
            raise DefinitionError(
                f"ahead={ahead} of queue {queue} is not between 1 and {MOST_AHEAD}",
                place=place_of_caller(),
                code="BAD_AHEAD",
            )
        self.queue = queue
        self.url = url
        self.ahead = ahead

    async def read_lanes(self, after: Mapping[str, int]) -> AsyncIterator[Arrived | None]:
        """Answer messages for ever; raises ConnectionError without a broker, AmqpGone without the queue."""
        del after  # The broker knows what was not acknowledged, and the reactor what it has taken in.
        needed("aio_pika", "amqp")
        from aio_pika.connection import Connection, make_url

        # Held from the beginning: one that is dropped before it is closed begins to close itself, when nobody waits.
        connection = Connection(make_url(self.url() if callable(self.url) else self.url))
        try:
            async with asyncio.timeout(ANSWER_S):
                await connection.connect()
            reader = _Reader(self, await connection.channel())
            async with aclosing(reader.messages()) as messages:
                async for arrived in messages:
                    yield arrived
        finally:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(ANSWER_S):
                    await connection.close()


class _Reader:
    """One connection's worth of reading: messages come in, and settlements go out in the same order."""

    def __init__(self, declared: Amqp, channel: AbstractChannel) -> None:
        self._declared = declared
        self._channel = channel
        self._arriving: asyncio.Queue[AbstractIncomingMessage | None] = asyncio.Queue()
        self._settled: asyncio.Queue[tuple[AbstractIncomingMessage, str | None] | None] = asyncio.Queue()
        # What has no id is told apart by where it came from: then it is refused, not kept, when the connection ends.
        self._unnamed = f"{secrets.token_hex(6)}-"

    async def messages(self) -> AsyncGenerator[Arrived | None, None]:
        from aio_pika.exceptions import AMQPChannelError

        settling = asyncio.get_running_loop().create_task(self._settle_on())
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._channel.set_qos(prefetch_count=self._declared.ahead)
                queue = await self._found()
                self._channel.close_callbacks.add(lambda *_: self._arriving.put_nowait(None))
                await queue.consume(self._arriving.put)
            yield None
            while True:
                yield await self._next()
        except AMQPChannelError as error:
            raise AmqpGone(f"the queue {self._declared.queue} cannot be read: {error}") from error
        finally:
            await self._settle_rest(settling)

    async def _found(self) -> AbstractQueue:
        return await self._channel.declare_queue(self._declared.queue, passive=True)

    async def _next(self) -> Arrived | None:
        try:
            async with asyncio.timeout(LOOK_S):
                message = await self._arriving.get()
        except TimeoutError:
            async with asyncio.timeout(ANSWER_S):
                await self._found()
            return None
        if message is None:
            raise ConnectionError(f"the broker of queue {self._declared.queue} hung up")
        name = message.message_id or f"{self._unnamed}{message.delivery_tag}"
        return Arrived(message.body, 0, f"#{name}", partial(self._settle, message))

    def _settle(self, message: AbstractIncomingMessage, refusal: str | None) -> None:
        self._settled.put_nowait((message, refusal))

    async def _settle_on(self) -> None:
        # One behind the other: so what a broker hands out again is always what was taken in last.
        while (told := await self._settled.get()) is not None:
            await self._tell(*told)

    async def _settle_rest(self, settling: asyncio.Task[None]) -> None:
        # Not cut off: one that is just being told would be neither told nor left over.
        self._settled.put_nowait(None)
        await asyncio.wait([settling], timeout=ANSWER_S)
        settling.cancel()

    async def _tell(self, message: AbstractIncomingMessage, refusal: str | None) -> None:
        from aio_pika.exceptions import AMQPError

        # Where the connection is gone its reader says so, and the broker hands the message out again.
        with suppress(OSError, AMQPError, RuntimeError):
            if refusal is None:
                await message.ack()
            else:
                # No room, as declared: that is for the broker's dead letters. Anything else is only not now.
                await message.reject(requeue=refusal != "full")
