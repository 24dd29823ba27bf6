"""`backup`, `restore`, `doctor --replay` and `worker`, as somebody types them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pondage.engine.process import identity
from pondage.kernel.demand.events import Pulse
from pondage.ledger.database.clock import HostClock
from pondage.ledger.queue import processes
from tests.cli.conftest import Call
from tests.ledger.harness import World
from tests.patience import PATIENCE_S


@pytest.fixture
def used(world: World) -> World:
    world.send(Pulse(pond="reports@1"))
    world.worker().drain()
    with world.ledger.transaction() as tx:
        tx.change("UPDATE processes SET dead_at = 1")
    return world


def give_files(world: World, folder: Path) -> None:
    """Let every snapshot have the file that it names."""
    for row in world.rows("SELECT id, execution FROM snapshots"):
        place = folder / str(row["id"])
        place.mkdir(parents=True)
        (place / "part-0.parquet").touch()
        with world.ledger.transaction() as tx:
            tx.change("UPDATE snapshots SET path = :path WHERE id = :id", path=str(place), id=int(str(row["id"])))


def test_a_copy_is_put_back_and_what_was_there_is_kept(used: World, project: Path, call: Call) -> None:
    give_files(used, project / "data")
    assert call("backup", "copy.db").out.startswith("copied the ledger to copy.db")
    runs = used.one("SELECT count(*) FROM runs")
    used.send(Pulse(pond="orders@1"))
    assert used.one("SELECT count(*) FROM runs") != runs
    said = call("restore", "copy.db")
    assert said.code == 0, said.err
    assert "before-restore-1" in said.out
    assert "the data of all 4 snapshots is there" in said.out
    assert used.one("SELECT count(*) FROM runs") == runs
    assert (project / ".pondage" / "ledger.db.before-restore-1").is_file()


def test_a_copy_never_overwrites(used: World, project: Path, call: Call) -> None:
    (project / "copy.db").write_text("mine")
    said = call("backup", "copy.db")
    assert said.code == 1
    assert "FILE_EXISTS" in said.err
    assert (project / "copy.db").read_text() == "mine"


def test_snapshots_without_files_are_named_with_the_next_command(used: World, project: Path, call: Call) -> None:
    said = call("restore", "--check")
    assert said.code == 1
    assert "4 of 4 snapshots have no data" in said.out
    assert "next: pondage force orders" in said.out
    assert len(call("restore", "--check", "--json").json["checked"]["missing"]) == 4  # type: ignore[index,call-overload]


def test_nothing_is_restored_while_somebody_works(used: World, call: Call) -> None:
    call("backup", "copy.db")
    # The ledger's own clock is the test's: only a process of that clock is alive for it.
    clock = HostClock()
    with used.ledger.transaction() as tx:
        identity_ = processes.register(
            tx, public_id="pbusy", machine=identity.machine(), pid=os.getpid(),
            pid_started=identity.started(os.getpid()), role="supervisor",
        )  # fmt: skip
        tx.change(
            "UPDATE processes SET boot = :boot, heartbeat_at = :beat WHERE id = :id",
            boot=clock.boot, beat=clock.beat(), id=identity_,
        )  # fmt: skip
    said = call("restore", "copy.db")
    assert said.code == 1
    assert "in use by supervisor pbusy" in said.err


@pytest.mark.parametrize(("body", "code"), [(None, "NO_FILE"), ("no database", "NO_LEDGER")])
def test_what_is_no_ledger_is_refused(used: World, project: Path, call: Call, body: str | None, code: str) -> None:
    if body is not None:
        (project / "copy.db").write_text(body * 1000)
    said = call("restore", "copy.db")
    assert said.code == 1
    assert code in said.err


def test_the_recorded_history_is_replayed_when_asked(used: World, call: Call) -> None:
    checks = {each["check"]: each for each in call("doctor", "--replay", "--json").json["checks"]}  # type: ignore[union-attr,attr-defined]
    assert checks["replay"]["ok"], checks["replay"]
    assert "recorded steps give the stored states" in checks["replay"]["detail"]
    assert checks["schema"]["ok"]


def test_a_worker_without_a_project_must_be_told_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    said = call("worker", "--ledger", f"sqlite://{tmp_path}/ledger.db")
    assert said.code == 1
    assert "--warehouse, --state was not given" in said.err
    assert call("worker", "--labels", "two words").code == 2


def test_a_worker_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    code = "import sys; from pondage.cli.main import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["--ledger", f"sqlite://{tmp_path}/ledger.db", "--warehouse", str(tmp_path / "data")]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "worker", *arguments, "--state", "state", "--labels", "gpu,eu", "--slots", "3"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(identity.__file__).parents[3])},
    )  # fmt: skip
    assert process.stdout is not None
    assert "3 Ripples side by side in each, labels gpu eu" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "Draining" in output
