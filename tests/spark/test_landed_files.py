"""`sources.files` on real Spark: each file is taken by one batch, drifting and broken ones as the author says."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from pondage.connect.landing import landed_files as landing_code
from pondage.connect.landing.listing import LandedFile, Seen
from pondage.define.values.names import PondKey
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Clear, Force, Pulse
from pondage.ledger.act import rollback, verbs
from pondage.ledger.commit import guarded, polling, work
from pondage.operations import landed_files
from tests.operations.calling import Here
from tests.spark.pipeline import Pipeline

PONDS = """
from pondage import pond, sources

@pond(mode="append")
def trips(spark, run):
    return sources.files(spark, run, "{folder}", {said})
"""
Deployed = Callable[[str], Pipeline]


class Landing:
    """A folder, the Pond that takes its files, and what is asked of them."""

    def __init__(self, folder: Path, deployed: Deployed, said: str, ponds: str = PONDS) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self._clock = 1_700_000_000
        self.pipeline = deployed(ponds.format(folder=folder, said=said))

    def land(self, name: str, content: str | bytes | pa.Table) -> Path:
        """Put a file there, later than those before."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            parquet.write_table(content, path)
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        return path

    def run(self) -> None:
        failures = len(self.pipeline.failures)
        self.pipeline.run("trips")
        assert self.pipeline.failures[failures:] == []

    def try_and_give_back(self) -> None:
        """Let a first try decide which files it reads, and give it back."""
        ledger = self.pipeline.ledger
        first = work.claim_work(
            ledger, process=self.pipeline.process, token="t-first", is_alone=True,
            queues=polling.queues_for(ledger, code=self.pipeline.code),
        )  # fmt: skip
        assert first is not None
        log = AttemptLog(self.pipeline.path / "first.log")
        self.pipeline.executor.execute(Attempt(first, log, clock=lambda: 0.0, on_phase=lambda _: None))
        log.close()
        assert guarded.release(ledger, first)

    def rows(self, what: str = "*", table: str = "trips", order: str = "1") -> list[list[object]]:
        return self.pipeline.rows(f"select {what} from {table} order by {order}")

    def batches(self) -> int:
        with self.pipeline.ledger.reading() as tx:
            return tx.one("SELECT count(*) FROM snapshots", int)


@pytest.fixture
def landing(tmp_path: Path, deployed: Deployed) -> Callable[[str], Landing]:
    return lambda said: Landing(tmp_path / "landing", deployed, said)


def csv(*rows: object, header: str = "id,fare") -> str:
    return "\n".join([header, *(str(row) for row in rows)]) + "\n"


TYPED = 'schema="id bigint, fare double"'


def test_each_file_is_taken_by_one_batch_and_a_quiet_folder_costs_none(landing: Callable[[str], Landing]) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5", "2,2.5"))
    made.run()
    made.land("deep/b.csv", csv("3,3.5"))
    made.land("_unfinished.csv", csv("9,9"))
    made.run()
    made.run()
    assert made.rows() == [[1, 1.5], [2, 2.5], [3, 3.5]]
    assert made.batches() == 2


def test_a_quiet_folder_needs_no_spark(landing: Callable[[str], Landing], monkeypatch: pytest.MonkeyPatch) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5"))
    made.run()
    monkeypatch.setattr("pondage.spark.ripple.ripple.run_ripple", lambda *_: pytest.fail("Spark was asked"))
    made.run()
    assert made.rows("id") == [[1]]


def test_a_rolled_back_table_takes_again_what_came_after(landing: Callable[[str], Landing]) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5"))
    made.run()
    with made.pipeline.ledger.reading() as tx:
        first = tx.one("SELECT id FROM runs ORDER BY id LIMIT 1", int)
    made.land("b.csv", csv("2,2.5"))
    made.run()
    rollback.roll_back_pond(made.pipeline.ledger, "main", PondKey("trips@1"), first)
    while made.pipeline.attempt():
        pass
    assert made.rows() == [[1, 1.5]]
    made.run()
    assert made.rows() == [[1, 1.5], [2, 2.5]]


def test_forcing_everything_takes_every_file_again_in_one_table(landing: Callable[[str], Landing]) -> None:
    made = landing(TYPED)
    for number in range(3):
        made.land(f"{number}.csv", csv(f"{number},1"))
        made.run()
    verbs.send(made.pipeline.ledger, "main", Force(pond=PondKey("trips@1"), full=True))
    while made.pipeline.attempt():
        pass
    assert made.rows("id") == [[0], [1], [2]]


def test_a_run_that_is_tried_again_reads_the_files_that_were_decided_first(landing: Callable[[str], Landing]) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5"))
    verbs.send(made.pipeline.ledger, "main", Pulse(pond=PondKey("trips@1")))
    made.try_and_give_back()
    made.land("b.csv", csv("2,2.5"))
    while made.pipeline.attempt():
        pass
    assert made.rows() == [[1, 1.5]]
    made.run()
    assert made.rows() == [[1, 1.5], [2, 2.5]]


def test_a_bound_leaves_files_for_runs_that_follow_at_once(landing: Callable[[str], Landing]) -> None:
    made = landing(f"{TYPED}, most=2")
    for number in range(5):
        made.land(f"{number}.csv", csv(f"{number},1"))
    made.run()
    assert made.rows("id") == [[0], [1], [2], [3], [4]]
    assert made.batches() == 3


def test_a_bound_in_bytes_takes_the_oldest_and_at_least_one(landing: Callable[[str], Landing]) -> None:
    made = landing(f'{TYPED}, most="20 B"')
    made.land("new.csv", csv("1,1"))
    made.land("newer.csv", csv("2,2"))
    made.land("big.csv", csv(*(f"{number},1" for number in range(10, 40))))
    made.run()
    assert made.batches() == 3 or made.batches() == 2
    assert len(made.rows("id")) == 32


def test_a_replaced_file_fails_with_its_name_or_is_taken_or_ignored(landing: Callable[[str], Landing]) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5"))
    made.run()
    made.land("a.csv", csv("1,7.5"))
    made.pipeline.run("trips")
    assert made.pipeline.failures[-1].code == "FILE_REPLACED"
    assert "a.csv" in made.pipeline.failures[-1].message
    assert made.rows() == [[1, 1.5]]


def test_a_replaced_file_is_appended_when_that_is_asked(landing: Callable[[str], Landing]) -> None:
    made = landing(f'{TYPED}, replaced="append"')
    made.land("a.csv", csv("1,1.5"))
    made.run()
    made.land("a.csv", csv("1,7.5"))
    made.run()
    made.run()
    assert made.rows(order="2") == [[1, 1.5], [1, 7.5]]


def test_a_file_waits_for_its_marker_and_for_its_settling(landing: Callable[[str], Landing]) -> None:
    made = landing(f'{TYPED}, marker="*.done", glob="*.csv", settle="1h"')
    made.land("a.csv", csv("1,1.5"))
    made.land("a.csv.done", "")
    made.land("b.csv", csv("2,2.5"))
    young = made.land("c.csv", csv("3,3.5"))
    made.land("c.done", "")
    os.utime(young)
    made.run()
    assert made.rows("id") == [[1]]
    made.land("b.done", "")
    os.utime(young, (1, 1))
    made.run()
    assert made.rows("id") == [[1], [2], [3]]


@pytest.mark.parametrize(("drift", "code"), [("fail", "DRIFT"), ("add", None), ("cast", None), ("ignore", None)])
def test_a_new_column_is_added_ignored_or_refused(
    landing: Callable[[str], Landing], drift: str, code: str | None
) -> None:
    made = landing(f'{TYPED}, drift="{drift}"')
    made.land("a.csv", csv("1,1.5"))
    made.run()
    made.land("b.csv", csv("2,2.5,9", header="id,fare,fee"))
    made.pipeline.run("trips")
    assert [each.code for each in made.pipeline.failures] == ([] if code is None else [code])
    if drift in ("add", "cast"):
        made.land("c.csv", csv("3,3.5"))
        made.run()
        assert made.rows("id, fee") == [[1, None], [2, "9"], [3, None]]
    elif drift == "ignore":
        assert made.rows() == [[1, 1.5], [2, 2.5]]


def test_a_narrower_type_is_cast_and_another_sets_the_file_aside_with_its_reason(
    landing: Callable[[str], Landing],
) -> None:
    made = landing('schema="id bigint, fare double, zone string", drift="cast", bad="quarantine"')
    made.land("a.parquet", pa.table({"id": pa.array([1], pa.int32()), "fare": pa.array([2.5]), "zone": pa.array([7])}))
    made.land("b.parquet", pa.table({"id": pa.array([2.5]), "fare": pa.array([2.5]), "zone": pa.array(["x"])}))
    made.land("c.parquet", "this is no parquet")
    made.run()
    assert made.rows() == [[1, 2.5, "7"]]
    bad = made.rows("id, fare, zone, _bad", "trips__bad", "zone nulls last")
    assert bad[0][:3] == [2, 2.5, "x"]
    assert "the column id is double, and the table has bigint" in str(bad[0][3])
    assert bad[1][:3] == [None, None, None]
    assert "c.parquet" in str(bad[1][3])
    made.run()
    assert made.batches() == 1


def test_a_type_that_does_not_fit_fails_naming_file_column_and_both_types(landing: Callable[[str], Landing]) -> None:
    made = landing(f'{TYPED}, drift="cast"')
    made.land("a.parquet", pa.table({"id": pa.array(["x"]), "fare": pa.array([2.5])}))
    made.pipeline.run("trips")
    [failure] = made.pipeline.failures
    assert failure.code == "DRIFT"
    assert "a.parquet: the column id is string, and the table has bigint" in failure.message


def test_bad_rows_are_set_aside_with_their_text(landing: Callable[[str], Landing]) -> None:
    made = landing(f'{TYPED}, bad="quarantine"')
    made.land("a.csv", csv("1,1.5", "two,2", "3,3.5"))
    made.run()
    assert made.rows() == [[1, 1.5], [3, 3.5]]
    assert made.rows("_bad", "trips__bad") == [["two,2"]]


def test_a_bad_row_fails_the_ripple_when_nothing_else_is_said(landing: Callable[[str], Landing]) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5", "two,2"))
    made.pipeline.run("trips")
    assert "cannot be read as declared: two,2" in made.pipeline.failures[-1].message


def test_json_lines_drift_by_what_is_in_each_file(landing: Callable[[str], Landing]) -> None:
    made = landing(f'{TYPED}, drift="add", bad="quarantine"')
    made.land("a.jsonl", '{"id": 1, "fare": 1.5}\n{"id": 2}\nnot json\n')
    made.land("b c.jsonl", '{"id": 3, "fare": 2.5, "fee": 4}\n')
    made.run()
    assert made.rows("id, fare, fee") == [[1, 1.5, None], [2, None, None], [3, 2.5, 4]]
    assert made.rows("_bad", "trips__bad") == [["not json"]]


def test_folders_become_columns_and_rows_say_where_they_are_from(landing: Callable[[str], Landing]) -> None:
    made = landing('schema="id bigint, day date", folders=True, keep=["_file", "_landed_at"]')
    made.land("day=2026-01-01/region=a%2Fb/x.parquet", pa.table({"id": pa.array([1])}))
    made.land("day=2026-01-02/region=c/y.parquet", pa.table({"id": pa.array([2])}))
    made.run()
    found = made.rows("id, day, region, _file, _landed_at is not null")
    assert [row[:3] for row in found] == [[1, "2026-01-01", "a/b"], [2, "2026-01-02", "c"]]
    assert str(found[1][3]).endswith("y.parquet")
    assert found[0][4] is True


def test_without_a_schema_the_first_files_say_it_and_an_empty_folder_asks_for_one(
    landing: Callable[[str], Landing],
) -> None:
    made = landing("")
    made.pipeline.run("trips")
    assert made.pipeline.failures[-1].code == "NO_SCHEMA"
    made.land("a.parquet", pa.table({"id": pa.array([1])}))
    made.pipeline.run("trips")
    verbs_clear(made)
    assert made.rows() == [[1]]


def verbs_clear(made: Landing) -> None:
    verbs.send(made.pipeline.ledger, "main", Clear(pond=PondKey("trips@1")))
    made.run()


def test_lists_stay_as_long_as_a_snapshot_needs_them(landing: Callable[[str], Landing]) -> None:
    made = landing(TYPED)
    for number in range(4):
        made.land(f"{number}.csv", csv(f"{number},1"))
        made.run()
    lists = sorted((made.pipeline.path / ".pondage" / "warehouse" / "data").glob("*/taken/*"))
    assert lists
    with made.pipeline.ledger.reading() as tx:
        position = tx.rows("SELECT content FROM snapshots ORDER BY id DESC LIMIT 1", str)[0]
    needed = {each["name"] for each in json.loads(next(iter(json.loads(position)["positions"].values())))["lists"]}
    for each in lists:
        os.utime(each, (1, 1))
        for file in each.iterdir():
            os.utime(file, (1, 1))
    vacuum(made.pipeline.ledger, made.pipeline.config.warehouse)
    assert needed <= {each.name for each in lists if each.exists()}
    made.land("9.csv", csv("9,1"))
    made.run()
    assert len(made.rows("id")) == 5


PARTED = """
from pondage import pond, sources, unique

@pond(mode="partition", by=["day"], expect=[unique("id")])
def trips(spark, run):
    return sources.files(spark, run, "{folder}", {said})
"""
EXCHANGED = 'schema="id bigint, day string", replaced="replace", keep=["_file"], bad="quarantine"'


@pytest.fixture
def parted(tmp_path: Path, deployed: Deployed) -> Callable[[str], Landing]:
    return lambda said: Landing(tmp_path / "landing", deployed, said, PARTED)


def days(*rows: str) -> str:
    return csv(*rows, header="id,day")


def test_rows_of_a_replaced_file_are_exchanged_in_every_partition_and_others_stay(
    parted: Callable[[str], Landing],
) -> None:
    made = parted(EXCHANGED)
    name = "a b%é#+?.csv"
    made.land(name, days("1,d1", "2,d2"))
    made.land("other.csv", days("3,d1", "4,d3"))
    made.run()
    # Late rows join what a day has already.
    made.land("late.csv", days("5,d1"))
    made.run()
    assert made.rows("id, day") == [[1, "d1"], [2, "d2"], [3, "d1"], [4, "d3"], [5, "d1"]]
    # The correction has no row of the second day any more.
    made.land(name, days("10,d1", "11,d4"))
    made.run()
    made.run()
    assert made.rows("id, day") == [[3, "d1"], [4, "d3"], [5, "d1"], [10, "d1"], [11, "d4"]]
    assert made.batches() == 3
    # What is left of the file is nothing.
    made.land(name, days())
    made.run()
    assert made.rows("id") == [[3], [4], [5]]


def test_a_unique_key_holds_with_the_rows_that_stay_and_not_with_those_that_go(
    parted: Callable[[str], Landing],
) -> None:
    made = parted(EXCHANGED)
    made.land("a.csv", days("1,d1", "2,d2"))
    made.run()
    made.land("a.csv", days("1,d2", "2,d1"))
    made.run()
    assert made.rows("id, day") == [[1, "d2"], [2, "d1"]]
    for doubled in ("1,d2", "1,d9"):
        made.land("b.csv", days(doubled))
        made.pipeline.run("trips")
        assert "unique(id)" in made.pipeline.failures[-1].message
        verbs.send(made.pipeline.ledger, "main", Clear(pond=PondKey("trips@1")))
        while made.pipeline.attempt():
            pass


def test_a_forgotten_file_comes_again_in_place_of_its_rows(parted: Callable[[str], Landing]) -> None:
    made = parted(EXCHANGED)
    made.land("a.csv", days("1,d1"))
    made.land("b.csv", days("2,d1"))
    made.run()
    Here(made.pipeline.ledger).ask(landed_files.files_forget, pond="trips", paths=["a.csv"])
    made.run()
    assert made.rows("id") == [[1], [2]]
    assert made.batches() == 2


def test_only_a_table_in_partitions_that_keeps_the_files_can_exchange_their_rows(
    landing: Callable[[str], Landing],
) -> None:
    made = landing(f'{TYPED}, replaced="replace", keep=["_file"]')
    made.land("a.csv", csv("1,1.5"))
    made.pipeline.run("trips")
    assert 'mode="partition" alone can do that' in made.pipeline.failures[-1].message


def test_a_file_that_is_ignored_or_whose_wish_cannot_be_granted_leaves_the_folder_quiet(
    landing: Callable[[str], Landing], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = landing(f'{TYPED}, replaced="ignore"')
    made.land("a.csv", csv("1,1.5"))
    gone = made.land("b.csv", csv("2,1.5"))
    made.run()
    made.land("a.csv", csv("1,7.5"))
    written = gone.stat()
    gone.unlink()
    Here(made.pipeline.ledger).ask(landed_files.files_forget, pond="trips", paths=["b.csv"])
    with monkeypatch.context() as dead:
        dead.setattr("pondage.spark.ripple.ripple.run_ripple", lambda *_: pytest.fail("Spark was asked"))
        made.run()
    made.land("c.csv", csv("3,3.5"))
    made.run()
    # As it was when it was taken: the wish holds, whatever was taken in between.
    gone.write_text(csv("2,1.5"))
    os.utime(gone, (written.st_mtime, written.st_mtime))
    made.run()
    made.run()
    assert made.rows(order="1, 2") == [[1, 1.5], [2, 1.5], [2, 1.5], [3, 3.5]]


@pytest.mark.parametrize("becomes", ["gone", "another"])
def test_a_file_that_is_not_what_it_was_when_it_was_listed_fails_by_its_name_and_clear_looks_anew(
    landing: Callable[[str], Landing], becomes: str
) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5"))
    path = made.land("b.csv", csv("2,2.5"))
    verbs.send(made.pipeline.ledger, "main", Pulse(pond=PondKey("trips@1")))
    made.try_and_give_back()
    if becomes == "gone":
        path.unlink()
    else:
        made.land("b.csv", csv("3,3.5"))
    while made.pipeline.attempt():
        pass
    assert {each.code for each in made.pipeline.failures} == {"FILE_GONE"}
    assert "b.csv" in made.pipeline.failures[0].message
    verbs_clear(made)
    assert made.rows("id") == ([[1]] if becomes == "gone" else [[1], [3]])


def test_a_file_that_goes_between_the_listing_and_the_look_at_it_fails_by_its_name(
    landing: Callable[[str], Landing], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5"))
    real = landing_code.look

    def looked(*asked: Any, **given: Any) -> Seen:
        seen = real(*asked, **given)
        return Seen(files=(*seen.files, LandedFile(modified=1, path="gone.csv", size=1)), settling=())

    with monkeypatch.context() as torn:
        torn.setattr(landing_code, "look", looked)
        made.pipeline.run("trips")
    assert made.pipeline.failures[-1].code == "FILE_GONE"
    assert "gone.csv" in made.pipeline.failures[-1].message
    verbs_clear(made)
    assert made.rows("id") == [[1]]


def test_a_folder_that_is_away_fails_by_its_name_and_is_taken_on_when_it_is_back(
    landing: Callable[[str], Landing],
) -> None:
    made = landing(TYPED)
    made.land("a.csv", csv("1,1.5"))
    made.run()
    away = made.folder.rename(made.folder.parent / "away")
    made.pipeline.run("trips")
    assert made.pipeline.failures[-1].code == "NO_FILE"
    assert str(made.folder) in made.pipeline.failures[-1].message
    assert made.rows("id") == [[1]]
    away.rename(made.folder)
    made.land("b.csv", csv("2,2.5"))
    verbs_clear(made)
    assert made.rows("id") == [[1], [2]]


def test_orc_and_text_files_are_taken_as_others_are(landing: Callable[[str], Landing]) -> None:
    made = landing('schema="id bigint, fare double", drift="cast"')
    for number, kind in enumerate((pa.int32(), pa.int64())):
        sink = io.BytesIO()
        orc.write_table(pa.table({"id": pa.array([number], kind), "fare": pa.array([1.5])}), sink)
        made.land(f"{number}.orc", sink.getvalue())
    made.run()
    assert made.rows() == [[0, 1.5], [1, 1.5]]


def test_lines_of_text_are_rows(landing: Callable[[str], Landing]) -> None:
    made = landing("")
    made.land("a.log", "one\ntwo\n")
    made.run()
    made.land("b.log", "three\n")
    made.run()
    assert made.rows() == [["one"], ["three"], ["two"]]
