"""Components in stream mode on the real engine: segments in order, state, overlap, replay, tables at both ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from decimal import Decimal

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql import SparkSession

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import WorkerConfig, config_of
from pondage.engine.worker.process import Worker
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.data import segments
from pondage.ledger.data.segments import Stream
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.upkeep import reap
from pondage.spark.session.driver import SparkDriver
from pondage.work.component import ComponentResult
from tests.patience import PATIENCE_S
from tests.services.postgres import wait_until
from tests.spark.flows.flow_world import FlowWorld, node_states, rows, tree

pytestmark = pytest.mark.spark

PROGRAMS = '''
import time
from pathlib import Path

from pondage.define.job.component import component
from pondage.define.types.port import Port


@component("ticks", outputs={"out": "Stream<{n: bigint}>"}, mode="stream", deterministic=True, exposed=True)
def ticks(*, params, run):
    """Give numbers, some in each segment; with `gate`, no second segment before somebody has read the first."""
    for start in range(0, params["segments"] * 3, 3):
        yield run.spark.range(start, start + 3).withColumnRenamed("id", "n")
        while "gate" in params and not run.stopping and not Path(params["gate"]).exists():
            time.sleep(0.01)


@component("total", inputs={"in": "Stream<{n: bigint}>"}, outputs={"out": "Stream<{segment: bigint, total: bigint}>"},
           mode="stream", deterministic=True, exposed=True)
def total(*, params, run, **ports):
    """Add up everything so far; at the end say so with the segment -1. With `gate` it waits for that with its first."""
    frame = ports["in"]
    while "gate" in params and not Path(params["gate"]).exists():
        time.sleep(0.01)
    if frame is not None:
        run.state["total"] = run.state.get("total", 0) + frame.groupBy().sum("n").first()[0]
        if "mark" in params:
            Path(params["mark"]).touch()
    at = -1 if run.segment is None else run.segment
    return run.spark.createDataFrame([(at, run.state.get("total", 0))], "segment bigint, total bigint")


@component("doubled", inputs={"in": "Stream<{n: bigint}>"}, outputs={"out": "Stream<{n: bigint, text: string}>"},
           mode="stream", deterministic=True, exposed=True)
def doubled(*, params, run, **ports):
    """Two rows for each, by a generator of rows."""
    def twice(rows):
        for row in rows:
            yield {"n": row["n"], "text": "x" * row["n"]}
            yield {"n": -row["n"], "text": None}

    if ports["in"] is not None:
        return run.each_row(ports["in"], twice, "n bigint, text string")


@component("heavy", inputs={"in": "Stream<{n: bigint}>"}, outputs={"out": "Stream<{n: bigint}>"}, mode="stream",
           deterministic=True, exposed=True)
def heavy(*, params, run, **ports):
    """Remember too much."""
    run.state["all"] = "x" * 1_048_576


@component("fickle", outputs={"out": "Stream<{n: bigint}>"}, mode="stream", deterministic=True, exposed=True)
def fickle(*, params, run):
    """Say that it is deterministic, which it is not."""
    yield run.spark.range(1).withColumnRenamed("id", "n")
    yield run.spark.createDataFrame([(time.time_ns(),)], "n bigint")


@component("ranked", outputs={"out": "Stream<{n: bigint}, ordered: true>"}, mode="stream", deterministic=True,
           exposed=True)
def ranked(*, params, run):
    """Give numbers in falling order, of several partitions: by how Spark sorts them, then by `_seq`."""
    frame = run.spark.range(0, 6, 1, 2).withColumnRenamed("id", "n")
    yield frame.orderBy(frame.n.desc())
    yield frame.withColumn("_seq", 10 - frame.n)


@component("followed", inputs={"in": "Stream<{n: bigint}, ordered: true>"},
           outputs={"out": "Stream<{at: bigint, n: bigint}>"}, mode="stream", deterministic=True, exposed=True)
def followed(*, params, run, **ports):
    """Say at which place each row came, by a generator that sees them as they come."""
    def placed(rows):
        for at, row in enumerate(rows):
            yield {"at": at, "n": row["n"]}

    if ports["in"] is not None:
        return run.each_row(ports["in"], placed, "at bigint, n bigint")


@component("narrow", outputs={"out": "Stream<{n: bigint, text: string}>"}, mode="stream", exposed=True)
def narrow(*, params, run):
    """Give one good segment, and one whose columns are others."""
    yield run.spark.createDataFrame([(1, "a")], "n bigint, text string")
    yield run.spark.createDataFrame([(2, "b")], "n int, word string")


@component("orders", outputs={"out": "Stream<Order>"}, mode="stream", exposed=True)
def orders(*, params, run):
    """Give as many segments of a named type as asked for, and one with a null too many with `bad`."""
    for n in range(params["segments"]):
        yield run.spark.createDataFrame([(n, None)], "id bigint, region string")
    if params.get("bad"):
        yield run.spark.createDataFrame([(None, "EU")], "id bigint, region string")


@component("regions", inputs={"in": Port("Stream<{region: string, id: decimal(20,0)}>", accept="upcast")},
           outputs={"out": "Stream<{region: string, id: decimal(20,0)}>"}, mode="stream", exposed=True)
def regions(*, params, run, **ports):
    """Take columns in another order, wider than they come."""
    return ports["in"]


@component("wrong_table", outputs={"out": "Table<{n: bigint, text: string}>"}, exposed=True)
def wrong_table(*, params, run):
    """Give other columns than it says."""
    return run.spark.createDataFrame([(2, 0.5)], "n bigint, text double")


@component("count", inputs={"in": "Table<{n: bigint}>"}, outputs={"out": "Table<{n: bigint}>"}, exposed=True)
def count(*, params, run, **ports):
    """Count rows."""
    return ports["in"].groupBy().count().withColumnRenamed("count", "n")
'''


ORDER = """
[types.Order]
version = "2.1.0"
definition = "{id: bigint not null, region: string}"
"""


@pytest.fixture(scope="module")
def world(driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowWorld]:
    made = FlowWorld(tmp_path_factory.mktemp("streams") / "project", driver, PROGRAMS, ORDER)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _inside(world: FlowWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)


def node(prog: str, **params: object) -> dict[str, object]:
    return {"prog": prog, "params": params}


def in_stream(world: FlowWorld, spark: SparkSession, run: str, name: str) -> list[list[tuple[object, ...]]]:
    """The rows of each segment, and [] at the end."""
    from pondage.spark.files.segments import frame_in

    with world.ledger.reading() as tx:
        row = tx.row("SELECT id FROM job_runs WHERE public_id = :run", run=run)
        assert row is not None
        found = segments.read(tx, Stream(int(row["id"]), name, "out"))  # type: ignore[call-overload]
    return [[] if one.is_eos else [tuple(row) for row in frame_in(spark, one).collect()] for one in found]


def claimed(world: FlowWorld, name: str) -> Work:
    with world.ledger.reading() as tx:
        codes = [str(row["code"]) for row in tx.rows("SELECT DISTINCT code FROM queues")]
    for code in codes:
        queues = polling.queues_for(world.ledger, code=code)
        held = work.claim_work(
            world.ledger, process=world.process, queues=queues, token=world.ledger.ids.new("t"), is_alone=True
        )
        if held is not None:
            assert held.claim.node == name
            return held
    raise AssertionError(f"{name} cannot be claimed")


def attempted(world: FlowWorld, held: Work) -> Attempt:
    log = AttemptLog(world.root / "logs" / held.claim.token)
    world.logs.append(log)
    return Attempt(held, log, clock=time.monotonic, on_phase=lambda _: None)


def executed(world: FlowWorld, attempt: Attempt) -> ComponentResult:
    result = world.executor_of(attempt.work).execute(attempt)
    assert isinstance(result, ComponentEnded)
    return result.result


def crash(world: FlowWorld, held: Work) -> None:
    with world.ledger.transaction() as tx:
        (one,) = [each for each in reap.executions.held_by(tx, world.process) if each.token == held.claim.token]
        reap.crashed(tx, world.ledger, one, reason="killed", is_blamed=True)


def test_a_stateful_program_is_called_for_each_segment_in_order_and_once_at_the_end(
    world: FlowWorld, spark: SparkSession
) -> None:
    view = world.flow(
        tree(
            {"t": node("ticks", segments=3), "s": node("total"), "d": node("doubled"), "c": node("count")},
            ["t.out", "s.in"], ["t.out", "d.in"], ["t.out", "c.in"], all="s.out", more="d.out", size="c.out",
        )
    )  # fmt: skip
    assert node_states(view) == {"t": "OK", "s": "OK", "d": "OK", "c": "OK"}
    run = view.flow.run.id
    assert in_stream(world, spark, run, "s") == [[(0, 3)], [(1, 15)], [(2, 36)], [(-1, 36)], []]
    first, *_ = in_stream(world, spark, run, "d")
    assert first == [(-2, None), (-1, None), (0, ""), (0, None), (1, "x"), (2, "xx")]
    assert in_stream(world, spark, run, "t")[-1] == []
    (counted,) = (one.outputs[0] for one in view.flow.components if one.name == "c")
    assert spark.read.parquet(counted.path).first()[0] == 9  # type: ignore[index]


def test_rows_of_an_ordered_stream_keep_their_order_for_whoever_asks_for_it(
    world: FlowWorld, spark: SparkSession
) -> None:
    view = world.flow(tree({"r": node("ranked"), "f": node("followed")}, ["r.out", "f.in"], all="f.out", rest="r.out"))
    assert node_states(view) == {"r": "OK", "f": "OK"}
    falling = [(at, 5 - at) for at in range(6)]
    assert in_stream(world, spark, view.flow.run.id, "f") == [falling, falling, []]
    # Whoever does not ask sees no numbers.
    assert in_stream(world, spark, view.flow.run.id, "r")[0] == [(n,) for n in range(5, -1, -1)]
    fetched = pq.read_table(pa.BufferReader(world.extracted(view.flow.run.id, "rest")))
    assert fetched.to_pydict() == {"n": [n for _, n in falling * 2]}


def test_a_table_is_one_segment_and_the_end(world: FlowWorld, spark: SparkSession) -> None:
    view = world.flow(
        tree({"k": rows("Table<{n: bigint}>", {"n": 4}, {"n": 5}), "s": node("total")}, ["k.out", "s.in"], all="s.out")
    )
    assert in_stream(world, spark, view.flow.run.id, "s") == [[(0, 9)], [(-1, 9)], []]


def test_a_producer_and_its_consumer_run_at_once_and_the_consumer_holds_no_slot_while_it_waits(
    world: FlowWorld, spark: SparkSession
) -> None:
    gate = str(world.root / "gate")
    run = world.submit(
        tree({"t": node("ticks", segments=2, gate=gate), "s": node("total", mark=gate)}, ["t.out", "s.in"], all="s.out")
    )
    producer, consumer = attempted(world, claimed(world, "t")), attempted(world, claimed(world, "s"))
    results: dict[str, ComponentResult] = {}

    def work_on(attempt: Attempt) -> None:
        results[attempt.work.claim.node] = executed(world, attempt)

    reading = threading.Thread(target=work_on, args=(consumer,))
    reading.start()
    wait_until(lambda: consumer.is_parked)
    writing = threading.Thread(target=work_on, args=(producer,))
    writing.start()  # it ends only when the consumer has read its first segment
    writing.join(PATIENCE_S)
    reading.join(PATIENCE_S)
    assert not consumer.is_parked
    for attempt in (producer, consumer):
        assert guarded.commit(
            world.ledger, attempt.work, ComponentEnded(results[attempt.work.claim.node]), process=world.process
        )
    assert world.detail(run).flow.run.state == "OK"
    assert in_stream(world, spark, run, "s") == [[(0, 3)], [(1, 15)], [(-1, 15)], []]


def test_a_writer_whose_reader_is_behind_waits_at_the_limit_of_its_edge(world: FlowWorld, spark: SparkSession) -> None:
    gate = world.root / "behind"
    nodes = {"t": node("ticks", segments=4), "s": node("total", gate=str(gate))}
    run = world.submit(tree(nodes, ["t.out", "s.in", {"max_in_flight_rows": 3}], all="s.out"))
    producer, consumer = attempted(world, claimed(world, "t")), attempted(world, claimed(world, "s"))
    results: dict[str, ComponentResult] = {}

    def work_on(attempt: Attempt) -> None:
        results[attempt.work.claim.node] = executed(world, attempt)

    reading = threading.Thread(target=work_on, args=(consumer,))
    reading.start()
    wait_until(lambda: consumer.is_parked)  # it reads, and nothing is there yet
    writing = threading.Thread(target=work_on, args=(producer,))
    writing.start()
    wait_until(lambda: producer.is_parked)
    assert len(in_stream(world, spark, run, "t")) < 4, "the writer waits before its last segment"
    gate.touch()
    writing.join(PATIENCE_S)
    reading.join(PATIENCE_S)
    for attempt in (producer, consumer):
        assert guarded.commit(
            world.ledger, attempt.work, ComponentEnded(results[attempt.work.claim.node]), process=world.process
        )
    assert world.detail(run).flow.run.state == "OK"
    assert in_stream(world, spark, run, "s")[-2:] == [[(-1, sum(range(12)))], []]


def test_a_restarted_attempt_replays_and_only_a_difference_is_a_panic(world: FlowWorld, spark: SparkSession) -> None:
    run = world.submit(tree({"t": node("ticks", segments=2), "f": node("fickle")}, one="t.out", two="f.out"))
    for name in ("t", "f"):
        held = claimed(world, name)
        assert executed(world, attempted(world, held)).members[0].raises is None
        crash(world, held)
    before = in_stream(world, spark, run, "t")
    world.ended(run)
    view = world.detail(run)
    assert in_stream(world, spark, run, "t") == before == [[(0,), (1,), (2,)], [(3,), (4,), (5,)], []]
    assert node_states(view)["f"] == "ERROR"
    assert "SEGMENT_MISMATCH" in str(view.flow.components)
    assert view.flow.run.code == "PANIC"


def test_state_over_a_mebibyte_and_a_segment_that_was_changed_are_panics(world: FlowWorld) -> None:
    view = world.flow(tree({"t": node("ticks", segments=1), "h": node("heavy")}, ["t.out", "h.in"], all="h.out"))
    assert "STATE_TOO_LARGE" in str(view.flow.components)
    readers = {"s": node("total"), "c": node("count")}
    run = world.submit(
        tree({"t": node("ticks", segments=1), **readers, "h": node("void_sink")}, ["t.out", "s.in"], ["t.out", "c.in"],
             ["c.panic", "h.input"], ["s.panic", "h.input"], all="s.out", size="c.out")
    )  # fmt: skip
    held = claimed(world, "t")
    result = executed(world, attempted(world, held))
    for file in (world.root).rglob(f"{held.claim.token}/0"):
        file.write_bytes(b"something else")
    guarded.commit(world.ledger, held, ComponentEnded(result), process=world.process)
    world.ended(run)
    # One reads segment by segment, the other the whole stream as a table.
    codes = {one.name: one.code for one in world.detail(run).flow.components}
    assert (codes["s"], codes["c"]) == ("DECODE_ERROR", "DECODE_ERROR")


def test_a_stop_closes_the_outputs_early_and_that_is_ok(world: FlowWorld, spark: SparkSession) -> None:
    run = world.submit(tree({"t": node("ticks", segments=5, gate="/never/there")}, all="t.out"))
    attempt = attempted(world, claimed(world, "t"))
    attempt.stopping.set()
    result = executed(world, attempt)
    assert guarded.commit(world.ledger, attempt.work, ComponentEnded(result), process=world.process)
    assert world.detail(run).flow.run.state == "OK"
    assert in_stream(world, spark, run, "t") == [[(0,), (1,), (2,)], []]


def test_the_first_row_of_a_stream_stops_whoever_it_leads_to_also_its_own_source(
    world: FlowWorld, spark: SparkSession
) -> None:
    gate = "/never/there"
    run = world.submit(
        tree(
            {"t": node("ticks", segments=9, gate=gate), "s": node("total")},
            ["t.out", "s.in"], ["s.out", "t.stop"], all="s.out",
        )
    )  # fmt: skip
    producer, consumer = attempted(world, claimed(world, "t")), attempted(world, claimed(world, "s"))
    results: dict[str, ComponentResult] = {}

    def work_on(attempt: Attempt) -> None:
        results[attempt.work.claim.node] = executed(world, attempt)

    threads = [threading.Thread(target=work_on, args=(one,)) for one in (producer, consumer)]
    for thread in threads:
        thread.start()
    wait_until(lambda: _is_stopped(world, producer))
    producer.ask_to_stop()  # what a worker's next look at the ledger does
    for thread in threads:
        thread.join(PATIENCE_S)
    for attempt in (producer, consumer):
        assert guarded.commit(
            world.ledger, attempt.work, ComponentEnded(results[attempt.work.claim.node]), process=world.process
        )
    assert world.detail(run).flow.run.state == "OK"
    given, added = in_stream(world, spark, run, "t"), in_stream(world, spark, run, "s")
    assert 1 <= len(given) - 1 <= 2, "of nine segments only those that were on their way"
    assert added[0] == [(0, 3)]
    (shown,) = world.detail(run).extracts
    assert (shown.name, shown.state, shown.rows) == ("all", "ready", len(given))


def _is_stopped(world: FlowWorld, attempt: Attempt) -> bool:
    with world.ledger.reading() as tx:
        row = tx.row("SELECT stopped_at FROM dispatches WHERE id = :id", id=attempt.work.claim.dispatch)
    return row is not None and row["stopped_at"] is not None


def test_a_worker_with_one_slot_runs_the_writer_that_its_waiting_reader_waits_for(
    world: FlowWorld, driver: SparkDriver, spark: SparkSession
) -> None:
    run = world.submit(tree({"t": node("ticks", segments=3), "s": node("total")}, ["t.out", "s.in"], all="s.out"))
    elsewhere = claimed(world, "t")
    engine = msgspec.structs.replace(config_of(world.project), slots=1)
    code = world.code_of(elsewhere)
    config = WorkerConfig(engine=engine, public_id="p-one-slot", code=code, parent=0)
    worker = Worker(config, world.ledger, SparkExecutor(config, world.ledger, driver=driver, is_owner=False))
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: any(one.is_parked for one in worker.slots.attempts))
        crash(world, elsewhere)
        wait_until(lambda: world.detail(run).flow.run.ended_at is not None)
    finally:
        worker.drain()
        thread.join(PATIENCE_S)
    assert world.detail(run).flow.run.state == "OK"
    assert in_stream(world, spark, run, "s") == [[(0, 3)], [(1, 15)], [(2, 36)], [(-1, 36)], []]


def test_a_stream_without_any_segment_is_an_empty_table_of_its_type(world: FlowWorld) -> None:
    view = world.flow(tree({"t": node("ticks", segments=0), "c": node("count")}, ["t.out", "c.in"], size="c.out"))
    assert view.flow.run.state == "OK", view.panics
    assert [one.rows for one in view.extracts] == [1]


def test_rows_that_are_not_of_the_type_of_their_output_are_a_panic_that_shows_both(
    world: FlowWorld, spark: SparkSession
) -> None:
    view = world.flow(tree({"s": node("narrow")}, all="s.out"))
    assert [(one.node, one.code) for one in view.panics] == [("s", "WRONG_RETURN")]
    assert view.panics[0].message == (
        "s.out: wanted Stream<{n: bigint, text: string}>, got Stream<{n: int, word: string}>: "
        "n: int is not bigint; text: the column is missing; row: the columns word are too many"
    )
    assert in_stream(world, spark, view.flow.run.id, "s") == [[(1, "a")]], "the good segment, and no end"
    table = world.flow(tree({"t": node("wrong_table")}, all="t.out"))
    assert table.panics[0].message == (
        "t.out: wanted Table<{n: bigint, text: string}>, got Table<{n: bigint, text: double}>: "
        "text: double is not string"
    )


def test_a_named_type_is_held_to_what_it_consists_of_and_may_be_empty(world: FlowWorld) -> None:
    broken = world.flow(tree({"o": node("orders", segments=1, bad=True)}, all="o.out"))
    (panic,) = broken.panics
    assert panic.message == (
        "o.out: wanted Stream<{id: bigint not null, region: string}>, got Stream<{id: bigint, region: string}>: "
        "id: it may be null, and is wanted not null"
    )
    forms = ("arrow", "parquet", "ndjson", "csv")
    empty = world.flow(tree({"o": node("orders", segments=0)}, **{form: f"o.out as {form}" for form in forms}))
    arrow, parquet, ndjson, csv = (world.extracted(empty.flow.run.id, form) for form in forms)
    columns = pa.schema([("id", pa.int64()), ("region", pa.string())])
    with pa.ipc.open_stream(arrow) as found:
        assert (found.schema, found.read_all().num_rows) == (columns, 0)
    assert pq.read_table(pa.BufferReader(parquet)).schema.names == ["id", "region"]
    assert (ndjson, csv) == (b"", b"id,region\n")


def test_a_stream_is_taken_as_its_port_accepts_it(world: FlowWorld, spark: SparkSession) -> None:
    view = world.flow(tree({"o": node("orders", segments=2), "r": node("regions")}, ["o.out", "r.in"], all="r.out"))
    assert view.flow.run.state == "OK", view.panics
    assert in_stream(world, spark, view.flow.run.id, "r") == [[(None, Decimal(0))], [(None, Decimal(1))], []]
