"""A Kafka topic as a stream: an event is the value of a message, its lane the partition, its offset Kafka's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pondage.connect.tables import needed
from pondage.define.reactor.accumulator import Arrived
from pondage.errors import PondageError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message

ANSWER_S = 10.0
AT_ONCE = 500
LOOK_S = 0.2
"""How long one look waits for messages; an ended reader goes on for at most so long."""
PARTITIONS_EVERY_S = 10.0
"""How often a topic is asked whether it has new partitions."""
MOST_PARTITIONS = 1024
"""As many as a journal keeps offsets of."""


class KafkaGone(PondageError):
    """The topic cannot be read as it was: it is not there, or messages that were not read yet are deleted."""

    code = "KAFKA_GONE"


class Kafka:
    """Reads a topic, committed messages only. Offsets are journaled with the boundaries, for each partition its own.

    Nothing is left to a consumer group: one host owns the reactor, reads every partition, and sees new ones within
    seconds. Order is that of each partition. `partition` reads that one alone. `config` is that of librdkafka, or a
    function that gives it, for passwords that are not in the code.
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

    async def read_lanes(self, after: Mapping[str, int]) -> AsyncIterator[Arrived | None]:
        """Answer messages for ever; raises ConnectionError without a broker, KafkaGone for a gap."""
        needed("confluent_kafka", "kafka")
        loop = asyncio.get_running_loop()
        # A consumer is used by one thread at a time, and closed by the same.
        thread = ThreadPoolExecutor(1, thread_name_prefix=f"kafka {self.topic}")
        reader = _Reader(self, after)
        try:
            await loop.run_in_executor(thread, reader.open)
            yield None
            while True:
                for message in await loop.run_in_executor(thread, reader.look):
                    offset, value = message.offset(), message.value()
                    assert offset is not None
                    yield Arrived(value or b"", offset, str(message.partition()))
        finally:
            thread.submit(reader.close)
            thread.shutdown(wait=False)


class _Reader:
    """One consumer and the partitions that it has. Every method is called by one thread."""

    def __init__(self, declared: Kafka, after: Mapping[str, int]) -> None:
        self._declared = declared
        self._after = after
        self._errors: list[KafkaError] = []
        self._consumer: Consumer | None = None
        self._assigned: set[int] = set()
        self._asked_s = 0.0

    def open(self) -> None:
        """Connect, and go on behind the offsets."""
        from confluent_kafka import Consumer

        given = self._declared.config() if callable(self._declared.config) else self._declared.config
        self._consumer = Consumer(
            {
                **(given or {}),
                "error_cb": self._errors.append,
                "bootstrap.servers": self._declared.servers,
                "group.id": "pondage",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
            }
        )
        self._take_partitions(self._consumer)

    def look(self) -> list[Message]:
        """Answer the next messages, of any partition."""
        assert self._consumer is not None
        if time.monotonic() - self._asked_s >= PARTITIONS_EVERY_S:
            self._take_partitions(self._consumer)
        return self._messages(self._consumer)

    def close(self) -> None:
        """Give the connections back."""
        if self._consumer is not None:
            self._consumer.close()

    def _take_partitions(self, consumer: Consumer) -> None:
        from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition

        try:
            new = sorted(self._partitions(consumer) - self._assigned)
            firsts = {each: self._after.get(str(each)) for each in new}
            if new:
                consumer.incremental_assign(
                    [
                        TopicPartition(self._declared.topic, each, OFFSET_BEGINNING if last is None else last + 1)
                        for each, last in firsts.items()
                    ]
                )
        except KafkaException as error:
            raise ConnectionError(f"Kafka at {self._declared.servers}: {error}") from error
        self._assigned.update(new)
        self._asked_s = time.monotonic()

    def _partitions(self, consumer: Consumer) -> set[int]:
        topic, only = self._declared.topic, self._declared.partition
        found = consumer.list_topics(topic, timeout=ANSWER_S).topics[topic]
        if found.error is not None:
            raise KafkaGone(f"the topic {topic} cannot be read: {found.error}")
        read = [int(lane) for lane in self._after] if only is None else [only]
        if gone := sorted(set(read) - set(found.partitions)):
            raise KafkaGone(f"the topic {topic} has no partition {gone[0]}")
        if len(found.partitions) > MOST_PARTITIONS and only is None:
            raise KafkaGone(
                f"the topic {topic} has {len(found.partitions)} partitions, more than {MOST_PARTITIONS}",
                hint="declare an accumulator for each: Kafka(..., partition=0)",
            )
        return set(found.partitions) if only is None else {only}

    def _messages(self, consumer: Consumer) -> list[Message]:
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
                raise ConnectionError(f"Kafka at {self._declared.servers}: {error.str()}")
        return kept
