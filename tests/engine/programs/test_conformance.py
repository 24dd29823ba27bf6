"""What every transport of external programs does: `tests/services` runs the same over a broker."""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest

from pondage.define.types.port import Accept, Port
from pondage.engine.programs.session import ProgramSession
from pondage.ledger.data import segments
from pondage.ledger.data.segments import Reader
from pondage.ledger.upkeep import reap
from pondage.program import Job, serve
from pondage.program.transport import Transport
from pondage.spark.files.segments import unpacked
from pondage.work.component import ComponentResult, MemberResult
from tests.engine.programs.harness import ProgramWorld, Wire, arrow
from tests.patience import PATIENCE_S
from tests.services.postgres import wait_until

ERRORS = pa.struct([(name, pa.string()) for name in ("code", "message", "detail")])
ALL_BYTES = bytes(range(256)) * 4096


def opened(flow: ProgramWorld, wire: Wire, type_: str = "Bytes<text/plain>") -> tuple[ProgramSession, Transport]:
    """A program that has begun; what it reads is not written yet."""
    flow.start(type_)
    flow.claimed("w")
    session = flow.session(flow.attempt(flow.claimed("x")))
    client = wire.open(session)
    assert client.take() is not None
    return session, client


def failure(session: ProgramSession) -> str:
    wait_until(lambda: session.failure is not None)
    assert session.failure is not None
    return session.failure.code


def test_a_job_is_taken_once_and_names_its_streams_with_128_bits(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    flow.claimed("w")
    client = wire.open(flow.session(flow.attempt(flow.claimed("x"))))
    job = client.take()
    assert job is not None
    assert (set(job.inputs), set(job.outputs), job.params) == ({"in"}, {"out"}, {"factor": 3})
    names = [*job.inputs.values(), *job.outputs.values(), job.panic, job.health, job.stop]
    assert len(set(names)) == 5
    assert all(len(bytes.fromhex(name)) * 8 == 128 for name in names)
    assert client.take() is None


def test_segments_come_in_order_whatever_bytes_they_hold_and_an_ended_input_stays_ended(
    flow: ProgramWorld, wire: Wire
) -> None:
    flow.start()
    writer = flow.claimed("w")
    flow.write(writer, b"", ALL_BYTES, b"\x01", b"\x00")
    client = wire.open(flow.session(flow.attempt(flow.claimed("x"))))
    client.take()
    assert [client.pop("in") for _ in range(6)] == [b"", ALL_BYTES, b"\x01", b"\x00", None, None]


def test_an_empty_queue_is_waited_for_and_is_no_error(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    writer = flow.claimed("w")
    attempt = flow.attempt(flow.claimed("x"))
    session = flow.session(attempt)
    client = wire.open(session)
    client.take()
    got: list[bytes | None] = []
    waiting = threading.Thread(target=lambda: got.append(client.pop("in")))
    waiting.start()
    wait_until(lambda: attempt.is_parked)
    assert got == []
    flow.write(writer, b"late")
    waiting.join(PATIENCE_S)
    assert got == [b"late"]
    assert session.failure is None


def test_what_is_put_is_committed_in_order_and_closing_ends_it(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    flow.claimed("w")
    held = flow.claimed("x")
    session = flow.session(flow.attempt(held))
    client = wire.open(session)
    client.take()
    for data in (b"one", ALL_BYTES, b""):
        client.put("out", data)
    assert session.open_outputs == ["out"]
    client.close("out")
    wait_until(lambda: not session.open_outputs)
    assert flow.read(held) == [b"one", ALL_BYTES, b"", None]
    wire.raw("put", "out", b"\x00more")
    assert failure(session) == "OUTPUT_CLOSED"


@pytest.mark.parametrize("frame", [b"", b"\x02", b"\x01\x00", b"data"])
def test_bytes_that_are_no_frame_are_a_panic(flow: ProgramWorld, wire: Wire, frame: bytes) -> None:
    session, _ = opened(flow, wire)
    wire.raw("put", "out", frame)
    assert failure(session) == "DECODE_ERROR"


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("Stream<{n: bigint}>", arrow(n=[1, 2]), arrow(n=[1, 2])[:40]),
        ("Table<{n: bigint}>", arrow(n=[1]), b"n\n1\n"),
        ("Value<{n: bigint}>", b'{"n": 1}', b"{n: 1}"),
        ("Stream<Any>", arrow(n=[1]), b""),
    ],
)
def test_data_that_is_not_of_its_type_is_a_panic(
    flow: ProgramWorld, wire: Wire, type_: str, good: bytes, bad: bytes
) -> None:
    session, client = opened(flow, wire, type_)
    client.put("out", good)
    client.put("out", good)
    assert session.failure is None
    wire.raw("put", "out", b"\x00" + bad)
    assert failure(session) == "DECODE_ERROR"


ROW = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])


@pytest.mark.parametrize(
    ("type_", "good", "bad", "got"),
    [
        ("Stream<{n: bigint}>", arrow(n=[1]), arrow(n=["1"]), "Stream<{n: string}>"),
        ("Stream<{n: bigint}>", arrow(n=[1]), arrow(m=[1]), "Stream<{m: bigint}>"),
        ("Table<{n: bigint}>", arrow(n=[1]), arrow(n=[1], more=[None]), "Table<{n: bigint, more: void}>"),
        (
            "Table<{a: bigint, b: string}>",
            arrow(a=[1], b=["x"]),
            arrow(b=["x"], a=[1]),
            "Table<{b: string, a: bigint}>",
        ),
        ("Table<{n: bigint not null}>", arrow(n=[1]), arrow(n=[1, None]), "Table<{n: bigint}>"),
        ("Table<{n: int}>", arrow(n=pa.array([1], pa.int32())), arrow(n=[1]), "Table<{n: bigint}>"),
        (
            "Stream<{row: {a: bigint not null, b: array<string>}}>",
            arrow(row=pa.array([None, {"a": 1, "b": ["x"]}], ROW)),
            arrow(row=pa.array([{"a": None, "b": []}], ROW)),
            "Stream<{row: {a: bigint, b: array<string>}}>",
        ),
        (
            "Table<Result<{n: bigint}>>",
            arrow(ok=[{"n": 1}], err=pa.array([None], ERRORS)),
            arrow(ok=[{"n": 1}]),
            "Table<{ok: {n: bigint}}>",
        ),
        ("Value<{n: bigint}>", b'{"n": 1}', b'{"n": "one"}', "/n: wanted bigint, got 'one'"),
        ("Value<array<int>>", b"[1]", b"{}", "got {}"),
    ],
)
def test_rows_of_another_type_than_the_port_s_are_a_panic_that_shows_both(
    flow: ProgramWorld, wire: Wire, type_: str, good: bytes, bad: bytes, got: str
) -> None:
    session, client = opened(flow, wire, type_)
    client.put("out", good)
    wire.raw("put", "out", b"\x00" + bad)
    assert failure(session) == "DECODE_ERROR"
    assert session.failure is not None
    told = session.failure.message
    want = type_.replace(
        "Result<{n: bigint}>", "{ok: {n: bigint}, err: {code: string, message: string, detail: string}}"
    )
    assert told.startswith(f"x.out: wanted {want}")
    assert got in told


def test_what_a_variable_of_the_program_stands_for_is_known_when_its_inputs_are(flow: ProgramWorld, wire: Wire) -> None:
    flow.start("Stream<{id: bigint | R}>", reads="Stream<{id: bigint, name: string}>", vars={"R": "row"})
    flow.claimed("w")
    session = flow.session(flow.attempt(flow.claimed("x")))
    client = wire.open(session)
    client.take()
    client.put("out", arrow(id=[1], name=["x"]))
    wire.raw("put", "out", b"\x00" + arrow(id=[1], name=[2]))
    assert failure(session) == "DECODE_ERROR"
    assert session.failure is not None
    assert "wanted Stream<{id: bigint, name: string}>, got" in session.failure.message


def test_a_panic_says_why(flow: ProgramWorld, wire: Wire) -> None:
    session, client = opened(flow, wire)
    client.panic("no\nmore")
    assert failure(session) == "Panic"
    assert session.failure is not None
    assert session.failure.message == "no\nmore"


def test_health_is_ascii_milliseconds_and_the_sender_s_clock_is_only_compared_with_itself(
    flow: ProgramWorld, wire: Wire
) -> None:
    flow.start()
    flow.claimed("w")
    attempt = flow.attempt(flow.claimed("x"))
    session = flow.session(attempt)
    client = wire.open(session)
    client.take()
    before = time.monotonic()
    client.health(int((time.time() + 600) * 1000))
    wait_until(lambda: attempt.healthy_until_s is not None)
    assert attempt.healthy_until_s is not None
    assert before + 300 < attempt.healthy_until_s < time.monotonic() + 601
    session.health(b"\x00" + b"605000", now_ms=5000)  # a clock that began in 1970 is as good as any
    assert 300 < attempt.healthy_until_s - time.monotonic() <= 600


@pytest.mark.parametrize("body", [b"", b"1e3", b"-5", b"soon"])
def test_health_without_milliseconds_is_a_panic(flow: ProgramWorld, wire: Wire, body: bytes) -> None:
    session, _ = opened(flow, wire)
    wire.raw("health", "", b"\x00" + body)
    assert failure(session) == "DECODE_ERROR"


def test_a_stop_is_waited_for_and_ends_the_inputs(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    flow.claimed("w")
    attempt = flow.attempt(flow.claimed("x"))
    client = wire.open(flow.session(attempt))
    client.take()
    stopped = threading.Event()
    threading.Thread(target=lambda: client.wait_stop() and stopped.set(), daemon=True).start()
    assert not stopped.wait(0.2)
    attempt.ask_to_stop()
    assert stopped.wait(PATIENCE_S)
    assert client.pop("in") is None


def test_the_failure_of_the_writer_is_the_program_s(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    writer = flow.claimed("w")
    session = flow.session(flow.attempt(flow.claimed("x")))
    client = wire.open(session)
    client.take()
    reading = threading.Thread(target=lambda: _quietly(client), daemon=True)
    reading.start()
    result = MemberResult(instance="w", raises="it went wrong", code="Boom")
    flow.run.commit_result(writer, ComponentResult(members=(result,)))
    assert failure(session) == "UPSTREAM_ERROR"


def test_a_program_that_is_started_again_skips_what_is_equal_and_panics_at_a_difference(
    flow: ProgramWorld, wire: Wire
) -> None:
    flow.start()
    flow.write(flow.claimed("w"), b"in")
    first = flow.claimed("x")
    client = wire.open(flow.session(flow.attempt(first)))
    client.take()
    assert client.pop("in") == b"in"
    client.put("out", b"a")
    client.put("out", b"b")
    wait_until(lambda: flow.read(first) == [b"a", b"b"])
    reap.crash(flow.run.world.ledger, process=flow.run.worker.id, token=first.claim.token, reason="killed")
    second = flow.claimed("x")
    session = flow.session(flow.attempt(second))
    client = wire.open(session)
    client.take()
    assert client.pop("in") == b"in", "it reads from the beginning again"
    client.put("out", b"a")
    wire.raw("put", "out", b"\x00c")
    assert failure(session) == "SEGMENT_MISMATCH"
    assert flow.read(second) == [b"a", b"b"]


def test_a_writer_waits_when_its_reader_is_64_segments_behind(flow: ProgramWorld, wire: Wire) -> None:
    flow.start("Stream<{n: bigint}>")
    flow.claimed("w")
    held, reader = flow.claimed("x"), flow.claimed("r")
    cursor = Reader(flow.stream(held), "r", "in")
    with flow.run.world.ledger.transaction() as tx:
        segments.attach(tx, reader.claim, cursor)
    client = wire.open(flow.session(flow.attempt(held)))
    client.take()
    writing = threading.Thread(target=lambda: [client.put("out", arrow(n=[n])) for n in range(70)], daemon=True)
    writing.start()
    wait_until(lambda: _is_blocking(flow, cursor))
    assert len(flow.read(held)) == 64
    with flow.run.world.ledger.transaction() as tx:
        segments.move(tx, reader.claim, cursor, 64)
    wait_until(lambda: len(flow.read(held)) == 70)
    writing.join(PATIENCE_S)


def test_the_library_works_on_a_job_and_says_that_it_is_done(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    flow.write(flow.claimed("w"), b"a", b"b")
    held = flow.claimed("x")
    attempt = flow.attempt(held)
    session = flow.session(attempt)

    def work(job: Job) -> None:
        for data in job.inputs["in"]:
            job.outputs["out"].put(data * int(job.params["factor"]))  # type: ignore[call-overload]
        job.close()

    assert serve(work, transport=wire.open(session)) == 1
    wait_until(lambda: session.is_done)
    wait_until(lambda: attempt.healthy_until_s is not None)
    # A broker has a queue for each port: that a program is done may come before what it wrote.
    wait_until(lambda: len(flow.read(held)) == 3)
    assert flow.read(held) == [b"aaa", b"bbb", None]
    assert session.failure is None


def test_an_exception_in_the_library_is_a_panic_with_its_traceback(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    flow.write(flow.claimed("w"), b"a")
    session = flow.session(flow.attempt(flow.claimed("x")))

    def work(job: Job) -> None:
        raise KeyError(job.inputs["in"].pop())

    serve(work, transport=wire.open(session))
    assert failure(session) == "Panic"
    assert session.failure is not None
    assert "Traceback" in session.failure.message
    assert "KeyError: b'a'" in session.failure.message


def test_nothing_is_left_of_the_queues_of_a_job_that_has_ended(flow: ProgramWorld, wire: Wire) -> None:
    session, _ = opened(flow, wire)
    assert not wire.is_gone()
    session.end()
    wire.close()
    assert wire.is_gone()


def _is_blocking(flow: ProgramWorld, reader: Reader) -> bool:
    with flow.run.world.ledger.reading() as tx:
        return segments.cursor(tx, reader).is_blocking


def _quietly(client: Transport) -> None:
    try:
        client.pop("in")
    except Exception:  # noqa: BLE001 - what the program is told is the transport's business
        return


@pytest.mark.parametrize(
    ("type_", "accept", "expected"),
    [
        ("Stream<{b: string, a: bigint, c: date}>", "upcast", {"b": ["x", None], "a": [1, 2], "c": [None, None]}),
        ("Stream<{b: string}>", "subset", {"b": ["x", None]}),
        ("Stream<{a: int, b: string}>", "exact", {"a": [1, 2], "b": ["x", None]}),
    ],
)
def test_an_input_gets_the_columns_that_it_accepts(
    flow: ProgramWorld, wire: Wire, type_: str, accept: Accept, expected: dict[str, list[object]]
) -> None:
    flow.start(reads="Stream<{a: int, b: string}>", takes=Port(type_, accept=accept))
    flow.write(flow.claimed("w"), arrow(a=pa.array([1, 2], pa.int32()), b=["x", None]))
    client = wire.open(flow.session(flow.attempt(flow.claimed("x"))))
    client.take()
    found = client.pop("in")
    assert found is not None
    assert unpacked(found).to_pydict() == expected
    assert client.pop("in") is None


def test_whoever_waits_for_a_stop_is_told_when_its_job_is_taken_away(flow: ProgramWorld, wire: Wire) -> None:
    flow.start()
    flow.claimed("w")
    attempt = flow.attempt(flow.claimed("x"))
    client = wire.open(flow.session(attempt))
    client.take()
    attempt.take_away("it was cancelled", 0.0)
    assert client.wait_stop()


def test_a_program_that_is_started_again_and_asked_to_stop_may_end_before_what_it_wrote(
    flow: ProgramWorld, wire: Wire
) -> None:
    flow.start()
    flow.write(flow.claimed("w"), b"in")
    first = flow.claimed("x")
    client = wire.open(flow.session(flow.attempt(first)))
    client.take()
    client.put("out", b"a")
    client.put("out", b"b")
    wait_until(lambda: flow.read(first) == [b"a", b"b"])
    reap.crash(flow.run.world.ledger, process=flow.run.worker.id, token=first.claim.token, reason="killed")
    second = flow.attempt(flow.claimed("x"))
    session = flow.session(second)
    client = wire.open(session)
    client.take()
    second.ask_to_stop()
    client.put("out", b"what there is by now")
    client.close("out")
    wait_until(lambda: not session.open_outputs)
    assert session.failure is None
    assert flow.read(second.work) == [b"a", b"b", None], "what was written stays, and the stream ends"
