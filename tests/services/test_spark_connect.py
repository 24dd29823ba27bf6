"""The retail demo on a real Spark Connect server, whose client is killed in the middle of a query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from tests.chaos.fault import opened, wait_ended, wait_for
from tests.chaos.invariants import violations
from tests.services.clusters import ConnectServer, in_a_process
from tests.services.connect_client import ask_for_a_plan, write_far_away
from tests.services.retail import is_published, look_around, retail_project, running, wrong_rows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo will be: the server is told before it starts."""
    return tmp_path_factory.mktemp("connect") / "retail"


@pytest.fixture(scope="module")
def server(gated: Path) -> Iterator[ConnectServer]:
    started = ConnectServer(gated)
    yield started
    started.close()


def test_the_query_of_a_killed_client_is_ended_by_the_reaper_and_the_rerun_publishes_once(
    server: ConnectServer, gated: Path
) -> None:
    project = retail_project(gated, server.settings, has_gate=True)
    with closing(opened(project)) as ledger:
        verbs.send(ledger, "main", Pulse(pond="reports@1"))
        with running(project, point="in_a_task") as dev:
            task = dev.wait_reached()
            dev.kill_group()
        os.kill(task, 0)  # the query goes on without its client
        with running(project) as dev:
            wait_ended(task)
            wait_for(ledger, lambda: is_published(ledger))
            assert dev.drain() == 0
        assert violations(ledger, Path(project.warehouse)) == []
        assert wrong_rows(project) == []
        with ledger.reading() as tx:
            crashed = tx.rows("SELECT token FROM executions WHERE outcome = 'crashed'")
            visible = [str(row["path"]) for row in tx.rows("SELECT path FROM snapshots")]
        assert crashed
        assert not [path for path in visible if any(str(row["token"]) in path for row in crashed)]


def test_the_doctor_looks_around_on_a_connect_server(server: ConnectServer, tmp_path: Path) -> None:
    in_a_process(look_around, tmp_path / "project", server.settings)


def test_what_needs_a_plan_says_that_a_connect_server_shows_none(server: ConnectServer, tmp_path: Path) -> None:
    in_a_process(ask_for_a_plan, server.remote, tmp_path)


def test_files_that_only_the_server_can_read_are_counted_by_it(server: ConnectServer, tmp_path: Path) -> None:
    in_a_process(write_far_away, server.remote, server.folder / "far" / "snapshot", tmp_path)
