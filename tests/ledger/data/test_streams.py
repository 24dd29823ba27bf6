"""Streams as rows: a dense order under the owner's token, a cursor for each reader, replay, back-pressure, removal."""

from __future__ import annotations

import pytest

from pondage.cli.printing.jobs import component_rows
from pondage.define.job.component import ComponentDefinition
from pondage.define.types.port import Port
from pondage.define.types.segment import END, Segment
from pondage.errors import LedgerError
from pondage.kernel.streams import Placed
from pondage.ledger.act import extracts, jobs
from pondage.ledger.data import segments
from pondage.ledger.data.segments import Fenced, Reader, Stream
from pondage.ledger.kinds.kind import Work
from pondage.ledger.upkeep import job_pruning, reap
from pondage.plan.job.stored_job import stored_job
from pondage.views.jobs.flows import flow_run
from pondage.views.jobs.streams import ReaderView
from pondage.work.component import ComponentResult, ComponentTask, MemberResult, Streamed
from tests.ledger.harness import SECOND
from tests.ledger.jobs import Jobs, job
from tests.plan.flow.programs import PROGRAMS, planned

STREAMS = {
    "feed": ComponentDefinition(
        name="feed", outputs={"out": Port(type="Stream<Any>")}, mode="stream", deterministic=True
    ),
    "scan": ComponentDefinition(
        name="scan",
        inputs={"in": Port(type="Stream<Any>")},
        outputs={"out": Port(type="Stream<Any>")},
        mode="stream",
        deterministic=True,
    ),
    "merge": ComponentDefinition(
        name="merge",
        inputs={"left": Port(type="Stream<Any>"), "right": Port(type="Stream<Any>")},
        mode="stream",
        deterministic=True,
    ),
    "whole": ComponentDefinition(name="whole", inputs={"in": Port(type="Table<Any>")}),
    "sorry": ComponentDefinition(name="sorry", inputs={}),
}
PAIR = """
job: {name: pair}
components: [{name: p, type: feed}, {name: c, type: scan}]
connections: {data: [p.out -> c.in]}
"""
TEE = """
job: {name: tee}
job_config: {max_in_flight_rows: 5}
components: [{name: p, type: feed}, {name: a, type: scan}, {name: b, type: scan}]
connections: {data: [p.out -> a.in, {from: p.out, to: b.in, max_in_flight_rows: 50}]}
"""
TABLE = """
job: {name: table}
components: [{name: p, type: feed}, {name: w, type: whole}]
connections: {data: [p.out -> w.in]}
"""
RESUMED = """
job: {name: resumed}
components: [{name: p, type: feed}, {name: w, type: whole}]
connections: {data: [p.out -> w.in], control: [p (subjob_ok) w]}
"""
DIAMOND = """
job: {name: diamond}
job_config: {max_in_flight_rows: 1}
components: [{name: p, type: feed}, {name: s, type: scan}, {name: m, type: merge}]
connections: {data: [p.out -> s.in, s.out -> m.left, p.out -> m.right]}
"""


def segment(name: str, rows: int = 1) -> Segment:
    return Segment(ref=f"/w/{name}", rows=rows, bytes=10, sha256=name)


def claimed(run: Jobs, node: str) -> Work:
    """Claim until this node comes; what comes before it is kept for whoever asks next."""
    waiting: dict[str, Work] = run.__dict__.setdefault("waiting", {})
    while node not in waiting:
        held = run.claim()
        assert held is not None, f"{node} cannot be claimed"
        waiting[held.claim.node] = held
    return waiting.pop(node)


def stream_of(held: Work, port: str = "out") -> Stream:
    assert isinstance(held.task, ComponentTask)
    return Stream(held.task.run, held.claim.node, port)


def put(run: Jobs, held: Work, seq: int, entry: Segment) -> Placed:
    with run.world.ledger.transaction() as tx:
        return segments.append(tx, held.claim, stream_of(held), seq, entry)


def attach(run: Jobs, held: Work, stream: Stream, port: str = "in") -> Reader:
    reader = Reader(stream, held.claim.node, port)
    with run.world.ledger.transaction() as tx:
        segments.attach(tx, held.claim, reader)
    return reader


def full(run: Jobs, stream: Stream) -> list[str]:
    with run.world.ledger.reading() as tx:
        return [one.edge for one in segments.full_for(tx, stream)]


def finish(run: Jobs, held: Work, raises: str | None = None) -> bool:
    result = MemberResult(instance=held.claim.node, raises=raises, code="Boom" if raises else "")
    return run.commit_result(held, ComponentResult(members=(result,)))


def test_a_reader_is_dispatched_while_its_writer_runs_and_both_hold_an_execution(run: Jobs) -> None:
    started = run.start(job(PAIR, registry=STREAMS))
    writer = claimed(run, "p")
    reader = claimed(run, "c")
    assert run.states(started) == {"p": "RUNNING", "c": "RUNNING"}
    assert isinstance(reader.task, ComponentTask)
    assert reader.task.members[0].inputs == {"in": (Streamed("p", "out"),)}
    put(run, writer, 0, segment("a"))
    with run.world.ledger.reading() as tx:
        found = segments.find(tx, stream_of(writer), 0)
    assert found == segment("a")
    put(run, writer, 1, END)
    assert finish(run, writer)
    assert finish(run, reader)
    assert run.row(started).state == "OK"


def test_a_restarted_writer_skips_what_is_equal_and_is_told_of_a_difference(run: Jobs) -> None:
    run.start(job(PAIR, registry=STREAMS))
    first = claimed(run, "p")
    assert put(run, first, 0, segment("a")) is Placed.APPENDED
    assert put(run, first, 1, segment("b")) is Placed.APPENDED
    crash(run, first)
    second = claimed(run, "p")
    assert put(run, second, 0, segment("a")) is Placed.SKIPPED
    assert put(run, second, 1, segment("x")) is Placed.MISMATCH
    assert put(run, second, 3, segment("c")) is Placed.GAP
    assert put(run, second, 2, segment("c")) is Placed.APPENDED
    assert put(run, second, 3, END) is Placed.APPENDED
    assert put(run, second, 4, segment("d")) is Placed.MISMATCH
    with run.world.ledger.reading() as tx:
        assert [one.sha256 for one in segments.read(tx, stream_of(second))] == ["a", "b", "c", ""]


def test_only_the_holder_of_the_token_appends_and_reads(run: Jobs) -> None:
    run.start(job(PAIR, registry=STREAMS))
    held = claimed(run, "p")
    crash(run, held)
    with pytest.raises(Fenced):
        put(run, held, 0, segment("a"))
    assert run.world.one("SELECT count(*) FROM segments") == 0


def test_each_reader_has_a_cursor_and_limits_of_its_own_and_only_one_that_runs_is_waited_for(run: Jobs) -> None:
    run.start(job(TEE, registry=STREAMS))
    writer = claimed(run, "p")
    stream = stream_of(writer)
    for seq in range(3):
        put(run, writer, seq, segment(f"{seq}", rows=2))
    assert full(run, stream) == [], "nobody reads yet: segments pile up"
    a, b = claimed(run, "a"), claimed(run, "b")
    slow, fast = attach(run, a, stream), attach(run, b, stream)
    assert full(run, stream) == ["p.out -> a.in"], "six rows: over 5, under 50"
    with run.world.ledger.transaction() as tx:
        segments.move(tx, a.claim, slow, 1)
    assert full(run, stream) == []
    with run.world.ledger.reading() as tx:
        assert (segments.cursor(tx, slow).seq, segments.cursor(tx, fast).seq) == (1, 0)
    crash(run, a)
    put(run, writer, 3, segment("3", rows=9))
    assert full(run, stream) == []


def test_sixty_four_unread_segments_make_a_writer_wait_whatever_they_hold(run: Jobs) -> None:
    run.start(job(PAIR, registry=STREAMS))
    writer, reader = claimed(run, "p"), claimed(run, "c")
    attach(run, reader, stream_of(writer))
    for seq in range(64):
        assert full(run, stream_of(writer)) == []
        put(run, writer, seq, segment(f"{seq}"))
    assert full(run, stream_of(writer)) == ["p.out -> c.in"]


def test_a_circle_of_waiting_puts_and_takes_lifts_the_limit_of_its_fullest_edge(run: Jobs) -> None:
    run.start(job(DIAMOND, registry=STREAMS))
    writer, middle, merge = claimed(run, "p"), claimed(run, "s"), claimed(run, "m")
    source = stream_of(writer)
    through = attach(run, middle, source)
    left, right = attach(run, merge, stream_of(middle), "left"), attach(run, merge, source, "right")
    put(run, writer, 0, segment("a"))
    with run.world.ledger.transaction() as tx:
        segments.move(tx, middle.claim, through, 1)  # it has read all and gives nothing yet
    assert full(run, source) == ["p.out -> m.right"]
    with run.world.ledger.transaction() as tx:
        segments.wait_for_more(tx, middle.claim, through)
        segments.wait_for_more(tx, merge.claim, left)
        segments.block(tx, writer.claim, segments.full_for(tx, source))
    assert full(run, source) == [], "p waits for m, m for s, s for p"
    with run.world.ledger.transaction() as tx:
        segments.move(tx, merge.claim, right, 0)
        segments.move(tx, merge.claim, left, 0)  # it waits no more, so there is no circle
    assert full(run, source) == ["p.out -> m.right"]


def test_a_running_reader_hears_that_its_writer_failed_and_one_that_waits_is_skipped(run: Jobs) -> None:
    started = run.start(job(PAIR, registry=STREAMS))
    writer, reader = claimed(run, "p"), claimed(run, "c")
    cursor = attach(run, reader, stream_of(writer))
    finish(run, writer, raises="it went wrong")
    with run.world.ledger.reading() as tx:
        assert segments.cursor(tx, cursor).error == "UPSTREAM_ERROR"
    result = MemberResult(instance="c", raises="p failed", code="UPSTREAM_ERROR")
    run.commit_result(reader, ComponentResult(members=(result,)))
    assert run.states(started) == {"p": "ERROR", "c": "ERROR"}


def test_a_table_input_waits_for_the_end_of_the_stream_and_is_given_all_of_it(run: Jobs) -> None:
    run.start(job(TABLE, registry=STREAMS))
    writer = claimed(run, "p")
    put(run, writer, 0, segment("a"))
    assert run.claim() is None
    put(run, writer, 1, segment("b"))
    put(run, writer, 2, END)
    finish(run, writer)
    whole = claimed(run, "w")
    assert isinstance(whole.task, ComponentTask)
    assert whole.task.members[0].inputs == {"in": (Streamed("p", "out", (segment("a"), segment("b")), "Stream<Any>"),)}


def test_segments_go_with_the_retention_of_their_run(run: Jobs) -> None:
    run.start(job(PAIR, registry=STREAMS))
    writer, reader = claimed(run, "p"), claimed(run, "c")
    attach(run, reader, stream_of(writer))
    put(run, writer, 0, END)
    finish(run, writer)
    finish(run, reader)
    with run.world.ledger.reading() as tx:
        assert job_pruning.kept_tokens(tx, [writer.claim.token]) == {writer.claim.token}
    run.world.clock.time += 31 * 86_400 * SECOND
    assert job_pruning.prune(run.world.ledger) == 1
    for table in ("segments", "cursors", "job_runs"):
        assert run.world.one(f"SELECT count(*) FROM {table}") == 0
    with run.world.ledger.reading() as tx:
        assert job_pruning.kept_tokens(tx, [writer.claim.token]) == set()


def crash(run: Jobs, held: Work) -> None:
    """End one execution as crashed; the worker and whatever else it holds live on."""
    with run.world.ledger.transaction() as tx:
        (one,) = [each for each in reap.executions.held_by(tx, run.worker.id) if each.token == held.claim.token]
        reap.crashed(tx, run.world.ledger, one, reason="killed", is_blamed=True)


def test_a_resumed_run_takes_over_the_streams_of_what_it_need_not_repeat(run: Jobs) -> None:
    started = run.start(job(RESUMED, registry=STREAMS))
    writer = claimed(run, "p")
    put(run, writer, 0, segment("a"))
    put(run, writer, 1, END)
    finish(run, writer)
    finish(run, claimed(run, "w"), raises="it went wrong")
    assert run.row(started).state == "ERROR"
    jobs.resume(run.world.ledger, "main", started, is_intact=lambda _content: True)
    again = claimed(run, "w")
    assert isinstance(again.task, ComponentTask)
    (found,) = again.task.members[0].inputs["in"]
    assert isinstance(found, Streamed)
    assert found.segments == (segment("a"),)
    with run.world.ledger.reading() as tx:
        assert job_pruning.kept_tokens(tx, [writer.claim.token]) == {writer.claim.token}


def test_a_run_whose_streams_were_cleaned_up_is_not_resumed_without_them(run: Jobs) -> None:
    started = run.start(job(RESUMED, registry=STREAMS))
    writer = claimed(run, "p")
    put(run, writer, 0, segment("a"))
    put(run, writer, 1, END)
    finish(run, writer)
    finish(run, claimed(run, "w"), raises="it went wrong")
    run.world.clock.time += 31 * 86_400 * SECOND
    job_pruning.mark(run.world.ledger)
    assert run.world.one("SELECT count(*) FROM segments") == 0
    with pytest.raises(LedgerError) as caught:
        jobs.resume(run.world.ledger, "main", started, is_intact=lambda _content: True)
    assert caught.value.code == "RESUME_HASH_MISMATCH"
    assert run.world.one("SELECT count(*) FROM job_runs") == 1, "nothing of it was written"


def test_a_stream_is_kept_as_long_as_its_extract_and_the_others_as_long_as_runs(run: Jobs) -> None:
    nodes = {"t": {"prog": "ticks"}, "s": {"prog": "scan"}}
    extract = {"all": {"from": "s.out", "format": "ndjson", "retention": "40d"}}
    flow = planned({"version": 1, "nodes": nodes, "edges": [["t.out", "s.in"]], "extract": extract})
    started = run.start(stored_job(flow.plan, PROGRAMS, flow=flow.facts))
    for held in (claimed(run, "t"), claimed(run, "s")):
        put(run, held, 0, segment(held.claim.node))
        put(run, held, 1, END)
        finish(run, held)

    def passed(days: int) -> tuple[list[str], str]:
        run.world.clock.time += days * 86_400 * SECOND
        job_pruning.mark(run.world.ledger)
        with run.world.ledger.reading() as tx:
            (shown,) = flow_run(tx, run.world.ledger, "main", started).extracts
        return [
            str(row["instance"]) for row in run.world.rows("SELECT DISTINCT instance FROM segments ORDER BY instance")
        ], shown.state

    assert passed(29) == (["s", "t"], "ready")
    assert passed(2) == (["s"], "ready")
    assert passed(10) == ([], "gone")
    with run.world.ledger.reading() as tx, pytest.raises(LedgerError) as caught:
        extracts.find(tx, run.world.ledger, "main", started, "all")
    assert caught.value.code == "EXTRACT_GONE"
    assert job_pruning.prune(run.world.ledger) == 1


def test_a_run_shows_what_its_streams_hold_and_whether_more_will_come(run: Jobs) -> None:
    started = run.start(job(PAIR, registry=STREAMS))

    def shown() -> list[tuple[str, str, int | None, int | None]]:
        return [(one.component, one.state, one.segments, one.rows) for one in run.show(started).streams]

    # What nobody reads is not written: `c` has no stream.
    assert shown() == [("p", "open", 0, 0)]
    writer = claimed(run, "p")
    put(run, writer, 0, segment("a", rows=3))
    put(run, writer, 1, segment("b", rows=4))
    assert shown() == [("p", "open", 2, 7)]
    put(run, writer, 2, END)
    assert shown() == [("p", "ended", 2, 7)]
    rows = {row[0]: row[3] for row in component_rows(run.show(started))}
    assert rows["p"] == "7", "what went into a stream is rows of its component"
    finish(run, writer)
    with run.world.ledger.transaction() as tx:
        tx.change("DELETE FROM segments")
    assert shown() == [("p", "deleted", None, None)]


def test_a_stream_whose_writer_failed_before_its_end_is_shown_as_lost(run: Jobs) -> None:
    started = run.start(job(PAIR, registry=STREAMS))
    writer = claimed(run, "p")
    put(run, writer, 0, segment("a"))
    finish(run, writer, raises="no more")
    (one,) = run.show(started).streams
    assert (one.component, one.port, one.state, one.segments, one.bytes) == ("p", "out", "lost", 1, 10)


def test_a_run_shows_how_far_each_reader_of_a_stream_is_and_who_waits(run: Jobs) -> None:
    started = run.start(job(PAIR, registry=STREAMS))
    writer = claimed(run, "p")
    put(run, writer, 0, segment("a", rows=3))
    put(run, writer, 1, segment("b", rows=4))
    held = claimed(run, "c")
    at = attach(run, held, stream_of(writer))
    with run.world.ledger.transaction() as tx:
        segments.move(tx, held.claim, at, 2)
        segments.wait_for_more(tx, held.claim, at)

    def reader() -> ReaderView:
        ((found,),) = (one.readers for one in run.show(started).streams)
        return found

    assert reader() == ReaderView(component="c", port="in", read=2, waits="reader")
    put(run, writer, 2, END)
    finish(run, writer)
    with run.world.ledger.transaction() as tx:
        segments.move(tx, held.claim, at, 3)
    finish(run, held)
    assert reader() == ReaderView(component="c", port="in", read=2)
