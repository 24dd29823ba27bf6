"""Kafka in bulk: a Run reads a range of offsets of each partition, and the ranges are the batch's identity.

They begin where the last snapshot ended and end where the topic ended when this Run was first tried. Both are kept in
the ledger, so a Run that is tried again reads exactly the same messages, and no message is read by two Runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from pondage.connect.tables import needed
from pondage.define.pond.run import Run
from pondage.errors import PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANSWER_S = 30.0
_SECRET_KEY = re.compile(r"(?i)password|secret|\.key$|token")
Offsets = dict[str, int]
"""By the number of the partition, as JSON has it."""


class KafkaFailed(PondageError):
    """A topic cannot be read, or not as it was asked for."""

    code = "KAFKA"


def kafka(
    spark: SparkSession,
    run: Run,
    servers: str,
    topic: str,
    *,
    start: Literal["earliest", "latest"] = "earliest",
    most: int | None = None,
    config: dict[str, str] | None = None,
    secrets: dict[str, str] | None = None,
    name: str | None = None,
) -> DataFrame:
    """Read the messages that no published Run of this Ripple has read: key, value, topic, partition, offset, timestamp.

    Only committed messages are read. `start` says where the first Run begins, `most` how many messages of a partition
    one Run reads. `config` is that of librdkafka; what is secret in it is given as `secrets={"sasl.password": NAME}`.
    `name` tells two readers of a topic in one Ripple apart. When nothing is new the Ripple ends as unchanged. Raises
    `KafkaFailed` when the topic does not exist, no longer has messages that were not read yet, or was made anew.
    """
    needed("confluent_kafka", "kafka")
    from pondage.connect.kafka_offsets import offsets_of
    from pondage.connect.kafka_source import SCHEMA, ranges_source

    settings = _settings(run, servers, config or {}, secrets or {})
    key = f"kafka:{name or topic}"
    before = run.position(key)
    position = None if before is None else msgspec.convert(before, dict[str, Offsets])["to"]

    def decide() -> dict[str, Offsets]:
        first, last = offsets_of(settings, topic, timeout_s=ANSWER_S)
        begin = _beginning(topic, first, last, position, start)
        ends = {each: last[each] if most is None else min(last[each], begin[each] + most) for each in last}
        return {"from": begin, "to": ends}

    decided = msgspec.convert(run.read_to(key, decide), dict[str, Offsets])
    ranges = [(int(each), first, decided["to"][each]) for each, first in decided["from"].items()]
    ranges = sorted(each for each in ranges if each[1] < each[2])
    if not ranges:
        if position is not None:
            run.unchanged()
        return spark.createDataFrame([], SCHEMA)
    source = ranges_source(settings, topic, ranges)
    spark.dataSource.register(source)
    return spark.read.format(source.name()).load()


def _beginning(topic: str, first: Offsets, last: Offsets, position: Offsets | None, start: str) -> Offsets:
    if position is None:
        return dict(first if start == "earliest" else last)
    # A partition that was added since is read from its first message.
    begin = {each: position.get(each, first[each]) for each in last}
    again = [each for each, read in position.items() if last.get(each, -1) < read]
    if again:
        each = again[0]
        end = f"ends at {last[each]}" if each in last else "is not there"
        raise KafkaFailed(
            f"{topic}[{each}] {end}, but messages up to {position[each]} were read: it is another topic of that name",
            hint="give kafka(…, name=…) a new name to read it from its beginning",
            code="KAFKA_LOST",
        )
    lost = [each for each in last if begin[each] < first[each]]
    if lost:
        each = lost[0]
        raise KafkaFailed(
            f"{topic}[{each}] begins at {first[each]}, but the next message to read is {begin[each]}: "
            f"{first[each] - begin[each]} messages were deleted unread",
            hint="read more often than the topic's retention, or give kafka(…, name=…) a new name to begin anew",
            code="KAFKA_LOST",
        )
    return begin


def _settings(run: Run, servers: str, config: dict[str, str], secrets: dict[str, str]) -> dict[str, str]:
    exposed = [key for key in config if _SECRET_KEY.search(key)]
    if exposed:
        raise KafkaFailed(
            f"config of a Kafka source holds {exposed[0]}",
            hint=f'store it with `pondage secret set NAME`, and write secrets={{"{exposed[0]}": "NAME"}}',
            code="BAD_KAFKA",
        )
    opened = {key: run.secret(reference) for key, reference in secrets.items()}
    return {"bootstrap.servers": servers, **config, **opened}
