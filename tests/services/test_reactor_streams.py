"""PostgreSQL tables, Kafka topics and AMQP queues as sources of reactors, on real servers that die and hang."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import aio_pika
import psycopg
import pytest
from aio_pika import DeliveryMode
from aio_pika.abc import AbstractIncomingMessage
from confluent_kafka import Producer

from pondage.connect.streams import amqp, rows
from pondage.connect.streams import kafka as kafka_streams
from pondage.connect.streams.amqp import AmqpGone
from pondage.connect.streams.kafka import KafkaGone
from pondage.streams import Amqp, Kafka, Rows
from tests.connect import streaming
from tests.connect.streaming import Feeder
from tests.patience import PATIENCE_S
from tests.services.kafka import KafkaServer
from tests.services.postgres import PostgresServer
from tests.services.proxy import Proxy
from tests.services.rabbitmq import RabbitServer


class PostgresTable:
    """A table behind a proxy."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.proxy = Proxy(server.port)
        self.name = f"items_{uuid4().hex}"
        self._run(f"CREATE TABLE {self.name} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text)")
        url = server.url.replace(f":{server.port}/", f":{self.proxy.port}/")
        self.source = Rows(lambda: url, table=self.name, every="20ms")

    def _run(self, statement: str, *values: object) -> None:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(statement.encode(), values)

    def put(self, texts: Iterable[str]) -> None:
        self._run(f"INSERT INTO {self.name} (body) SELECT unnest(%s::text[])", list(texts))

    def text(self, raw: object) -> str:
        assert isinstance(raw, dict)
        return str(raw["body"])

    def die(self) -> None:
        self.server.stop()

    def come_back(self) -> None:
        self.server.start()

    def hang(self) -> None:
        self.proxy.cut()

    def close(self) -> None:
        self.proxy.close()


class Topic:
    """A topic of a broker."""

    def __init__(self, server: KafkaServer, partitions: int = 1) -> None:
        self.server = server
        self.name = server.new_topic(f"topic-{uuid4().hex}", partitions)
        self.source = Kafka(self.name, servers=server.url, config={"log_level": "0", "socket.timeout.ms": "1000"})

    def put(self, texts: Iterable[str], partition: int | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.server.url, "log_level": "0", "linger.ms": 0})
        for text in texts:
            producer.produce(self.name, text.encode(), partition=-1 if partition is None else partition)
        assert producer.flush(PATIENCE_S) == 0

    def text(self, raw: object) -> str:
        assert isinstance(raw, bytes)
        return raw.decode()

    def die(self) -> None:
        self.server.stop()

    def come_back(self) -> None:
        self.server.start()

    def hang(self) -> None:
        self.server.hang(on=True)

    def close(self) -> None:
        self.server.hang(on=False)


class Topics(Topic):
    """A topic of three partitions."""

    def __init__(self, server: KafkaServer) -> None:
        super().__init__(server, partitions=3)


class Queue:
    """A queue of a broker behind a proxy; each message has an id."""

    def __init__(self, server: RabbitServer) -> None:
        self.server = server
        self.proxy = Proxy(server.port)
        self.name = f"queue-{uuid4().hex}"
        url = server.url.replace(f":{server.port}/", f":{self.proxy.port}/")
        self.source = Amqp(self.name, url=lambda: url, ahead=50)
        self.texts({})

    def put(self, texts: Iterable[str]) -> None:
        self.texts({uuid4().hex: text for text in texts})

    def texts(self, by_id: dict[str | None, str]) -> None:
        in_a_loop_of_its_own(lambda: self._publish(by_id))

    async def _publish(self, by_id: dict[str | None, str]) -> None:
        async with await aio_pika.connect(self.server.url) as connection, connection.channel() as channel:
            await channel.declare_queue(self.name, durable=True)
            for name, text in by_id.items():
                message = aio_pika.Message(text.encode(), message_id=name, delivery_mode=DeliveryMode.PERSISTENT)
                await channel.default_exchange.publish(message, routing_key=self.name)

    def waiting(self) -> int:
        """How many messages the broker still has, taken together with those that were handed out."""

        async def count() -> int:
            async with await aio_pika.connect(self.server.url) as connection, connection.channel() as channel:
                found = await channel.declare_queue(self.name, passive=True)
                return found.declaration_result.message_count or 0

        return in_a_loop_of_its_own(count)

    def text(self, raw: object) -> str:
        assert isinstance(raw, bytes)
        return raw.decode()

    def die(self) -> None:
        self.server.stop()

    def come_back(self) -> None:
        self.server.start()

    def hang(self) -> None:
        self.proxy.cut()

    def close(self) -> None:
        self.proxy.close()


Result = TypeVar("Result")


def in_a_loop_of_its_own(work: Callable[[], Coroutine[None, None, Result]]) -> Result:
    """Run async work from a test whose own loop may be running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


SERVERS = {"postgres": (PostgresTable, "postgres"), "kafka": (Topic, "kafka"), "amqp": (Queue, "rabbitmq")}


@pytest.fixture(params=SERVERS)
def feeder(request: pytest.FixtureRequest) -> Iterator[PostgresTable | Topic | Queue]:
    kind, server = SERVERS[request.param]
    made: PostgresTable | Topic | Queue = kind(request.getfixturevalue(server))
    yield made
    made.close()


def test_events_come_in_order_and_rubbish_is_a_dead_letter(feeder: Feeder) -> None:
    streaming.run(streaming.reads_in_order_and_keeps_rubbish_as_dead_letters(feeder))


def test_a_flood_waits_for_the_reactor_and_nothing_is_lost_or_repeated(feeder: Feeder) -> None:
    streaming.run(streaming.takes_a_flood_without_losing_or_repeating(feeder, 2500))


def test_after_a_crash_reading_goes_on_behind_the_journaled_offset(feeder: Feeder, tmp_path: Path) -> None:
    streaming.run(streaming.goes_on_behind_the_journaled_offset_after_a_crash(feeder, tmp_path))


def test_a_source_that_dies_is_disconnected_and_read_on_when_it_is_back(feeder: Feeder) -> None:
    streaming.run(streaming.is_disconnected_by_a_death_and_reads_on_afterwards(feeder))


def test_a_source_that_hangs_is_lost_after_a_while(
    feeder: PostgresTable | Topic | Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "ANSWER_S", 0.5)
    monkeypatch.setattr(kafka_streams, "ANSWER_S", 0.5)
    monkeypatch.setattr(amqp, "ANSWER_S", 0.5)
    feeder.hang()
    streaming.run(streaming.is_lost_when_it_hangs(feeder))


def test_a_row_of_a_transaction_that_ends_late_is_not_passed_over(postgres: PostgresServer) -> None:
    table = PostgresTable(postgres)

    async def play() -> None:
        reactor, seen = streaming.made(table)
        async with reactor.run() as live:
            with psycopg.connect(postgres.url) as slow:
                slow.execute(f"INSERT INTO {table.name} (body) VALUES ('1')".encode())
                await asyncio.to_thread(table.put, ["2"])
                await asyncio.to_thread(table.put, ["3"])
                await asyncio.sleep(0.1)  # Five looks at the table; were they wrong the order below would be.
                slow.commit()
            await streaming.until(live, lambda: len(seen) == 3)
            assert seen == [1, 2, 3]

    streaming.run(play())
    table.close()


def test_a_flood_in_several_partitions_is_taken_in_once_and_each_stays_in_order(kafka: KafkaServer) -> None:
    topic = Topics(kafka)

    async def play() -> None:
        reactor, seen = streaming.made(topic, capacity=5)
        for partition in range(3):
            topic.put((str(number * 3 + partition) for number in range(300)), partition)
        async with reactor.run() as live:
            await streaming.until(live, lambda: len(seen) >= 900)
            await live.idle()
        assert sorted(seen) == list(range(900))
        assert all([each for each in seen if each % 3 == rest] == list(range(rest, 900, 3)) for rest in range(3))

    streaming.run(play())


def test_after_a_crash_each_partition_is_read_on_behind_its_own_offset(kafka: KafkaServer, tmp_path: Path) -> None:
    topic = Topics(kafka)
    streaming.run(streaming.goes_on_behind_the_journaled_offset_after_a_crash(topic, tmp_path))


def test_the_offset_of_each_partition_is_part_of_the_boundarys_record(kafka: KafkaServer) -> None:
    topic = Topics(kafka)

    async def play() -> None:
        reactor, seen = streaming.made(topic, durable=False)
        topic.put(["1", "2"], 0)
        topic.put(["3"], 2)
        async with reactor.run() as live:
            await streaming.until(live, lambda: len(seen) == 3)
            sources = live.state()["sources"]
            assert isinstance(sources, dict)
            assert sources["numbers"]["offset"] == {"0": 1, "2": 0}

    streaming.run(play())


def test_a_partition_that_is_new_is_read_from_its_beginning(
    kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_streams, "PARTITIONS_EVERY_S", 0.1)
    topic = Topic(kafka)

    async def play() -> None:
        reactor, seen = streaming.made(topic)
        async with reactor.run() as live:
            topic.put(["1"])
            await streaming.until(live, lambda: seen == [1])
            await asyncio.to_thread(kafka.grow_topic, topic.name, 3)
            topic.put(["2"], 2)
            topic.put(["3"], 0)
            await streaming.until(live, lambda: sorted(seen) == [1, 2, 3])

    streaming.run(play())


def test_a_partition_that_is_not_there_is_told(kafka: KafkaServer) -> None:
    topic = Topic(kafka)
    source = Kafka(topic.name, servers=kafka.url, partition=4)

    async def first() -> None:
        await anext(aiter(source.read_lanes({})))

    with pytest.raises(KafkaGone, match="no partition 4"):
        asyncio.run(first())


def test_a_message_is_acknowledged_only_when_its_boundary_is_durable(rabbitmq: RabbitServer) -> None:
    queue = Queue(rabbitmq)

    async def play() -> None:
        reader = aiter(queue.source.read_lanes({}))
        assert await anext(reader) is None
        queue.put(["1"])
        arrived = await anext(reader)
        assert arrived is not None
        await reader.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(queue.waiting) == 1
        reader = aiter(queue.source.read_lanes({}))
        assert await anext(reader) is None
        again = await anext(reader)
        assert again is not None
        assert again.lane == arrived.lane
        assert again.settle is not None
        again.settle(None)
        await reader.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(queue.waiting) == 0

    streaming.run(play())
    queue.close()


def test_an_acknowledgement_that_is_under_way_when_reading_ends_arrives(
    rabbitmq: RabbitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(rabbitmq)
    tell = amqp._Reader._tell

    async def play() -> None:
        begun = asyncio.Event()

        async def late(reader: amqp._Reader, message: AbstractIncomingMessage, refusal: str | None) -> None:
            begun.set()
            await asyncio.sleep(0.01)
            await tell(reader, message, refusal)

        monkeypatch.setattr(amqp._Reader, "_tell", late)
        reader = aiter(queue.source.read_lanes({}))
        assert await anext(reader) is None
        queue.put(["1"])
        arrived = await anext(reader)
        assert arrived is not None
        assert arrived.settle is not None
        arrived.settle(None)
        await begun.wait()
        await reader.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(queue.waiting) == 0

    streaming.run(play())
    queue.close()


def test_a_message_that_is_handed_out_again_gives_no_second_boundary(rabbitmq: RabbitServer, tmp_path: Path) -> None:
    queue = Queue(rabbitmq)

    async def play() -> None:
        reactor, seen = streaming.made(queue)
        async with reactor.run() as live:
            queue.texts({"a": "1"})
            await streaming.until(live, lambda: seen == [1])
            queue.texts({"a": "1", "b": "2"})  # as a broker does that never heard of the acknowledgement
            await streaming.until(live, lambda: len(seen) == 2)
            assert seen == [1, 2]

    streaming.run(play())
    assert queue.waiting() == 0
    queue.close()


def test_a_message_whose_acknowledgement_was_lost_gives_no_second_boundary_in_the_next_life(
    rabbitmq: RabbitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(rabbitmq)
    queue.texts({"a": "1", "b": "2"})
    tell, lost = amqp._Reader._tell, []

    async def lose(reader: amqp._Reader, message: AbstractIncomingMessage, refusal: str | None) -> None:
        # Only the first life's are lost: it must die with everything journaled and nothing acknowledged.
        if len(lost) < 2:
            lost.append(refusal)
        else:
            await tell(reader, message, refusal)

    monkeypatch.setattr(amqp._Reader, "_tell", lose)
    streaming.run(streaming.takes_nothing_twice_in_the_next_life(queue, tmp_path))
    assert lost == [None, None]
    assert queue.waiting() == 0
    queue.close()


def test_messages_without_an_id_are_taken_in_too(rabbitmq: RabbitServer) -> None:
    queue = Queue(rabbitmq)

    async def play() -> None:
        reactor, seen = streaming.made(queue)
        async with reactor.run() as live:
            queue.texts({None: "1"})
            await streaming.until(live, lambda: seen == [1])
            queue.texts({None: "1"})
            await streaming.until(live, lambda: seen == [1, 1])

    streaming.run(play())
    queue.close()


def test_a_queue_that_is_not_there_is_told(rabbitmq: RabbitServer) -> None:
    async def first() -> None:
        await anext(aiter(Amqp("no-such-queue", url=rabbitmq.url).read_lanes({})))

    with pytest.raises(AmqpGone, match="no-such-queue"):
        asyncio.run(first())
