"""The control machine: how does one run unfold inside?

`step(index, rows, events, now)` advances a run in place and says what a host must do; `resume.collect` gives what a
resumed run need not repeat.
"""

from pondage.kernel.control.effects import Effect
from pondage.kernel.control.events import Event
from pondage.kernel.control.index import Index
from pondage.kernel.control.resume import Difference, collect, difference, is_resumable
from pondage.kernel.control.rows import MemoryRows, Rows
from pondage.kernel.control.shape import JobPlan
from pondage.kernel.control.state import JobState, State, decode_row, encode_row
from pondage.kernel.control.step import Step, step

__all__ = [
    "Difference",
    "Effect",
    "Event",
    "Index",
    "JobPlan",
    "JobState",
    "MemoryRows",
    "Rows",
    "State",
    "Step",
    "collect",
    "decode_row",
    "difference",
    "encode_row",
    "is_resumable",
    "step",
]
