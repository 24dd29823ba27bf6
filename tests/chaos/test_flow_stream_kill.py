"""kill -9 of workers in the middle of the streams of a flow: their programs die, and a replay gives what there was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import pytest

from tests.chaos.streaming import Streaming
from tests.services.postgres import wait_until

SEGMENTS = 6
PARTS = '''
import os, signal
from pathlib import Path
from pondage import component, external_program

ROWS, TOTALS = "Stream<{n: bigint}>", "Stream<{segment: bigint, total: bigint}>"

stay = external_program("stay", command=["python3", "programs/stay.py"], outputs={"out": "Bytes<text/plain>"},
                        deterministic=True, exposed=True)
count = external_program("count", command=["python3", "programs/count.py"], outputs={"out": ROWS},
                         deterministic=True, exposed=True)
add = external_program("add", command=["python3", "programs/add.py"], inputs={"in": ROWS}, outputs={"out": TOTALS},
                       deterministic=True, exposed=True)


def die(params, number):
    """Kill this worker at a segment, the first time."""
    mark = Path(params["mark"])
    if params.get("at") == number and mark.exists():
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


@component("count_spark", outputs={"out": ROWS}, mode="stream", deterministic=True, exposed=True)
def count_spark(*, params, run):
    """Give six segments of three numbers."""
    for number in range(6):
        die(params, number)
        yield run.spark.range(number * 3, number * 3 + 3).withColumnRenamed("id", "n")


@component("add_spark", inputs={"in": ROWS}, outputs={"out": TOTALS}, mode="stream", deterministic=True, exposed=True)
def add_spark(*, params, run, **ports):
    """Say after each segment what there was so far."""
    if ports["in"] is None:
        return None
    die(params, run.segment)
    run.state["total"] = run.state.get("total", 0) + ports["in"].groupBy().sum("n").first()[0]
    return run.spark.createDataFrame([(run.segment, run.state["total"])], "segment bigint, total bigint")
'''
WIRE = """
import io, os, signal, time
from pathlib import Path
import pyarrow as pa
from pondage.program import serve

def rows(**columns):
    sink = io.BytesIO()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()

def die(params, number):
    mark = Path(params["mark"])
    if params.get("at") == number and mark.exists():
        mark.unlink()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)
"""
PROGRAMS = {
    "count.py": WIRE
    + """
def work(job):
    for number in range(6):
        die(job.params, number)
        job.outputs["out"].put(rows(n=[number * 3, number * 3 + 1, number * 3 + 2]))
    job.close()
serve(work)
""",
    "add.py": WIRE
    + """
def work(job):
    total = 0
    for number, data in enumerate(job.inputs["in"]):
        die(job.params, number)
        total += sum(pa.ipc.open_stream(data).read_all()["n"].to_pylist())
        job.outputs["out"].put(rows(segment=[number], total=[total]))
    job.close()
serve(work)
""",
    "stay.py": """
import os, subprocess, time
from pathlib import Path
child = subprocess.Popen(["sleep", "1000"])
place = Path(os.environ["TMPDIR"])
(place / "new").write_text(f"{os.getpid()} {child.pid}")
(place / "new").rename(place / "pids")
time.sleep(1000)
""",
}


@contextmanager
def streaming(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Streaming]:
    made = Streaming(root, PARTS, PROGRAMS)
    monkeypatch.chdir(root)
    monkeypatch.setenv("TMPDIR", str(root))
    try:
        yield made
    finally:
        made.close()


def totals() -> list[dict[str, object]]:
    """What a straight evaluation gives: no stream, no worker, no Spark."""
    added = list(accumulate(sum(range(first * 3, first * 3 + 3)) for first in range(SEGMENTS)))
    return [{"segment": segment, "total": total} for segment, total in enumerate(added)]


def test_the_program_of_a_worker_that_is_killed_dies_with_it_and_so_does_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with streaming(tmp_path, monkeypatch) as house:
        extract = {"all": {"from": "s.out", "format": "bytes"}}
        run = house.submit({"version": 1, "nodes": {"s": {"prog": "stay"}}, "edges": [], "extract": extract})
        worker = house.work()
        wait_until((tmp_path / "pids").exists)
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        assert all(map(is_running, pids))
        house.kill(worker)
        wait_until(lambda: not any(map(is_running, pids)))
        assert house.detail(run).flow.run.ended_at is None, "it is run again by the next worker"


def killed_in_a_stream(house: Streaming, kind: str, dying: str, at: int) -> None:
    """Let the worker be killed when one of the nodes has `at` segments, and another one go on."""
    mark = house.root / "mark"
    mark.touch()
    params = {"mark": str(mark), "at": at}
    nodes = {
        name: {"prog": name + kind, "params": params if name == dying else {"mark": ""}} for name in ("count", "add")
    }
    extract = {"totals": {"from": "add.out", "format": "ndjson"}}
    run = house.submit({"version": 1, "nodes": nodes, "edges": [["count.out", "add.in"]], "extract": extract})
    house.killed(house.work())
    before = {name: house.stream(run, name) for name in ("count", "add")}
    assert len(before[dying]) == at, "it has delivered that much, and not its end"
    house.work()
    view = house.ended(run)
    assert view.flow.run.state == "OK", view.panics
    for name, known in before.items():
        found = house.stream(run, name)
        assert found[: len(known)] == known, "a replay changes nothing, not even the place of a file"
        assert [one.is_eos for one in found] == [False] * SEGMENTS + [True]
        assert len({one.sha256 for one in found}) == len(found), "no segment is there twice"
    assert house.extracted(run, "totals") == totals()


@pytest.mark.parametrize(("dying", "at"), [("count", 3), ("add", 2)])
def test_a_worker_that_is_killed_in_a_stream_of_programs_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dying: str, at: int
) -> None:
    with streaming(tmp_path, monkeypatch) as house:
        killed_in_a_stream(house, "", dying, at)


MOMENTS = [("count", 3), ("add", 2)] if "PONDAGE_STREAM_DEPTH" in os.environ else [("add", 2)]


@pytest.mark.spark
@pytest.mark.usefixtures("warm_spark")
@pytest.mark.parametrize(("dying", "at"), MOMENTS)
def test_a_worker_that_is_killed_in_a_stream_on_spark_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dying: str, at: int
) -> None:
    with streaming(tmp_path, monkeypatch) as house:
        killed_in_a_stream(house, "_spark", dying, at)


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except (FileNotFoundError, ProcessLookupError):
        return False
