"""Spark Declarative Pipelines, unmodified, as Ponds: `pondage import-sdp` writes a project that uses this.

Importing it costs no Spark: only calling `Pipeline.frame` does.
"""

from __future__ import annotations

from pondage.connect.sdp.pipeline import Pipeline

__all__ = ["Pipeline"]
