"""The Python data source that reads ranges of offsets, one task for each partition, as Arrow batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
BATCH = 10_000
SILENCE_S = 60.0
"""After so long without a message the task fails, and is tried again."""


@dataclass
class OffsetRange(InputPartition):
    """The messages of one partition from `first` to before `last`."""

    partition: int
    first: int
    last: int


def ranges_source(settings: dict[str, str], topic: str, ranges: Sequence[tuple[int, int, int]]) -> type[DataSource]:
    """Answer a data source of exactly these messages.

    The settings are part of the class, which Spark hands to its Python workers: as options they would be in the plan.
    """

    class KafkaRanges(DataSource):
        @classmethod
        def name(cls) -> str:
            return "pondage_kafka"

        def schema(self) -> str:
            return SCHEMA

        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's signature
            return KafkaReader(settings, topic, ranges)

    return KafkaRanges


class KafkaReader(DataSourceReader):
    """Reads each range in a task of its own."""

    def __init__(self, settings: dict[str, str], topic: str, ranges: Sequence[tuple[int, int, int]]) -> None:
        self._settings = settings
        self._topic = topic
        self._ranges = list(ranges)

    def partitions(self) -> Sequence[InputPartition]:
        """Answer one range for each partition of the topic that has news."""
        return [OffsetRange(*each) for each in self._ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one range. No message of it is left out: the end is seen as an offset, never as a pause."""
        if isinstance(partition, OffsetRange):
            yield from read_range(self._settings, self._topic, partition)


def read_range(settings: dict[str, str], topic: str, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """Answer the committed messages of a range in batches; raises when the broker is silent for too long."""
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    consumer = Consumer(
        {
            **settings,
            # A group is never joined: offsets are kept in the ledger.
            "group.id": "pondage",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
        }
    )
    try:
        consumer.assign([TopicPartition(topic, wanted.partition, wanted.first)])
        heard_s = time.monotonic()
        is_over = False
        while not is_over:
            kept = []
            for message in consumer.consume(BATCH, timeout=1.0):
                heard_s = time.monotonic()
                error, offset = message.error(), message.offset() or 0
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                # What ends a transaction takes an offset without being a message, so the last one may never come.
                is_over = is_over or offset >= wanted.last - (error is None)
                if error is None and offset < wanted.last:
                    kept.append(message)
            if kept:
                yield _batch(topic, wanted.partition, kept)
            if time.monotonic() - heard_s > SILENCE_S:
                raise TimeoutError(f"nothing of {topic}[{wanted.partition}] came for {SILENCE_S:.0f} s")
    finally:
        consumer.close()


def _batch(topic: str, partition: int, messages: list[Any]) -> pa.RecordBatch:
    import pyarrow as pa

    count = len(messages)
    # A message without a time says -1.
    times = [stamp if kind else None for kind, stamp in (message.timestamp() for message in messages)]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([message.key() for message in messages], pa.binary()),
            pa.array([message.value() for message in messages], pa.binary()),
            pa.array([topic] * count, pa.string()),
            pa.array([partition] * count, pa.int32()),
            pa.array([message.offset() for message in messages], pa.int64()),
            pa.array([None if each is None else each * 1000 for each in times], pa.timestamp("us", "UTC")),
        ],
        names=["key", "value", "topic", "partition", "offset", "timestamp"],
    )
