"""A Kafka broker of our own: one KRaft node on a free loopback port, with jars that Spark's own Ivy resolves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from pondage.spark.jvm.class_archive import cache_directory
from pondage.spark.jvm.java import find_java
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.services.jars import jars
from tests.services.postgres import wait_until

VERSION = "4.2.1"
HEAP = "-Xmx400m"


class KafkaServer:
    """One broker in a temporary directory, for as long as the tests run."""

    def __init__(self) -> None:
        self._java = str(find_java().executable)
        place = kafka_jars(self._java)
        self._class_path = os.pathsep.join(str(each) for each in sorted(place.glob("*.jar")))
        self.folder = Path(tempfile.mkdtemp(prefix="pondage-kafka-"))
        self.port = free_port()
        self.url = f"127.0.0.1:{self.port}"
        settings = self.folder / "server.properties"
        settings.write_text(_PROPERTIES.format(port=self.port, controller=free_port(), folder=self.folder))
        self._call("kafka.tools.StorageTool", "format", "-t", str(uuid4()), "-c", str(settings))
        self._settings = settings
        self.admin = AdminClient({"bootstrap.servers": self.url, "log_level": "0"})
        self.start()

    def start(self) -> None:
        """Start the broker, again with what it had, and wait until it answers."""
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", str(self._settings)), stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        try:
            wait_until(self._answers)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """Kill the broker; its data stays."""
        self._process.kill()
        self._process.wait()

    def hang(self, *, on: bool) -> None:
        """Let the broker answer nothing, or go on."""
        self._process.send_signal(signal.SIGSTOP if on else signal.SIGCONT)

    def new_topic(self, name: str, partitions: int = 1) -> str:
        """Create a topic and wait until it can be written."""
        for future in self.admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(timeout=PATIENCE_S)
        wait_until(lambda: self._led(name) == partitions)
        return name

    def grow_topic(self, name: str, partitions: int) -> None:
        """Give a topic more partitions and wait until all can be written."""
        for future in self.admin.create_partitions([NewPartitions(name, partitions)]).values():
            future.result(timeout=PATIENCE_S)
        wait_until(lambda: self._led(name) == partitions)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _led(self, name: str) -> int:
        """Answer how many partitions of a topic can be written by now: the broker hears of it after it has answered."""
        try:
            topic = self.admin.list_topics(name, timeout=5).topics[name]
        except KafkaException:
            return 0
        return sum(partition.leader >= 0 for partition in topic.partitions.values())

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(f"Kafka ended: {(self.folder / 'log').read_text()[-2000:]}")
        try:
            return bool(self.admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [self._java, HEAP, "-XX:+UseSerialGC", "-cp", self._class_path, program, *arguments]

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(self._command(program, *arguments), capture_output=True, check=False, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr.decode()[-2000:]


def kafka_jars(java: str, cache: Path | None = None) -> Path:
    """Answer the directory with Kafka's jars in the user's cache; the first time they are downloaded."""
    return jars(java, (cache or cache_directory()) / "kafka", "org.apache.kafka", "kafka_2.13", VERSION)


_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
"""
