"""The demand machine: when must something run?

`step(ponds, events, now)` advances Ponds in place and says what a host must do; `explain` says why a Pond does not run.
"""

from pondage.kernel.demand.effects import Effect, Reason
from pondage.kernel.demand.events import Event
from pondage.kernel.demand.explain import explain
from pondage.kernel.demand.gates import Gate
from pondage.kernel.demand.ponds import MemoryPonds, Ponds
from pondage.kernel.demand.shape import NEVER, NONE, Calendar, Occurrences, PondKey, PondShape, Retries
from pondage.kernel.demand.state import Condition, Pacing, PondState, decode_state, encode_state, new_state
from pondage.kernel.demand.step import Step, step

__all__ = [
    "NEVER",
    "NONE",
    "Calendar",
    "Condition",
    "Effect",
    "Event",
    "Gate",
    "MemoryPonds",
    "Occurrences",
    "Pacing",
    "PondKey",
    "PondShape",
    "PondState",
    "Ponds",
    "Reason",
    "Retries",
    "Step",
    "decode_state",
    "encode_state",
    "explain",
    "new_state",
    "step",
]
