"""Where a topic begins and ends, for readers of committed messages."""

from __future__ import annotations

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from pondage.errors import PondageError

_SPECS = (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]


def offsets_of(settings: dict[str, str], topic: str, *, timeout_s: float) -> tuple[dict[str, int], dict[str, int]]:
    """Answer the first offset of each partition, and the one after the last; raises `PondageError` (KAFKA).

    The last is that of committed messages: a transaction that is open now is not waited for, but read by a later Run.
    """
    client = AdminClient({"log_level": "0", **settings})
    try:
        found = client.list_topics(topic, timeout=timeout_s).topics.get(topic)
        if found is None or found.error is not None or not found.partitions:
            raise PondageError(
                f"there is no topic {topic} at {settings['bootstrap.servers']}",
                hint="create it, or correct its name",
                code="KAFKA",
            )
        partitions = [TopicPartition(topic, each) for each in found.partitions]
        asked = [
            client.list_offsets(
                dict.fromkeys(partitions, spec),
                isolation_level=IsolationLevel.READ_COMMITTED,
                request_timeout=timeout_s,
            )
            for spec in _SPECS
        ]
        first, last = (
            {str(each.partition): int(answer.result().offset) for each, answer in one.items()} for one in asked
        )
    except KafkaException as error:
        raise PondageError(
            f"Kafka at {settings['bootstrap.servers']} does not answer for {topic}: {error.args[0].str()}",
            hint="see that the brokers run and can be reached from the worker",
            code="KAFKA",
        ) from None
    return first, last
