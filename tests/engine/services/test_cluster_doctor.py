"""What the doctor says of a cluster before it starts Spark, and of what tasks saw; `tests/services` has a real one."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.engine.process.config import config_of
from pondage.engine.services import cluster_doctor
from pondage.engine.services.cluster_doctor import cluster_findings, master_finding
from pondage.engine.services.ledger_doctor import Finding
from pondage.spark.files.survey import Seen
from pondage.spark.jvm.settings import SparkSettings
from tests.engine.projects import write_project
from tests.ports import refusing_port

OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def open_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def closed_port() -> Iterator[int]:
    with refusing_port() as port:
        yield port


def test_a_local_master_is_always_there() -> None:
    assert master_finding(SparkSettings(master="local[2]")).ok


@pytest.mark.parametrize("form", ["spark://127.0.0.1:{}", "k8s://https://127.0.0.1:{}", "k8s://127.0.0.1:{}"])
def test_a_master_is_reached_by_its_address(form: str, open_port: int, closed_port: int) -> None:
    assert master_finding(SparkSettings(master=form.format(open_port))).ok
    lost = master_finding(SparkSettings(master=form.format(closed_port)))
    assert (lost.ok, lost.detail) == (False, f"127.0.0.1:{closed_port}: Connection refused")
    assert lost.hint


def test_one_of_several_masters_is_enough(open_port: int, closed_port: int) -> None:
    master = f"spark://127.0.0.1:{closed_port},127.0.0.1:{open_port}"
    assert master_finding(SparkSettings(master=master)).detail == f"127.0.0.1:{open_port} answers"


def test_a_connect_server_is_reached_by_its_address(open_port: int) -> None:
    assert master_finding(SparkSettings(remote=f"sc://127.0.0.1:{open_port}/;token=hidden")).ok


def test_an_address_that_is_none_is_said() -> None:
    assert master_finding(SparkSettings(master="spark://")).detail == "spark:// names no host and port"


def test_yarn_is_known_by_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    assert not master_finding(SparkSettings(master="yarn")).ok
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert master_finding(SparkSettings(master="yarn")).ok


def test_spark_is_not_started_for_a_master_that_does_not_answer(tmp_path: Path, closed_port: int) -> None:
    settings = f'[project]\nname = "far"\n[spark]\nmaster = "spark://127.0.0.1:{closed_port}"\n'
    project = write_project(tmp_path / "project", "", settings)
    assert [each.check for each in cluster_findings(config_of(project))] == ["master"]


def looked(*seen: Seen) -> dict[str, Finding]:
    return {each.check: each for each in cluster_doctor._findings_of(list(seen))}


def test_machines_that_differ_are_named() -> None:
    good = Seen(host="one", python=f"{OURS}.1", has_pondage=True, late_s=0.0)
    assert all(each.ok for each in looked(good).values())
    found = looked(good, Seen(host="two", python="3.2.9", has_pondage=False, late_s=-7.5))
    assert [each.detail for each in found.values() if not each.ok] == [
        "Python 3.2.9 on two",
        "pondage is missing on two",
        "two is 7.5 s behind",
    ]
