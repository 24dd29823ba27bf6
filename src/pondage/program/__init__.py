"""For writing programs of flows in Python: `serve(work)` and what a job offers. Nothing here needs Spark."""

from __future__ import annotations

from pondage.program.job import InputSlot, Job, JobOver, OutputSlot
from pondage.program.serving import serve

__all__ = ["InputSlot", "Job", "JobOver", "OutputSlot", "serve"]
