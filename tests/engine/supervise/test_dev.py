"""`pondage dev` and supervisors of single commands, as real processes; none of them needs Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pondage.engine.process.config import EngineConfig, config_of
from pondage.engine.supervise import dev
from pondage.engine.supervise.dev import AlreadyRunning, attached, is_served, run_dev, standing_supervisor
from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep.reap import reap_process
from pondage.project.project import Project
from tests.engine.projects import write_project
from tests.patience import PATIENCE_S


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return write_project(tmp_path / "project", "")


def supervisors(config: EngineConfig) -> list[processes.ProcessRow]:
    ledger = config.open_ledger()
    try:
        with ledger.reading() as tx:
            return [row for row in processes.alive(tx) if row.role == "supervisor"]
    finally:
        ledger.close()


def started_dev(project: Project) -> subprocess.Popen[str]:
    """A real `pondage dev`, after it has said what it serves."""
    code = (
        "import sys; from pathlib import Path; from pondage.engine.supervise.dev import run_dev;"
        "from pondage.project.project import load_project; sys.exit(run_dev(load_project(Path(sys.argv[1]))))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(project.root)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(dev.__file__).parents[3])},
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if "Ctrl-C here ends it" in line:
            return process
    raise AssertionError("it ended before it served")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_it_with_a_message(project: Project, number: signal.Signals) -> None:
    process = started_dev(project)
    assert is_served(config_of(project))
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert "Draining" in output
    assert process.returncode == 0
    assert supervisors(config_of(project)) == []


def test_a_second_one_on_the_same_project_says_so(project: Project) -> None:
    process = started_dev(project)
    with pytest.raises(AlreadyRunning, match=rf"pid {process.pid}"):
        run_dev(project, quiet=True)
    process.terminate()
    process.communicate(timeout=PATIENCE_S)


def test_a_dead_one_is_no_obstacle_and_serves_nobody(project: Project) -> None:
    process = started_dev(project)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    config = config_of(project)
    assert len(supervisors(config)) == 1, "nobody has told the ledger"
    assert not is_served(config), "but its process is gone"
    assert run_dev(project, quiet=True, until=lambda: True) == 0


def test_it_ends_when_its_purpose_is_fulfilled(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_dev(project, until=lambda: True) == 0
    assert f"Pondage serves project {project.name}" in capsys.readouterr().out


def test_a_command_uses_the_one_that_is_there(project: Project) -> None:
    process = started_dev(project)
    with attached(project):
        (row,) = supervisors(config_of(project))
        assert row.pid == process.pid
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=PATIENCE_S)


def test_a_command_starts_its_own_and_ends_it(project: Project) -> None:
    config = config_of(project)
    with attached(project):
        (row,) = supervisors(config)
        assert row.labels == "attached"
        assert not is_served(config), "no other command may rely on it"
    assert supervisors(config) == []


def test_a_supervisor_ends_with_the_command_that_started_it(project: Project) -> None:
    code = (
        "import os, sys; from pathlib import Path; from pondage.engine.supervise.dev import attached;"
        "from pondage.project.project import load_project\n"
        "with attached(load_project(Path(sys.argv[1]))): os.kill(os.getpid(), 9)"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(project.root)], check=False, timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": str(Path(dev.__file__).parents[3])},
    )  # fmt: skip
    ledger = config_of(project).open_ledger()
    changes = ledger.driver.changes()
    deadline = threading.Timer(PATIENCE_S, lambda: os.kill(os.getpid(), signal.SIGALRM))
    deadline.start()
    while supervisors(config_of(project)):
        changes.wait(1.0)
    deadline.cancel()
    ledger.close()


def test_a_supervisor_that_cannot_start_is_told_and_not_waited_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(PondageError, match="ended at once, with exit code 1"), attached(project):
        pass


def test_only_a_fresh_supervisor_counts(project: Project) -> None:
    ledger = Ledger.open(config_of(project).ledger, durability=config_of(project).durability)
    with ledger.transaction() as tx:
        processes.register(tx, public_id="p1", machine="elsewhere", pid=1, pid_started=1, role="supervisor")
    assert standing_supervisor(ledger) is not None
    with ledger.transaction() as tx:
        tx.change("UPDATE processes SET heartbeat_at = heartbeat_at - 21000000")
    assert standing_supervisor(ledger) is None
    ledger.close()


def test_a_supervisor_of_a_command_that_others_took_for_dead_comes_back_while_the_command_waits(
    project: Project,
) -> None:
    """A laptop that was closed during `pondage run` had nobody who works when it was opened again."""
    config = config_of(project)
    with attached(project):
        (first,) = supervisors(config)
        ledger = config.open_ledger()
        changes = ledger.driver.changes()
        reap_process(ledger, first, reason="it was silent")
        deadline_s = time.monotonic() + PATIENCE_S
        while not (found := supervisors(config)):
            assert time.monotonic() < deadline_s, "nobody came back"
            changes.wait(1.0)
        ledger.close()
    assert [(row.id == first.id, row.labels) for row in found] == [(False, "attached")]
    assert supervisors(config) == [], "and it ends with the command"
