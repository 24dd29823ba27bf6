"""What a machine is told by its command line and by a project file, and what it then works on."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.engine.process.config import shown_url
from pondage.engine.supervise.machine import WorkerOptions, worker_config
from pondage.errors import ProjectError
from pondage.kernel.demand.events import Tap
from pondage.ledger.queue import processes, queues
from pondage.ledger.queue.queues import Offer
from tests.engine.plain import PlainExecutor, join_slots, make_worker
from tests.engine.projects import write_project
from tests.engine.supervise.test_supervisor import Supervised
from tests.ledger.harness import World, pond

FILE = """
[project]
name = "tests"
ledger = "postgresql://pondage@db.example/pondage"
[spark]
master = "local[2]"
[worker]
workers = 3
slots = 5
labels = ["gpu", "eu"]
"""


def test_a_project_file_says_what_a_machine_offers(tmp_path: Path) -> None:
    config = worker_config(WorkerOptions(), write_project(tmp_path / "project", "", FILE))
    assert (config.workers, config.slots, config.labels) == (3, 5, ("gpu", "eu"))
    assert config.ledger == "postgresql://pondage@db.example/pondage"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("there/ledger.db", "{here}/there/ledger.db"),
        ("./ledger.db", "{here}/ledger.db"),
        ("sqlite://there/ledger.db", "sqlite://{here}/there/ledger.db"),
        ("sqlite:///there/ledger.db", "sqlite:///there/ledger.db"),
        ("postgresql://pondage@db.example/pondage", "postgresql://pondage@db.example/pondage"),
    ],
)
def test_a_relative_ledger_is_the_one_that_is_seen_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, meant: str
) -> None:
    monkeypatch.chdir(tmp_path)
    config = worker_config(WorkerOptions(ledger=given, warehouse="data", state=tmp_path / "state"), None)
    assert config.ledger == meant.format(here=tmp_path)
    assert config.warehouse == f"{tmp_path}/data"


def test_the_command_line_wins(tmp_path: Path) -> None:
    options = WorkerOptions(ledger="sqlite:///x", state=tmp_path, slots=1, labels=("arm",), master="local[1]")
    config = worker_config(options, write_project(tmp_path / "project", "", FILE))
    assert (config.ledger, config.slots, config.labels) == ("sqlite:///x", 1, ("arm",))
    assert config.workers == 3, "what is not said is taken from the file"
    assert config.spark.master == "local[1]"
    assert config.state == tmp_path


def test_without_a_project_ledger_warehouse_and_state_must_be_said(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="--warehouse, --state was not given"):
        worker_config(WorkerOptions(ledger="sqlite:///x"), None)
    config = worker_config(WorkerOptions(ledger="sqlite:///x", warehouse="/w", state=tmp_path), None)
    assert (config.root, config.state, config.warehouse) == (str(tmp_path), tmp_path, "/w")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/name", "postgresql://me:***@host/name"),
        ("postgresql://me:s:e@c@host/name", "postgresql://me:***@host/name"),
        ("postgresql://me@host:5432/name", "postgresql://me@host:5432/name"),
        ("postgresql://host/name?password=secret&x=1", "postgresql://host/name?password=***&x=1"),
        ("sqlite:///place/ledger.db", "sqlite:///place/ledger.db"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_labelled_work_goes_where_all_its_labels_are_offered(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders", labels=("gpu", "eu")))
    world.send(Tap(pond="orders@1"))
    assert not make_worker(world, tmp_path, executor, labels=("gpu",)).claim_one()
    offering = make_worker(world, tmp_path, executor, labels=("eu", "gpu", "big"))
    with world.ledger.reading() as tx:
        assert [row.labels for row in processes.alive(tx) if row.id == offering.process] == ["big eu gpu"]
    assert offering.claim_one()
    join_slots()
    assert executor.executed == ["orders"]


def test_a_supervisor_starts_no_worker_for_work_that_it_may_not_do(world: World, tmp_path: Path) -> None:
    world.deploy(pond("orders", labels=("gpu",)))
    world.send(Tap(pond="orders@1"))
    with world.ledger.reading() as tx:
        assert len(queues.needs(tx)) == 1
        assert queues.needs(tx, Offer(code="")) == []
    plain, offering = Supervised(world, tmp_path), Supervised(world, tmp_path, labels=("gpu",))
    for supervised in (plain, offering):
        supervised.supervisor.tick()
    assert (len(plain.children), len(offering.children)) == (0, 1)
