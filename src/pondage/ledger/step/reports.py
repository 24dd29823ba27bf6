"""What the ledger tells a machine about work that failed: the event of its kind."""

from __future__ import annotations

import msgspec

from pondage.kernel.control.events import Settled
from pondage.kernel.demand.events import Fail
from pondage.ledger.data.inputs import ripple_inputs
from pondage.work.snapshot import ExpectationResult, SnapshotContent


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an execution failed: for people (`message`, `place`), for scripts (`code`), for experts (`trace`)."""

    code: str
    message: str
    place: str | None = None
    trace: str | None = None


class RuleFailure(Failure, frozen=True, kw_only=True):
    """Rows that break rules: how each rule went, and the rows, which are kept for a while for whoever asks."""

    results: tuple[ExpectationResult, ...]
    rejected: SnapshotContent | None = None


def failure_event(
    *, kind: str, node: str, number: int, inputs: str, code: str, message: str, error: str
) -> Fail | Settled | None:
    """Answer what the actor of a dispatch must be told when it failed; None when it has no machine.

    `error` is the whole failure as JSON, which a Pond keeps; a component keeps its message and its code.
    """
    if kind == "component":
        return Settled(instance=node, attempt=number, raises=message, code=code)
    if kind == "ripple":
        return Fail(pond=ripple_inputs(inputs).pond, ripple=node, attempt=number, error=error)
    return None
