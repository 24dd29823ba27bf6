"""Running a component, or the members of a fused group: called in turn, and only the last one's tables are written.

Nothing here imports Spark before a component needs it: sleeping, failing or listing files does not start a JVM.
"""

from __future__ import annotations

from collections.abc import Sequence

from pondage.spark.component.call import Call, ComponentWork
from pondage.spark.component.inputs import Frames
from pondage.work.component import ComponentResult, Member, MemberResult


def run_components(work: ComponentWork) -> ComponentResult:
    """Call each member and write the last one's tables; a failure is part of the answer, told by its member.

    Raises only what is not the author's fault: the JVM is gone (SPARK_LOST), or the attempt was cancelled.
    """
    results: list[MemberResult] = []
    made: Frames = {}
    for member in work.task.members:
        if results and results[-1].raises is not None:
            later = work.task.members[len(results) :]
            results += [MemberResult(instance=one.instance, is_skipped=True) for one in later]
            break
        results.append(_call(work, member).result(made))
    return ComponentResult(members=_blamed(work.task.members, results))


def _blamed(members: Sequence[Member], results: list[MemberResult]) -> tuple[MemberResult, ...]:
    """Put the failure of what was written where its cause is: nothing came of the members behind that one."""
    last = results[-1]
    at = next(place for place, member in enumerate(members) if member.instance == last.instance)
    later = [MemberResult(instance=member.instance, is_skipped=True) for member in members[at + 1 :]]
    return (*results[:at], last, *later)


def _call(work: ComponentWork, member: Member) -> Call:
    if member.mode == "table":
        return Call(work, member)
    from pondage.spark.component.stream import StreamCall

    return StreamCall(work, member)
