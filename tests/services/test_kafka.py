"""Kafka in bulk, on a real broker: exactly the committed messages, each in one Run, whoever tries again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec
from pyspark.sql import SparkSession

from pondage import sources
from pondage.define.pond.run import Run, Unchanged
from pondage.errors import PondageError
from pondage.spark.session.driver import SparkDriver
from pondage.work.snapshot import SnapshotContent
from tests.patience import PATIENCE_S
from tests.services.kafka import KafkaServer, kafka_jars
from tests.services.postgres import wait_until
from tests.spark.pipeline import Pipeline

PONDS = """
from pathlib import Path
from pondage import Pond, Retries, sources
shop = Pond("shop", retries=Retries(immediately=1))

@shop.ripple
def messages(spark, run):
    frame = sources.kafka(spark, run, {servers!r}, {topic!r})
    if Path({marker!r}).exists():
        Path({marker!r}).unlink()
        Path({tried!r}).touch()
        raise RuntimeError("after the range was decided")
    return frame
"""
IVY = """#!{python}
import sys
from pathlib import Path
place = Path(sys.argv[-1]).parent
place.mkdir(parents=True, exist_ok=True)
(place / "{jar}").touch()
sys.exit({code})
"""
_numbers = count()


def test_the_jars_of_a_download_that_died_are_not_used(tmp_path: Path) -> None:
    def ivy(jar: str, code: int) -> str:
        java = tmp_path / jar
        java.write_text(IVY.format(python=sys.executable, jar=jar, code=code))
        java.chmod(0o700)
        return str(java)

    with pytest.raises(AssertionError, match="cannot be had"):
        kafka_jars(ivy("half.jar", 1), tmp_path / "cache")
    place = kafka_jars(ivy("whole.jar", 0), tmp_path / "cache")
    assert [each.name for each in place.glob("*.jar")] == ["whole.jar"]
    assert kafka_jars("no Java is needed", tmp_path / "cache") == place


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    return kafka.new_topic(f"orders-{next(_numbers)}", partitions=2)


@pytest.fixture
def pipeline(
    tmp_path: Path, driver: SparkDriver, kafka: KafkaServer, topic: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pipeline]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ponds", raising=False)
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    places = {"marker": str(tmp_path / "marker"), "tried": str(tmp_path / "tried")}
    made = Pipeline(tmp_path / "project", PONDS.format(servers=kafka.url, topic=topic, **places))
    yield made
    made.close()


def produce(kafka: KafkaServer, topic: str, values: range, *, ending: str | None = None) -> Producer:
    """Write one message for each value; `ending` ends a transaction, or leaves it open."""
    settings = {"bootstrap.servers": kafka.url, "log_level": "0"}
    if ending is not None:
        settings["transactional.id"] = f"t{next(_numbers)}"
        settings["transaction.timeout.ms"] = "600000"  # one may stay open while Spark runs on a busy machine
    producer = Producer(settings)
    if ending is not None:
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
    for value in values:
        producer.produce(topic, key=str(value), value=f"v{value}", partition=value % 2)
    assert producer.flush(PATIENCE_S) == 0
    if ending == "commit":
        producer.commit_transaction(PATIENCE_S)
    if ending == "abort":
        producer.abort_transaction(PATIENCE_S)
    if ending != "open":
        settle(kafka, topic)
    return producer


def settle(kafka: KafkaServer, topic: str) -> None:
    """Wait until readers see the end of every transaction: the broker writes it after it has answered."""

    def ends(level: IsolationLevel) -> list[int]:
        asked = {TopicPartition(topic, each): OffsetSpec.latest() for each in range(2)}
        return [each.result().offset for each in kafka.admin.list_offsets(asked, isolation_level=level).values()]

    wait_until(lambda: ends(IsolationLevel.READ_COMMITTED) == ends(IsolationLevel.READ_UNCOMMITTED))


def read(pipeline: Pipeline, spark: SparkSession) -> list[int]:
    content: SnapshotContent = pipeline.published("shop").tables[0].content
    rows = spark.read.parquet(*content.paths).collect() if content.files else []
    return sorted(int(bytes(row["value"]).decode()[1:]) for row in rows)


def test_each_run_reads_what_was_committed_since_and_nothing_else(
    pipeline: Pipeline, kafka: KafkaServer, topic: str, spark: SparkSession
) -> None:
    produce(kafka, topic, range(1000))
    pipeline.run("shop")
    assert read(pipeline, spark) == list(range(1000))
    produce(kafka, topic, range(1000, 1010), ending="commit")
    produce(kafka, topic, range(2000, 2005), ending="abort")
    opened = produce(kafka, topic, range(3000, 3004), ending="open")
    pipeline.run("shop")
    assert read(pipeline, spark) == list(range(1000, 1010))
    pipeline.run("shop")
    assert read(pipeline, spark) == list(range(1000, 1010)), "nothing is new while the transaction is open"
    opened.commit_transaction(PATIENCE_S)
    settle(kafka, topic)
    pipeline.run("shop")
    assert read(pipeline, spark) == list(range(3000, 3004))
    assert pipeline.failures == []


def test_a_retry_reads_the_same_range_although_more_has_come(
    pipeline: Pipeline, kafka: KafkaServer, topic: str, spark: SparkSession, tmp_path: Path
) -> None:
    produce(kafka, topic, range(10))
    (tmp_path / "marker").touch()
    first: Callable[[], bool] = pipeline.attempt

    def attempt() -> bool:
        done = first()
        if (tmp_path / "tried").exists():
            (tmp_path / "tried").unlink()
            produce(kafka, topic, range(10, 20))
        return done

    pipeline.attempt = attempt  # type: ignore[method-assign]
    pipeline.run("shop")
    assert len(pipeline.failures) == 1
    assert read(pipeline, spark) == list(range(10))
    positions = pipeline.published("shop").tables[0].content.positions
    assert json.loads(positions[f"kafka:{topic}"]) == {"from": {"0": 0, "1": 0}, "to": {"0": 5, "1": 5}}
    pipeline.run("shop")
    assert read(pipeline, spark) == list(range(10, 20))


class Kept:
    """Positions that a test chooses."""

    def __init__(self, position: object) -> None:
        self._position = json.dumps(position)

    def position(self, name: str) -> str | None:
        return self._position

    def decided(self, name: str) -> str | None:
        return None

    def decide(self, name: str, value: str) -> str:
        return value


def test_messages_that_were_deleted_unread_are_said_and_not_skipped(
    kafka: KafkaServer, topic: str, spark: SparkSession
) -> None:
    produce(kafka, topic, range(10))
    for future in kafka.admin.delete_records([TopicPartition(topic, 0, 4)]).values():
        future.result(timeout=PATIENCE_S)
    run = Run(freshness_us=0, positions=Kept({"from": {}, "to": {"0": 1, "1": 5}}))
    with pytest.raises(PondageError, match="3 messages were deleted unread"):
        sources.kafka(spark, run, kafka.url, topic)


@pytest.mark.parametrize("read", [{"0": 6, "1": 5}, {"0": 5, "1": 5, "2": 1}])
def test_a_topic_that_was_made_anew_is_said_and_its_messages_are_not_skipped(
    kafka: KafkaServer, topic: str, spark: SparkSession, read: dict[str, int]
) -> None:
    produce(kafka, topic, range(10))
    run = Run(freshness_us=0, positions=Kept({"from": {}, "to": read}))
    with pytest.raises(PondageError, match="it is another topic of that name"):
        sources.kafka(spark, run, kafka.url, topic)


def test_a_limit_and_a_beginning_may_be_given(kafka: KafkaServer, topic: str, spark: SparkSession) -> None:
    produce(kafka, topic, range(10))
    frame = sources.kafka(spark, Run(freshness_us=0), kafka.url, topic, most=2)
    assert frame.count() == 4
    assert sources.kafka(spark, Run(freshness_us=0), kafka.url, topic, start="latest").count() == 0
    done = Run(freshness_us=0, positions=Kept({"from": {}, "to": {"0": 5, "1": 5}}))
    with pytest.raises(Unchanged):
        sources.kafka(spark, done, kafka.url, topic)


def test_what_is_secret_is_named_and_in_no_plan(
    kafka: KafkaServer, topic: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    produce(kafka, topic, range(2))
    with pytest.raises(PondageError, match=r"sasl\.password"):
        sources.kafka(spark, Run(freshness_us=0), kafka.url, topic, config={"sasl.password": "hush"})
    run = Run(freshness_us=0, secrets={"k": "hush-1234"})
    frame = sources.kafka(spark, run, kafka.url, topic, secrets={"sasl.password": "k"})
    frame.explain("extended")
    assert "hush-1234" not in capsys.readouterr().out
    assert frame.count() == 2
    with pytest.raises(PondageError, match="no topic nothing"):
        sources.kafka(spark, run, kafka.url, "nothing")
