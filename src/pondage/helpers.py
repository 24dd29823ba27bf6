"""What every warehouse needs and nobody should write twice: the history of a dimension, the newest row of a key.

Plain functions from DataFrames to DataFrames. Importing this costs nothing; Spark is used when they are called.
"""

from __future__ import annotations

from pondage.spark.ripple.histories import HardDeletes, latest, scd2, snapshot

__all__ = ["HardDeletes", "latest", "scd2", "snapshot"]
