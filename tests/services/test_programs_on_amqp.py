"""External programs over a real broker: the very tests that the socket passes, and what only a broker can do wrong."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import aio_pika
import pytest

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Crashed
from pondage.engine.programs.hosting import Host, run_program
from pondage.engine.programs.session import ProgramSession
from pondage.ledger.upkeep import reap
from pondage.program import Job, serve
from pondage.program.amqp_bridge import AmqpQueue
from pondage.program.amqp_transport import AmqpTransport
from pondage.program.transport import JobDesc, Refused, Transport
from pondage.work.component import ComponentResult, MemberResult
from tests.engine.programs.harness import ProgramWorld
from tests.engine.programs.test_conformance import *  # noqa: F403
from tests.ledger.conftest import make_driver, world  # noqa: F401 - on SQLite: the ledger is not what is tested
from tests.ledger.harness import World
from tests.patience import PATIENCE_S
from tests.ports import refusing_port
from tests.services.postgres import wait_until
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

    @property
    def queue(self) -> AmqpQueue:
        return self._opened[-1][1]

    def raw(self, verb: str, port: str, frame: bytes) -> None:
        session, _, client = self._opened[-1]
        job = session.description()
        client.send(job.outputs[port] if verb == "put" else getattr(job, verb), frame)

    def die(self) -> None:
        """As the broker sees the death of a worker: it hangs up and deletes nothing."""
        queue = self.queue
        queue._loop.ask(queue._connection.close())

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
def wire(rabbitmq: RabbitServer) -> Iterator[AmqpWire]:
    made = AmqpWire(rabbitmq.url)
    yield made
    made.close()


@pytest.fixture
def flow(world: World, tmp_path: Path) -> Iterator[ProgramWorld]:  # noqa: F811 - pytest's way
    made = ProgramWorld(world, tmp_path)
    yield made
    made.close()


def hosted(flow: ProgramWorld, url: str) -> tuple[Attempt, ProgramSession, Host]:
    attempt = flow.attempt(flow.claimed("x"))
    session = flow.session(attempt)
    return attempt, session, Host(open_queue=lambda one: AmqpQueue(one, url), folder=lambda: flow.folder)


def test_a_message_is_acknowledged_only_when_its_segment_is_committed(
    flow: ProgramWorld, wire: AmqpWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow.start()
    flow.claimed("w")
    held = flow.claimed("x")
    session = flow.session(flow.attempt(held))
    gate, entered, is_over = threading.Event(), threading.Event(), threading.Event()
    commit = session.put

    def slow(port: str, frame: bytes) -> None:
        entered.set()
        gate.wait(PATIENCE_S)
        try:
            commit(port, frame)
        finally:
            is_over.set()

    monkeypatch.setattr(session, "put", slow)
    client = wire.open(session)
    client.take()
    client.put("out", b"kept")
    assert entered.wait(PATIENCE_S)
    queue = wire.queue
    queue.close()  # the worker dies before its commit: the message was never acknowledged, so it is lost to nobody
    assert flow.read(held) == []
    gate.set()
    assert is_over.wait(PATIENCE_S), "nobody writes to a ledger that is being closed"


def test_a_program_elsewhere_whose_worker_dies_hears_it_and_waits_no_longer(flow: ProgramWorld, wire: AmqpWire) -> None:
    flow.start()
    flow.claimed("w")
    client = wire.open(flow.session(flow.attempt(flow.claimed("x"))))
    client.take()
    heard: list[str] = []

    def follow() -> None:
        try:
            client.pop("in")
        except Refused as error:
            heard.append(error.code)

    waiting = threading.Thread(target=follow)
    waiting.start()
    wire.die()
    wait_until(lambda: not _is_heard(client))
    waiting.join(PATIENCE_S)
    assert heard == ["HUNG_UP"]
    with pytest.raises(Refused):
        client.put("out", b"for nobody")


def _is_heard(client: Transport) -> bool:
    try:
        client.health(int(time.time() * 1000) + 30_000)
    except Refused:
        return False
    return True


def test_an_executor_keeps_nothing_of_the_jobs_that_it_has_done(flow: ProgramWorld, rabbitmq: RabbitServer) -> None:
    jobs = []
    for number in range(4):
        flow.start(command=())
        flow.write(flow.claimed("w"), b"%d" % number)
        jobs.append(hosted(flow, rabbitmq.url))
    client = AmqpTransport(rabbitmq.url, jobs[0][1].program.hash)
    hosts = [threading.Thread(target=lambda one=one: run_program(*one, instance="x"), daemon=True) for one in jobs]
    for thread in hosts:
        thread.start()
    wait_until(lambda: asyncio.run(_present(rabbitmq.url, [jobs[0][1].program.hash])) != [])
    open_channels: list[int] = []
    for _ in jobs:
        described = client.take()
        assert described is not None
        _double(Job(client, described))
        client.done()
        open_channels.append(len(client._queues))
    client.end()
    for thread in hosts:
        thread.join(PATIENCE_S)
    assert len(set(open_channels)) == 1


def test_a_program_that_a_worker_starts_is_reached_by_the_broker(flow: ProgramWorld, rabbitmq: RabbitServer) -> None:
    flow.start(command=("python3", "-c", PROGRAM))
    flow.write(flow.claimed("w"), b"a", b"b")
    attempt, session, host = hosted(flow, rabbitmq.url)
    result = run_program(attempt, session, host, instance="x")
    assert result == ComponentResult(members=(MemberResult(instance="x"),)), attempt.log.path.read_text()
    assert flow.read(attempt.work) == [b"A", b"B", None]


def test_executors_that_run_elsewhere_compete_for_jobs_and_each_job_is_done_once(
    flow: ProgramWorld, rabbitmq: RabbitServer
) -> None:
    jobs = []
    for number in range(3):
        flow.start(command=())
        flow.write(flow.claimed("w"), b"%d" % number)
        jobs.append(hosted(flow, rabbitmq.url))
    mailbox = jobs[0][1].program.hash
    done: list[int] = []
    links: list[AmqpTransport] = []
    results: dict[str, object] = {}

    def host_one(attempt: Attempt, session: ProgramSession, host: Host) -> None:
        results[attempt.token] = run_program(attempt, session, host, instance="x")

    hosts = [threading.Thread(target=host_one, args=one, daemon=True) for one in jobs]
    for thread in hosts:
        thread.start()
    wait_until(lambda: asyncio.run(_present(rabbitmq.url, [mailbox])) == [mailbox])
    links = [AmqpTransport(rabbitmq.url, mailbox) for _ in range(2)]
    executors = [
        threading.Thread(target=lambda link=link: done.append(serve(_double, transport=link)), daemon=True)
        for link in links
    ]
    for thread in executors:
        thread.start()
    for thread in hosts:
        thread.join(PATIENCE_S)
    for link in links:
        link.drain()
    for thread in executors:
        thread.join(PATIENCE_S)
    assert sum(done) == 3
    ok = ComponentResult(members=(MemberResult(instance="x"),))
    assert [results[attempt.token] for attempt, _, _ in jobs] == [ok] * 3
    assert [flow.read(attempt.work) for attempt, _, _ in jobs] == [[b"%d%d" % (n, n), None] for n in range(3)]


def test_the_loss_of_the_broker_is_a_crash_and_the_next_attempt_goes_on(
    flow: ProgramWorld, rabbitmq: RabbitServer
) -> None:
    flow.start(command=("python3", "-c", PROGRAM))
    writer = flow.claimed("w")
    flow.write(writer, b"a", ends=False)
    attempt, session, host = hosted(flow, rabbitmq.url)
    ended: list[object] = []
    thread = threading.Thread(target=lambda: ended.append(run_program(attempt, session, host, instance="x")))
    thread.start()
    wait_until(lambda: flow.read(attempt.work) == [b"A"])
    rabbitmq.stop()
    thread.join(PATIENCE_S)
    rabbitmq.start()
    assert isinstance(ended[0], Crashed)
    assert "broker" in ended[0].reason
    reap.crash(flow.run.world.ledger, process=flow.run.worker.id, token=attempt.token, reason=ended[0].reason)
    flow.write(writer, b"b", first=1)
    again, session, host = hosted(flow, rabbitmq.url)
    assert run_program(again, session, host, instance="x") == ComponentResult(members=(MemberResult(instance="x"),))
    assert flow.read(again.work) == [b"A", b"B", None]


def _double(job: Job) -> None:
    for data in job.inputs["in"]:
        job.outputs["out"].put(data * 2)
    job.close()


PROGRAM = """
from pondage.program import serve
def work(job):
    for data in job.inputs["in"]:
        job.outputs["out"].put(data.upper())
    job.close()
serve(work)
"""


def test_a_broker_that_is_not_there_is_a_crash_and_no_fault_of_the_program(flow: ProgramWorld) -> None:
    flow.start()
    flow.claimed("w")
    with refusing_port() as port:
        attempt, session, host = hosted(flow, f"amqp://guest:guest@127.0.0.1:{port}/")
        found = run_program(attempt, session, host, instance="x")
    assert isinstance(found, Crashed)
    assert "guest" not in found.reason
