"""Spark Connect without a server: addresses, missing packages, and whose queries a reaper ends."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from pondage.engine.process.config import config_of
from pondage.engine.services import remote_queries
from pondage.engine.services.reaper import Reaper
from pondage.engine.services.remote_queries import Asked, RemoteQueries
from pondage.errors import PondageError
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.commit import polling, work
from pondage.ledger.queue import processes
from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.session import connect
from pondage.spark.session.driver import SparkDriver
from tests.engine.projects import deploy_project, write_project

PONDS = "from pondage import pond\n\n@pond\ndef orders(spark) -> object:\n    return None\n"


def test_an_address_leads_everybody_who_knows_the_token_to_one_session() -> None:
    address = connect.address_of("sc://host:15002", "a-token")
    base, _, parameters = address.partition("/;")
    given = dict(each.split("=", 1) for each in parameters.split(";"))
    assert (base, given["user_id"]) == ("sc://host:15002", "pondage")
    UUID(given["session_id"])
    assert connect.address_of("sc://host:15002/", "a-token") == address
    assert connect.address_of("sc://host:15002", "another") != address


def test_what_an_address_says_itself_is_kept_but_not_its_session() -> None:
    address = connect.address_of("sc://host/;use_ssl=true;token=x=y;user_id=me;session_id=no", "a-token")
    assert address.startswith("sc://host/;use_ssl=true;token=x=y;user_id=me;session_id=")
    assert "session_id=no" not in address


def test_missing_packages_are_named_before_anything_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_is_installed", lambda name: name != "grpc")
    with pytest.raises(PondageError, match="not installed: grpc") as told:
        SparkDriver.start(SparkSettings(remote="sc://host"), tmp_path)
    assert (told.value.code, told.value.hint) == ("MISSING_EXTRA", "pip install 'pyspark[connect]'")


class Noted(RemoteQueries):
    def __init__(self) -> None:
        super().__init__(None)
        self.tokens: list[str] = []

    def end(self, tokens: object) -> None:
        self.tokens += tokens  # type: ignore[arg-type]


def test_a_reaper_ends_exactly_the_queries_of_the_dead(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", PONDS)
    digest = deploy_project(project)
    ledger = config_of(project).open_ledger()
    try:
        verbs.send(ledger, "main", Pulse(pond="orders@1"))
        from pondage.engine.process import identity

        with ledger.transaction() as tx:
            dead = processes.register(
                tx, public_id="pdead", machine=identity.machine(), pid=1, pid_started=-1, role="worker"
            )
        queues = polling.queues_for(ledger, code=digest)
        claimed = work.claim_work(ledger, process=dead, queues=queues, token="its-token", is_alone=True)
        assert claimed is not None
        queries = Noted()
        Reaper(ledger, process=None, queries=queries).run_once()
        assert queries.tokens == ["its-token"]
        Reaper(ledger, process=None, queries=queries).run_once()
        assert queries.tokens == ["its-token"], "once"
    finally:
        ledger.close()


def test_without_a_server_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Asked] = []
    monkeypatch.setattr(remote_queries, "_end", asked.append)
    RemoteQueries(None).end(["a-token"])
    RemoteQueries("sc://host").end([])
    assert asked == []
