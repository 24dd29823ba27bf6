"""The doctor finds what is wrong and changes nothing."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest

from pondage.engine.process.config import config_of
from pondage.engine.services.doctor import Finding, examine, main
from pondage.ledger.queue import processes
from pondage.project.project import Project
from tests.engine.projects import write_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return write_project(tmp_path / "project", "")


def found(project: Project, check: str) -> Finding:
    (finding,) = [each for each in examine(project.root) if each.check == check]
    return finding


def execute(project: Project, statement: str) -> None:
    ledger = config_of(project).open_ledger()
    with ledger.transaction() as tx:
        tx.change(statement)
    ledger.close()


def test_a_sound_project_is_all_well(project: Project) -> None:
    assert [each.check for each in examine(project.root) if not each.ok and each.check != "java"] == []


def test_outside_a_project_it_says_so(tmp_path: Path) -> None:
    (finding,) = [each for each in examine(tmp_path) if each.check == "project"]
    assert not finding.ok
    assert finding.hint
    assert "pondage init" in finding.hint


def test_what_others_may_read_is_told_with_the_command_that_ends_it(project: Project) -> None:
    config_of(project).open_ledger().close()
    assert found(project, "private").ok
    ledger = project.state / "ledger.db"
    ledger.chmod(0o644)
    assert found(project, "private").ok, "the directory above is closed"
    project.state.chmod(0o755)
    finding = found(project, "private")
    assert not finding.ok
    assert str(ledger) in finding.detail
    assert finding.hint is not None
    subprocess.run(shlex.split(finding.hint), check=True)
    assert found(project, "private").ok
    ledger.chmod(0o640)
    project.state.chmod(0o710)
    assert str(ledger) in found(project, "private").detail, "the group is others, too"


def test_the_output_is_json_and_the_exit_code_tells(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--json", "--project", str(project.root)])
    findings = msgspec.json.decode(capsys.readouterr().out)
    assert set(findings[0]) == {"check", "ok", "detail", "hint"}
    assert code == (0 if all(each["ok"] for each in findings) else 1)


def test_a_process_that_is_gone_is_named(project: Project) -> None:
    ledger = config_of(project).open_ledger()
    from pondage.engine.process import identity

    with ledger.transaction() as tx:
        processes.register(tx, public_id="pgone", machine=identity.machine(), pid=1, pid_started=-1, role="worker")
    ledger.close()
    finding = found(project, "processes")
    assert not finding.ok
    assert "worker pgone" in finding.detail


def test_a_halted_actor_is_named_with_its_reason(project: Project) -> None:
    execute(project, "INSERT INTO environments (id, name) VALUES (1, 'main')")
    execute(project, "INSERT INTO actors (environment, kind, key, halted) VALUES (1, 'catchment', 'orders', 'broken')")
    assert found(project, "actors").detail == "orders: broken"


def test_what_lets_a_halted_actor_go_on_is_a_command_for_just_that(project: Project) -> None:
    for statement in (
        "INSERT INTO environments (id, name) VALUES (1, 'main'), (2, 'dev')",
        """INSERT INTO actors (id, environment, kind, key, halted)
           VALUES (1, 2, 'catchment', 'orders', 'broken'), (2, 1, 'run', 'x', 'broken')""",
        "INSERT INTO definitions (id, digest, body) VALUES (1, 'd', '{}')",
        """INSERT INTO ponds (environment, name, major, project, definition, actor, state)
           VALUES (2, 'orders', 1, 'p', 1, 1, '{}')""",
        """INSERT INTO job_runs (public_id, environment, actor, job, definition, archive, context, state, reason,
                                 started_at) VALUES ('j1', 1, 2, 'nightly', 1, '', '{}', '{}', 'user', 1)""",
    ):
        execute(project, statement)
    hint = found(project, "actors").hint
    assert hint == "once the cause is gone: pondage clear orders --env dev; pondage job kill j1"


def test_a_clock_that_was_set_back_is_noticed(project: Project) -> None:
    execute(
        project,
        """INSERT INTO processes (public_id, machine, boot, pid, pid_started, role,
                                  registered_at, heartbeat_at, dead_at)
           VALUES ('p1', 'm', 'b', 1, 1, 'worker', :now + 3600000000, 0, 1)""",
    )
    assert "s behind the ledger" in found(project, "clock").detail


def test_a_damaged_ledger_is_told_and_not_raised(project: Project) -> None:
    Path(project.ledger).parent.mkdir(parents=True)
    Path(project.ledger).write_text("this is no database" * 100)
    assert not found(project, "ledger").ok
