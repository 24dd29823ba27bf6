"""Real clusters: the retail demo on a standalone cluster of two workers, and what dies there in the middle of a job."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pondage.engine.cluster_doctor import cluster_findings
from pondage.engine.config import config_of
from pondage.kernel.demand.events import Pulse
from pondage.ledger import verbs
from pondage.ledger.ledger import Ledger
from pondage.read.project import Project
from tests.chaos.fault import Dev, opened, wait_for
from tests.chaos.invariants import violations
from tests.engine.projects import write_project
from tests.services.clusters import StandaloneCluster, kill_executor_of
from tests.services.retail import is_published, retail_project, with_gate_on_executors, wrong_rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cluster() -> Iterator[StandaloneCluster]:
    started = StandaloneCluster()
    yield started
    started.close()


@contextmanager
def running(project: Project) -> Iterator[Dev]:
    """Run `pondage dev`, whose first task at the gate stops there; nothing of it is left behind."""
    dev = Dev(project, point="in_a_task")
    try:
        yield dev
    finally:
        if dev.process.poll() is None:
            dev.kill_group()


def outcomes(ledger: Ledger) -> set[object]:
    with ledger.reading() as tx:
        return {row["outcome"] for row in tx.rows("SELECT outcome FROM executions")}


def test_an_executor_killed_in_the_middle_of_a_job_costs_neither_rows_nor_an_attempt(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    root = tmp_path / "retail"
    project = retail_project(root, cluster.settings + with_gate_on_executors(root), has_gate=True)
    with closing(opened(project)) as ledger, running(project) as dev:
        verbs.send(ledger, "main", Pulse(pond="reports@1"))
        kill_executor_of(dev.wait_reached())
        wait_for(ledger, lambda: is_published(ledger))
        assert dev.drain() == 0
        assert violations(ledger, Path(project.warehouse)) == []
        assert outcomes(ledger) == {"ok"}, "Spark repeats the lost task itself"
        assert wrong_rows(project) == []


def test_the_doctor_looks_around_on_the_executors(cluster: StandaloneCluster, tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", "", '[project]\nname = "doctor"\n' + cluster.settings)
    findings = {each.check: each for each in cluster_findings(config_of(project))}
    assert list(findings) == ["master", "executors", "packages", "clocks", "shared"]
    assert all(each.ok for each in findings.values()), findings
    assert platform.python_version() in findings["executors"].detail
    assert list(Path(project.warehouse, "data").iterdir()) == [], "it leaves nothing behind"
