"""A connection to a broker that threads may ask: an event loop of its own, queues, frames that the broker confirms."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from pondage.connect.tables import needed
from pondage.program.transport import Refused

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractQueue

ANSWER_S = 30.0
UNUSED_MS = 86_400_000
"""A broker deletes queues that nobody touched for so long: those of a worker that died."""
LOOK_S = 0.05
SENT = "sent_ms"
"""The header that says when, by the sender's clock, a sign of health was sent."""

_Answer = TypeVar("_Answer")


class Loop:
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


async def connected(url: str) -> AbstractConnection:
    """Reach the broker."""
    needed("aio_pika", "amqp")
    from aio_pika.connection import Connection, make_url

    connection = Connection(make_url(url))
    try:
        async with asyncio.timeout(ANSWER_S):
            await connection.connect()
    except BaseException:
        # One that is dropped before it is closed begins to close itself, when nobody waits.
        await connection.close()
        raise
    return connection


async def declare(
    channel: AbstractChannel, name: str, *, ends_with_reader: bool = False, **arguments: object
) -> AbstractQueue:
    """Make a queue; one that `ends_with_reader` goes with the connection of whoever consumes it."""
    expires = {"x-expires": UNUSED_MS, **arguments}
    return await channel.declare_queue(name, auto_delete=ends_with_reader, arguments=expires)  # type: ignore[arg-type]


async def publish(
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
