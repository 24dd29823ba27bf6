"""Where data comes from: what an author calls in an Inlet. Importing this costs nothing; Spark is used when called."""

from __future__ import annotations

from pondage.connect.files import BAD, csv, good, json, rejected, text

__all__ = ["BAD", "csv", "good", "json", "rejected", "text"]
