"""OpenLineage: what an ended Run tells, to a real HTTP server and to a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.engine.process.config import EngineConfig
from pondage.engine.services.notifications import teller
from pondage.engine.services.outbox import Outbox
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.data import lineage
from pondage.ledger.database.driver import number
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.project.project import LineageTable
from pondage.work.lineage import ColumnLineage, Origin
from tests.ledger.harness import World, pond


class Receiver:
    """A server that keeps what it is told; `is_down` makes it refuse."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.is_down = False
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not receiver.is_down:
                    receiver.events.append(json.loads(body))
                    receiver.keys.append(self.headers.get("Authorization"))
                self.send_response(503 if receiver.is_down else 200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    made.deploy(pond("orders"), pond("sales", sources={"orders": True}))
    yield made
    made.ledger.close()


def outbox(world: World, tmp_path: Path, **settings: str) -> Outbox:
    config = EngineConfig(
        project="p",
        root=str(tmp_path),
        ledger="",
        warehouse=str(tmp_path / "warehouse"),
        state_directory=str(tmp_path / "state"),
        lineage=LineageTable(**settings),
    )
    return Outbox(world.ledger, config.warehouse, tell=teller(world.ledger, config))


def completed(world: World) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()


def test_a_completed_run_tells_what_it_read_what_it_made_and_its_columns(
    world: World, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_KEY", "open sesame")
    completed(world)
    with world.ledger.transaction() as tx:
        row = tx.row("SELECT id FROM dispatches WHERE node = 'sales'")
        assert row is not None
        found = ColumnLineage(columns={"n": (Origin("orders", "n"),)}, rows=(Origin("orders", "n"),))
        lineage.keep(tx, dispatch=number(row, "id"), key="k", lineage=found)
    world.ledger.reads.note(
        environment=1, pond=PondKey("sales@1"), run=2, door="sql", reader="bi", at=0, age=0, size=30
    )
    world.ledger.reads.flush()
    outbox(world, tmp_path, openlineage=receiver.url, namespace="shop", key="env:LINEAGE_KEY").run_once()
    assert [(each["eventType"], each["job"]["name"]) for each in receiver.events] == [
        ("START", "main.orders@1"),
        ("COMPLETE", "main.orders@1"),
        ("START", "main.sales@1"),
        ("COMPLETE", "main.sales@1"),
    ]
    assert set(receiver.keys) == {"Bearer open sesame"}
    start, end = receiver.events[2:]
    assert start["run"]["runId"] == end["run"]["runId"]
    assert [(each["namespace"], each["name"]) for each in end["inputs"]] == [("shop", "main.orders@1.orders")]
    (made,) = end["outputs"]
    assert made["name"] == "main.sales@1.sales"
    assert [each["name"] for each in made["facets"]["schema"]["fields"]] == ["n"]
    (origin,) = made["facets"]["columnLineage"]["fields"]["n"]["inputFields"]
    assert (origin["name"], origin["field"]) == ("main.orders@1.orders", "n")
    counted = {tag["key"]: tag["value"] for tag in end["job"]["facets"]["tags"]["tags"]}
    assert counted == {"pondage.reads": "1", "pondage.read_bytes": "30"}
    assert made["outputFacets"]["outputStatistics"]["rowCount"] >= 0


def test_a_failed_run_tells_why(world: World, tmp_path: Path, receiver: Receiver) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    worker = world.worker()
    failing = worker.claim()
    assert failing is not None
    worker.fail(failing)
    outbox(world, tmp_path, openlineage=receiver.url).run_once()
    end = receiver.events[-1]
    assert end["eventType"] == "FAIL"
    assert end["run"]["facets"]["errorMessage"]["message"]


def test_a_server_that_is_down_is_told_later_and_is_in_nobodys_way(
    world: World, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.is_down = True
    completed(world)
    box = outbox(world, tmp_path, openlineage=receiver.url)
    box.run_once()
    assert list((tmp_path / "warehouse").rglob("CURRENT.json")), "the tables are published all the same"
    receiver.is_down = False
    world.clock.time += 10_000_000
    box.run_once()
    assert [each["eventType"] for each in receiver.events] == ["START", "COMPLETE"] * 2


def test_events_can_go_to_a_file(world: World, tmp_path: Path) -> None:
    completed(world)
    outbox(world, tmp_path, openlineage=f"file:{tmp_path / 'events' / 'lineage.jsonl'}").run_once()
    lines = (tmp_path / "events" / "lineage.jsonl").read_text().splitlines()
    assert [msgspec.json.decode(line)["eventType"] for line in lines] == ["START", "COMPLETE"] * 2


def test_without_a_setting_nobody_is_told(world: World, tmp_path: Path) -> None:
    completed(world)
    box = outbox(world, tmp_path)
    box.run_once()
    with world.ledger.reading() as tx:
        assert tx.rows("SELECT id FROM outbox WHERE kind = 'lineage'") == []
