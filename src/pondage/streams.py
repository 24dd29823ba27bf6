"""Outside sources of reactors: `Accumulator.stream("prices", Price, source=Kafka(...))`."""

from __future__ import annotations

from pondage.connect.streams.amqp import Amqp
from pondage.connect.streams.directory import ArrivedFile, Directory
from pondage.connect.streams.kafka import Kafka
from pondage.connect.streams.rows import Rows
from pondage.define.reactor.accumulator import Arrived

__all__ = ["Amqp", "Arrived", "ArrivedFile", "Directory", "Kafka", "Rows"]
