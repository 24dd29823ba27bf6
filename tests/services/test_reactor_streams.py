"""PostgreSQL tables and Kafka topics as sources of reactors, on real servers that die and hang."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from confluent_kafka import Producer

from pondage.connect.streams import kafka as kafka_streams
from pondage.connect.streams import rows
from pondage.connect.streams.kafka import KafkaGone
from pondage.streams import Kafka, Rows
from tests.reaction import streaming
from tests.reaction.streaming import Feeder
from tests.services.kafka import KafkaServer
from tests.services.postgres import PostgresServer
from tests.services.proxy import Proxy


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

    def put(self, texts: Iterable[str]) -> None:
        producer = Producer({"bootstrap.servers": self.server.url, "log_level": "0", "linger.ms": 0})
        for text in texts:
            producer.produce(self.name, text.encode())
        assert producer.flush(30) == 0

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


@pytest.fixture(params=["postgres", "kafka"])
def feeder(request: pytest.FixtureRequest) -> Iterator[PostgresTable | Topic]:
    made = (PostgresTable if request.param == "postgres" else Topic)(request.getfixturevalue(request.param))
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
    feeder: PostgresTable | Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "ANSWER_S", 0.5)
    monkeypatch.setattr(kafka_streams, "ANSWER_S", 0.5)
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


def test_a_topic_of_several_partitions_must_be_told_which(kafka: KafkaServer) -> None:
    topic = Topic(kafka, partitions=2)

    async def first() -> None:
        await anext(aiter(topic.source.read(None)))

    with pytest.raises(KafkaGone, match="2 partitions"):
        asyncio.run(first())
