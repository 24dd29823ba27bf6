"""A partition of a Kafka topic as a stream: an event is the value of a message, its offset is Kafka's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pondage.connect.tables import needed
from pondage.errors import PondageError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

ANSWER_S = 10.0
AT_ONCE = 500
LOOK_S = 0.2
"""How long one look waits for messages; an ended reader goes on for at most so long."""


class KafkaGone(PondageError):
    """The topic cannot be read as it was: it is not there, or messages that were not read yet are deleted."""

    code = "KAFKA_GONE"


class Kafka:
    """Reads one partition of a topic, committed messages only. Its offset is journaled with the boundary, not in Kafka.

    An offset counts inside a partition, so a topic of several needs an accumulator for each of them (`partition=`).
    `config` is that of librdkafka, or a function that gives it, for passwords that are not in the code.
    """

    says_connected = True

    def __init__(
        self,
        topic: str,
        *,
        servers: str,
        partition: int | None = None,
        config: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        self.topic = topic
        self.servers = servers
        self.partition = partition
        self.config = config
        self._errors: list[KafkaError] = []

    async def read(self, after: int | None) -> AsyncIterator[tuple[int, object] | None]:
        """Answer messages behind an offset for ever; raises ConnectionError without a broker, KafkaGone for a gap."""
        needed("confluent_kafka", "kafka")
        loop = asyncio.get_running_loop()
        # A consumer is used by one thread at a time, and closed by the same.
        thread = ThreadPoolExecutor(1, thread_name_prefix=f"kafka {self.topic}")
        consumers: list[Consumer] = []
        try:
            await loop.run_in_executor(thread, lambda: consumers.append(self._open(after)))
            yield None
            while True:
                for message in await loop.run_in_executor(thread, self._look, consumers[0]):
                    offset, value = message.offset(), message.value()
                    assert offset is not None
                    yield offset, value or b""
        finally:
            for consumer in consumers:
                thread.submit(consumer.close)
            thread.shutdown(wait=False)

    def _open(self, after: int | None) -> Consumer:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

        self._errors.clear()
        given = self.config() if callable(self.config) else self.config
        consumer = Consumer(
            {
                **(given or {}),
                "error_cb": self._errors.append,
                "bootstrap.servers": self.servers,
                "group.id": "pondage",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
            }
        )
        try:
            partition = self._partition(consumer)
            first = OFFSET_BEGINNING if after is None else after + 1
            consumer.assign([TopicPartition(self.topic, partition, first)])
        except KafkaException as error:
            consumer.close()
            raise ConnectionError(f"Kafka at {self.servers}: {error}") from error
        except BaseException:
            consumer.close()
            raise
        return consumer

    def _partition(self, consumer: Consumer) -> int:
        found = consumer.list_topics(self.topic, timeout=ANSWER_S).topics[self.topic]
        if found.error is not None:
            raise KafkaGone(f"the topic {self.topic} cannot be read: {found.error}")
        if self.partition is None and len(found.partitions) != 1:
            raise KafkaGone(
                f"the topic {self.topic} has {len(found.partitions)} partitions",
                hint="declare an accumulator for each: Kafka(..., partition=0)",
            )
        partition = 0 if self.partition is None else self.partition
        if partition not in found.partitions:
            raise KafkaGone(f"the topic {self.topic} has no partition {partition}")
        return partition

    def _look(self, consumer: Consumer) -> list[Message]:
        from confluent_kafka import KafkaError

        kept = []
        for message in consumer.consume(AT_ONCE, timeout=LOOK_S):
            error = message.error()
            if error is None:
                kept.append(message)
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                raise KafkaGone(
                    f"messages that were not read yet are deleted: {error.str()}",
                    hint="give the topic a longer retention; to go on without them, give the accumulator another name",
                )
            elif error.code() != KafkaError._PARTITION_EOF:
                self._errors.append(error)
        for error in self._errors if not kept else ():
            if error.code() == KafkaError._ALL_BROKERS_DOWN or not error.retriable():
                raise ConnectionError(f"Kafka at {self.servers}: {error.str()}")
        return kept
