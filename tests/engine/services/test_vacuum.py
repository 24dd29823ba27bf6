"""What is deleted, what is kept, and in which order."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from pondage.define.project.durability import Durability
from pondage.engine.services.sweeper import Sweeper
from pondage.engine.services.vacuum import vacuum
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Tap
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from tests.engine.plain import engine_config, sqlite_world
from tests.ledger.harness import World, content, pond
from tests.ledger.jobs import Jobs, component_result, job

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000
LONG_AGO = 1_000_000_000.0


class Store:
    """A Pond that writes real directories; `keep_runs` is 2 and retention 10 days."""

    def __init__(self, path: Path) -> None:
        self.world: World = sqlite_world(path, Durability(keep_runs=2, retention_days=10.0))
        self.warehouse = path / "warehouse"
        self.world.deploy(pond("orders"), pond("sales", sources={"orders": True}))
        self.worker = self.world.worker()

    def claim(self) -> Work:
        held = self.worker.claim()
        assert held is not None
        return held

    def write(self, held: Work) -> Path:
        place = self.warehouse / "data" / "d1" / "r1" / held.claim.token
        place.mkdir(parents=True)
        (place / "part-0.parquet").write_text("rows")
        age(place)
        return place

    def run(self, name: str) -> Path:
        """One Run of a Pond, a day after the last."""
        self.world.send(Tap(pond=f"{name}@1"))
        held = self.claim()
        place = self.write(held)
        written = msgspec.structs.replace(content(held), path=str(place))
        assert guarded.commit(self.world.ledger, held, Written(written), process=self.worker.id)
        self.world.clock.time += DAY_US
        return place

    def vacuum(self, *, dry_run: bool = False):
        return vacuum(self.world.ledger, str(self.warehouse), dry_run=dry_run)


def age(place: Path) -> None:
    for each in (*place.rglob("*"), place):
        os.utime(each, (LONG_AGO, LONG_AGO))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_the_newest_runs_stay_however_old_they_are(store: Store) -> None:
    places = [store.run("orders") for _ in range(4)]
    store.world.clock.time += 20 * DAY_US
    assert len(store.vacuum().tombstoned) == 2
    store.world.clock.time += 2 * HOUR_US
    assert len(store.vacuum().swept) == 2
    assert [place.exists() for place in places] == [False, False, True, True]


def test_everything_within_retention_stays(store: Store) -> None:
    for _ in range(4):
        store.run("orders")
    assert store.vacuum().tombstoned == ()


def test_files_go_only_a_grace_after_the_mark(store: Store) -> None:
    first = store.run("orders")
    for _ in range(3):
        store.run("orders")
    store.world.clock.time += 20 * DAY_US
    report = store.vacuum()
    assert report.tombstoned
    assert report.swept == ()
    assert first.exists(), "somebody may be reading it"
    store.world.clock.time += 2 * HOUR_US
    report = store.vacuum()
    assert first.exists() is False
    assert report.bytes > 0


def test_all_are_counted_and_the_first_are_named_batch_by_batch(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.engine.services.vacuum.NAMED", 2)
    monkeypatch.setattr("pondage.ledger.upkeep.retention.BATCH", 2)
    kept = store.run("orders")
    for number in range(5):
        left = store.warehouse / "data" / "d1" / "r9" / f"tcrashed{number}"
        left.mkdir(parents=True)
        age(left)
    report = store.vacuum()
    assert (len(report.orphans), report.orphan_count) == (2, 5)
    assert not (store.warehouse / "data" / "d1" / "r9").exists()
    assert kept.exists()


def test_what_a_zombie_writes_after_the_sweep_is_found_again(store: Store) -> None:
    first = store.run("orders")
    for _ in range(3):
        store.run("orders")
    store.world.clock.time += 20 * DAY_US
    store.vacuum()
    store.world.clock.time += 2 * HOUR_US
    store.vacuum()
    first.mkdir(parents=True)
    (first / "late.parquet").write_text("zombie")
    assert store.vacuum().orphans == (), "it may be writing still"
    age(first)
    assert store.vacuum().orphans == (str(first.relative_to(store.warehouse)),)
    assert not first.exists()


def test_what_an_active_run_reads_stays(store: Store) -> None:
    for _ in range(2):
        store.run("orders")
    store.world.send(Tap(pond="sales@1"))
    held = [store.claim()]
    if held[0].claim.node == "orders":
        place = store.write(held[0])
        written = msgspec.structs.replace(content(held[0]), path=str(place))
        assert guarded.commit(store.world.ledger, held[0], Written(written), process=store.worker.id)
        held.append(store.claim())
    reading = held[-1]
    assert isinstance(reading.task, RippleTask)
    source = reading.task.inputs["orders"]
    assert source is not None
    for _ in range(4):
        store.run("orders")
    store.world.clock.time += 40 * DAY_US
    store.vacuum()
    store.world.clock.time += 2 * HOUR_US
    store.vacuum()
    assert Path(source.path).exists()
    assert guarded.commit(store.world.ledger, reading, Written(content(reading)), process=store.worker.id)
    store.world.clock.time += 40 * DAY_US
    store.vacuum()
    store.world.clock.time += 2 * HOUR_US
    store.vacuum()
    assert not Path(source.path).exists(), "and goes when nobody reads it any more"


def test_files_without_a_snapshot_are_removed_when_they_are_old(store: Store) -> None:
    kept = store.run("orders")
    orphan = store.warehouse / "data" / "d1" / "r9" / "tcrashed"
    orphan.mkdir(parents=True)
    (orphan / "part-0.parquet").write_text("half")
    assert store.vacuum().orphans == ()
    age(orphan)
    assert store.vacuum(dry_run=True).orphans == ("data/d1/r9/tcrashed",)
    assert orphan.exists()
    assert store.vacuum().orphans == ("data/d1/r9/tcrashed",)
    assert not orphan.parent.exists(), "with the directory of its run"
    assert kept.exists()


def test_files_of_an_open_claim_stay_however_old(store: Store) -> None:
    store.world.send(Tap(pond="orders@1"))
    place = store.write(store.claim())
    assert store.vacuum().orphans == ()
    assert place.exists()


def test_a_dry_run_changes_nothing(store: Store) -> None:
    for _ in range(4):
        store.run("orders")
    store.world.clock.time += 20 * DAY_US
    before = store.world.ledger.driver.counts.transactions
    assert store.vacuum(dry_run=True).thinned == 2
    assert store.world.ledger.driver.counts.transactions == before


def test_old_logs_go_too(store: Store) -> None:
    log = store.warehouse / "logs" / "r1" / "1-1.log"
    log.parent.mkdir(parents=True)
    log.write_text("line")
    os.utime(log, (LONG_AGO, LONG_AGO))
    assert store.vacuum().logs == 1
    assert not log.parent.exists()


def test_the_sweeper_waits_before_its_first_sweep(store: Store, tmp_path: Path) -> None:
    orphan = store.warehouse / "data" / "d1" / "r9" / "tcrashed"
    orphan.mkdir(parents=True)
    age(orphan)
    sweeper = Sweeper(store.world.ledger, engine_config(tmp_path, vacuum_every_s=7.0))
    assert sweeper.run_once() == 7.0
    assert orphan.exists()
    sweeper.run_once()
    assert not orphan.exists()


CHAIN = """
job: {name: chain}
components: [{name: read, type: source}, {name: load, type: transform}, {name: more, type: sink}]
connections:
  data: [read.main -> load.input, load.main -> more.input]
  control: [load (subjob_ok) more]
"""


def test_tables_of_a_job_go_with_its_retention_unless_a_younger_run_has_taken_them_over(store: Store) -> None:
    run = Jobs(store.world)
    places: list[Path] = []

    def work(failing: set[str]) -> None:
        while (held := run.claim()) is not None:
            result = component_result(held, failing)
            members = []
            for member in result.members:
                outputs = {}
                for port, made in member.outputs.items():
                    place = store.warehouse / "runs" / "j1" / str(held.claim.dispatch) / port / held.claim.token
                    place.mkdir(parents=True)
                    (place / "part-0.parquet").write_text("rows")
                    age(place)
                    places.append(place)
                    outputs[port] = msgspec.structs.replace(made, path=str(place))
                members.append(msgspec.structs.replace(member, outputs=outputs))
            run.commit_result(held, msgspec.structs.replace(result, members=tuple(members)))

    failed = run.start(job(CHAIN))
    work({"more"})
    orphan = store.warehouse / "runs" / "j1" / "9" / "main" / "t0"
    orphan.mkdir(parents=True)
    age(orphan)
    store.world.clock.time += 8 * DAY_US
    resumed = jobs.resume(store.world.ledger, "main", failed)
    work(set())
    assert run.row(resumed).state == "OK"
    store.world.clock.time += 8 * DAY_US
    assert store.vacuum().orphans == ("runs/j1/9/main/t0",)
    store.world.clock.time += 2 * HOUR_US
    store.vacuum()
    assert [place.exists() for place in places] == [True, True]
    with pytest.raises(LedgerError) as refused:
        jobs.resume(store.world.ledger, "main", failed)
    assert refused.value.code == "RESUME_HASH_MISMATCH"
    store.world.clock.time += 8 * DAY_US
    store.vacuum()
    store.world.clock.time += 2 * HOUR_US
    assert store.vacuum(dry_run=True).bytes == 8
    assert store.vacuum().bytes == 8
    assert [place.exists() for place in places] == [False, False]
    store.vacuum()
    for table in ("job_runs", "run_tables", "run_rows"):
        assert store.world.one(f"SELECT count(*) FROM {table}") == 0
    assert store.world.one("SELECT count(*) FROM actors WHERE kind = 'run'") == 0
    assert store.world.one("SELECT count(*) FROM history WHERE kind = 'job'") == 2
