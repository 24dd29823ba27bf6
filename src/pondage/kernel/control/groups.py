"""The end of a fused group: its members settle together, in topological order (2.7)."""

from __future__ import annotations

from pondage.kernel.control.advance import skip
from pondage.kernel.control.settle import Outcome, settle
from pondage.kernel.control.starting import whole_group
from pondage.kernel.control.state import State
from pondage.kernel.control.work import Level, Work


def is_inner(work: Work, level: Level, at: int) -> bool:
    """Is it an inner member of a group that runs? Then only the last member's attempt speaks for it."""
    group = whole_group(work, level, at, State.RUNNING)
    return bool(group) and at != group[-1]


def last_member(work: Work, level: Level, at: int) -> int:
    """Give who speaks for a running component: the last member of its group, or itself."""
    group = whole_group(work, level, at, State.RUNNING)
    return group[-1] if group else at


def settle_all(work: Work, level: Level, at: int, outcome: Outcome, reason: str, member: str = "") -> None:
    """Settle a component, before it the inner members of its group.

    `member` is the inner one that failed, by its instance: those before it are OK, those behind it are skipped without
    having been called. A failure of the execution as a whole is the last member's.
    """
    group = whole_group(work, level, at, State.RUNNING)
    failed = ""
    for one in group[:-1]:
        if failed:
            _skip(work, level, one, failed)
        elif level.instance(one) == member:
            failed = member
            settle(work, level, one, Outcome(raises=outcome.raises, code=outcome.code), reason)
        else:
            settle(work, level, one, Outcome(), reason)
    if failed:
        _skip(work, level, at, failed)
    else:
        settle(work, level, at, outcome, reason)


def _skip(work: Work, level: Level, at: int, failed: str) -> None:
    ports = work.component(level, at).ports
    lost = next((port.name for port in work.shape(level, at).ports if ports[port.name].lost), failed)
    skip(work, level, at, f"DATA_STARVED({lost})")
