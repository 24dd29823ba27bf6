"""Where data comes from: what an author calls in an Inlet. Importing this costs nothing; Spark is used when called."""

from __future__ import annotations

from pondage.connect.files import csv, good, json, rejected, text
from pondage.connect.jdbc import jdbc, write_jdbc
from pondage.connect.kafka import kafka
from pondage.connect.landing.source import files
from pondage.work.snapshot import BAD

__all__ = ["BAD", "csv", "files", "good", "jdbc", "json", "kafka", "rejected", "text", "write_jdbc"]
