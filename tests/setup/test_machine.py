"""Disk, home directory and user: what the set-up does when they are not as usual."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from scripts.setup import machine
from scripts.setup.failure import SetupFailed


def test_too_little_disk_is_refused_before_the_download_with_both_figures(tmp_path: Path) -> None:
    with pytest.raises(SetupFailed) as refusal:
        machine.check_disk(tmp_path, 2_200_000_000, measure=lambda _: 700_000_000)
    assert "needs about 2.2 GB" in str(refusal.value)
    assert "0.7 GB are free" in str(refusal.value)
    assert "run the same command again" in str(refusal.value)


def test_enough_disk_is_answered_with_what_is_free(tmp_path: Path) -> None:
    assert machine.check_disk(tmp_path, 10, measure=lambda _: 11) == 11


def test_the_disk_is_measured_where_the_checkout_is(tmp_path: Path) -> None:
    assert machine.free_bytes(tmp_path) > 0


def test_a_usual_home_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    given = {"HOME": str(home), "PATH": "/bin"}
    mended = machine.installer_environment(given, tmp_path / "cache")
    assert mended["HOME"] == str(home)
    assert "PIP_CACHE_DIR" not in mended


@pytest.mark.parametrize("given", [{}, {"HOME": ""}, {"HOME": "/nonexistent/home"}])
def test_a_missing_home_is_replaced_by_one_in_the_project(given: dict[str, str], tmp_path: Path) -> None:
    mended = machine.installer_environment(given, tmp_path / "cache")
    assert Path(mended["HOME"]).is_dir()
    assert Path(mended["HOME"]).is_relative_to(tmp_path)
    assert mended["PIP_CACHE_DIR"] == str(tmp_path / "cache" / "pip")


def test_a_read_only_home_keeps_its_settings_and_the_cache_goes_to_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    # Permissions do not stop root, so the answer of the file system is given instead.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != home)
    mended = machine.installer_environment({"HOME": str(home)}, tmp_path / "cache")
    assert mended["HOME"] == str(home)
    assert mended["PIP_CACHE_DIR"] == str(tmp_path / "cache" / "pip")


def test_the_settings_of_pip_proxies_and_certificates_are_kept(tmp_path: Path) -> None:
    given = {
        "PIP_INDEX_URL": "somewhere",
        "PIP_CACHE_DIR": "/my/cache",
        "PIP_CERT": "/my/certificates",
        "HTTPS_PROXY": "a-proxy",
        "SSL_CERT_FILE": "/my/certificates",
    }
    mended = machine.installer_environment(given, tmp_path)
    assert {name: mended[name] for name in given} == given


def test_the_paths_of_another_python_are_not_handed_on(tmp_path: Path) -> None:
    mended = machine.installer_environment({"PYTHONPATH": "/other", "PYTHONHOME": "/other"}, tmp_path)
    assert "PYTHONPATH" not in mended
    assert "PYTHONHOME" not in mended


def test_a_user_without_a_passwd_entry_gets_a_name_for_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody_by_that_number(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody_by_that_number)
    assert not machine.has_passwd_entry()
    assert machine.installer_environment({}, tmp_path)["LOGNAME"] == "pondage"
    assert machine.installer_environment({"LOGNAME": "given"}, tmp_path)["LOGNAME"] == "given"
