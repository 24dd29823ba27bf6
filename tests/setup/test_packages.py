"""What tests need of the machine's own packages."""

import stat
from pathlib import Path

import pytest

from scripts import packages as command
from scripts.setup import packages


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answer a folder that is all of PATH, on a machine where this user is root and no service policy is set."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(packages, "PROGRAMS", {"pondage-broker": "broker", "pondage-browser": "browser"})
    monkeypatch.setattr(packages, "POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(command, "LOG", tmp_path / "cache" / "packages.log")
    return tmp_path


def program(place: Path, name: str, text: str = "") -> None:
    (place / name).write_text(f"#!/bin/sh\n{text}\n")
    (place / name).chmod(0o755)


def test_only_what_is_missing_is_installed_and_no_service_starts(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(machine, "pondage-browser")
    program(machine, "apt-get", f'echo "$@" >> {machine}/asked; test -x {machine}/policy-rc.d')
    assert command.main() == 0
    assert (machine / "asked").read_text() == "install --yes --no-install-recommends broker\n"
    assert not (machine / "policy-rc.d").exists()
    assert "Installing broker" in capsys.readouterr().out


def test_a_policy_that_is_there_stays(machine: Path) -> None:
    program(machine, "policy-rc.d", "exit 104")
    program(machine, "apt-get")
    assert packages.install(["broker"], machine / "log")
    assert (machine / "policy-rc.d").read_text() == "#!/bin/sh\nexit 104\n"
    assert (machine / "policy-rc.d").stat().st_mode & stat.S_IXUSR


def test_old_lists_are_renewed_once_and_a_failure_is_told(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(machine, "apt-get", f"echo $1 >> {machine}/asked; echo unreachable; exit 100")
    assert command.main() == 0
    assert (machine / "asked").read_text().split() == ["install", "update", "install"]
    assert "unreachable" in (machine / "cache" / "packages.log").read_text()
    assert "their tests are skipped" in capsys.readouterr().out


def test_whoever_may_not_install_is_told_what_to_type(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(machine, "apt-get", "exit 1")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert command.main() == 0
    assert "sudo apt-get install broker browser" in capsys.readouterr().out


def test_nothing_is_said_when_all_is_there(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(machine, "pondage-broker")
    program(machine, "pondage-browser")
    assert command.main() == 0
    assert capsys.readouterr().out == ""
