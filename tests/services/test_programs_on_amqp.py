"""External programs over a real broker: the very tests that the socket passes, and what only a broker can do wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import aio_pika
import pytest

from pondage.connect.program_amqp import AmqpQueue, AmqpTransport
from pondage.engine.programs.session import ProgramSession
from pondage.program.transport import JobDesc, Transport
from tests.ledger.harness import World
from tests.ledger_jobs.conftest import make_driver, world  # noqa: F401 - on SQLite: the ledger is not what is tested
from tests.programs.harness import ProgramWorld, Wire
from tests.programs.test_conformance import *  # noqa: F403
from tests.services.rabbitmq import RabbitServer


class AmqpWire:
    """The queues of a worker on a broker."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opened: list[tuple[ProgramSession, AmqpQueue, AmqpTransport]] = []

    def open(self, session: ProgramSession) -> Transport:
        queue = AmqpQueue(session, self.url)
        client = AmqpTransport(queue.url, queue.mailbox)
        self._opened.append((session, queue, client))
        return client

    def raw(self, verb: str, port: str, frame: bytes) -> None:
        session, _, client = self._opened[-1]
        job = session.description()
        client.send(job.outputs[port] if verb == "put" else getattr(job, verb), frame)

    def is_gone(self) -> bool:
        names = [
            name for session, queue, _ in self._opened for name in [*names_of(session.description()), queue.mailbox]
        ]
        return not asyncio.run(_present(self.url, names))

    def close(self) -> None:
        for session, queue, client in self._opened:
            session.end()
            client.end()
            queue.close()


def names_of(job: JobDesc) -> list[str]:
    return [*job.inputs.values(), *job.outputs.values(), job.panic, job.health, job.stop]


async def _present(url: str, names: list[str]) -> list[str]:
    found = []
    async with await aio_pika.connect(url) as connection:
        for name in names:
            channel = await connection.channel()
            try:
                await channel.declare_queue(name, passive=True)
                found.append(name)
            except aio_pika.exceptions.ChannelNotFoundEntity:
                continue
    return found


@pytest.fixture
def wire(rabbitmq: RabbitServer) -> Iterator[Wire]:
    made = AmqpWire(rabbitmq.url)
    yield made
    made.close()


@pytest.fixture
def flow(world: World, tmp_path: Path) -> Iterator[ProgramWorld]:  # noqa: F811 - pytest's way
    made = ProgramWorld(world, tmp_path)
    yield made
    made.close()
