"""The reaction machine: data that arrives is the reason to run.

`step(state, event, now)` changes a reactor in place and says what a host must do. Durable facts change by `apply` only,
so `recover(shape, records)`, a fold, gives after every step what `durable(state)` gives.
"""

from pondage.kernel.reaction.apply import apply, fold, recover
from pondage.kernel.reaction.effects import Effect
from pondage.kernel.reaction.events import Event, read_event
from pondage.kernel.reaction.facts import Facts, decode_facts, encode_facts
from pondage.kernel.reaction.records import AnyRecord, Full, decode_records, encode_records, is_derivable
from pondage.kernel.reaction.redeclare import redeclare
from pondage.kernel.reaction.shape import (
    NEVER,
    NONE,
    Criteria,
    Failing,
    FailurePolicy,
    Gate,
    Kind,
    Policy,
    Publication,
    ReactorShape,
    SourceShape,
    Strategy,
)
from pondage.kernel.reaction.state import Condition, SourceCondition, State, durable, new_state, next_deadline
from pondage.kernel.reaction.step import step, step_many

__all__ = [
    "NEVER",
    "NONE",
    "AnyRecord",
    "Condition",
    "Criteria",
    "Effect",
    "Event",
    "Facts",
    "Failing",
    "FailurePolicy",
    "Full",
    "Gate",
    "Kind",
    "Policy",
    "Publication",
    "ReactorShape",
    "SourceCondition",
    "SourceShape",
    "State",
    "Strategy",
    "apply",
    "decode_facts",
    "decode_records",
    "durable",
    "encode_facts",
    "encode_records",
    "fold",
    "is_derivable",
    "new_state",
    "next_deadline",
    "read_event",
    "recover",
    "redeclare",
    "step",
    "step_many",
]
