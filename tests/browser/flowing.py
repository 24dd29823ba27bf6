"""Flows whose nodes stream, as the page looks at them: one that is over, one that is open, one that broke."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from pondage.define.types.segment import END, Segment
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded
from pondage.ledger.data import segments
from pondage.ledger.data.segments import Reader, Stream
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables.job_plans import StoredJob, stored_job
from pondage.work.component import ComponentResult, ComponentTask, MemberResult
from tests.browser.history import TRACE, Crew
from tests.plan.flow.programs import PROGRAMS, planned

TREE = {
    "version": 1,
    "nodes": {
        "clicks": {"prog": "ticks"},
        "cleaned": {"prog": "scan"},
        "scored": {"prog": "external"},
        "checked": {"prog": "unwrap"},
        "kept": {"prog": "sink"},
    },
    "edges": [
        ["clicks.out", "cleaned.in"],
        ["cleaned.out", "scored.in"],
        ["scored.out", "checked.in"],
        ["checked.ok", "kept.in"],
        ["checked.err", "kept.in"],
    ],
    "extract": {"scores": {"from": "checked.ok", "format": "ndjson"}},
}


@dataclass(kw_only=True)
class Flows:
    """The id of a flow that is over, of one that goes on, and whoever writes in that one."""

    ended: str
    going: str
    held: dict[str, Work]


def flows(ledger: Ledger, crew: Crew) -> Flows:
    """Live through three flows: one is over, one failed, one goes on for ever."""
    stored = _stored()
    ended = _start(ledger, stored, "score_monday", "by hand")
    held = _claimed(crew)
    for node, count in (("clicks", 14), ("cleaned", 14), ("scored", 5), ("checked", 5)):
        _put(ledger, held[node], "ok" if node == "checked" else "out", count, ends=True)
    for writer, port, reader in EDGES:
        _read(ledger, held[writer], port, held[reader], "in", 99)
    for node in ("clicks", "cleaned", "scored", "checked"):
        _finish(ledger, crew, held[node])
    for late in _claimed(crew).values():
        _finish(ledger, crew, late)
    _start(ledger, stored, "score_tuesday", "by hand")
    held = _claimed(crew)
    _put(ledger, held["clicks"], "out", 3)
    _finish(ledger, crew, held["clicks"], raises="the shop closed the connection")
    going = _start(ledger, stored, "score_now", "token shop (t3)")
    held = _claimed(crew)
    for node, count in (("clicks", 40), ("cleaned", 37), ("scored", 6)):
        _put(ledger, held[node], "out", count)
    for (writer, port, reader), count in zip(EDGES, (37, 21, 6), strict=False):
        _read(ledger, held[writer], port, held[reader], "in", count, waits=reader == "checked")
    return Flows(ended=ended, going=going, held=held)


EDGES = (("clicks", "out", "cleaned"), ("cleaned", "out", "scored"), ("scored", "out", "checked"))


def _stored() -> StoredJob:
    found = planned(TREE, fuses=False)
    return stored_job(found.plan, PROGRAMS, flow=found.facts)


def _start(ledger: Ledger, stored: StoredJob, name: str, reason: str) -> str:
    named = msgspec.structs.replace(stored, plan=msgspec.structs.replace(stored.plan, name=name))
    return jobs.start_job(ledger, "main", named, context={}, reason=reason)


def _claimed(crew: Crew) -> dict[str, Work]:
    found = {}
    while (held := crew.claim()) is not None:
        assert crew.clock.at is not None
        crew.clock.at += 300_000
        found[held.claim.node] = held
    return found


def put_more(ledger: Ledger, held: Work, seq: int) -> None:
    """Write one more segment."""
    _put(ledger, held, "out", seq + 1, first=seq)


def _put(ledger: Ledger, held: Work, port: str, count: int, *, first: int = 0, ends: bool = False) -> None:
    assert isinstance(held.task, ComponentTask)
    stream = Stream(held.task.run, held.claim.node, port)
    for seq in range(first, count):
        entry = Segment(ref=f"/w/{seq}", rows=120 + seq, bytes=4_100 + 7 * seq, sha256=f"{seq}")
        with ledger.transaction() as tx:
            segments.append(tx, held.claim, stream, seq, entry)
    if ends:
        with ledger.transaction() as tx:
            segments.append(tx, held.claim, stream, count, END)


def _read(ledger: Ledger, writer: Work, port: str, reader: Work, into: str, count: int, *, waits: bool = False) -> None:
    assert isinstance(writer.task, ComponentTask)
    at = Reader(Stream(writer.task.run, writer.claim.node, port), reader.claim.node, into)
    with ledger.transaction() as tx:
        segments.attach(tx, reader.claim, at)
        segments.move(tx, reader.claim, at, count)
        if waits:
            segments.wait_for_more(tx, reader.claim, at)


def _finish(ledger: Ledger, crew: Crew, held: Work, raises: str | None = None) -> None:
    assert crew.clock.at is not None
    crew.clock.at += 900_000
    trace = None if raises is None else TRACE.format(node=held.claim.node, message=raises)
    code = "" if raises is None else "ConnectionError"
    result = MemberResult(instance=held.claim.node, raises=raises, code=code, trace=trace)
    assert guarded.commit(ledger, held, ComponentEnded(ComponentResult(members=(result,))), process=crew.process)
