"""The classes of attack that are known in this field, each with its test: here, or where it is named.

| attack | test |
|---|---|
| suffix bypass of Host and Origin | test_guard: a foreign host …, a page of another origin … |
| DNS rebinding of the server | test_guard: a foreign host is refused before anything else |
| DNS rebinding of a webhook | tests/engine/test_alerts: the connection goes to the address that was looked at … |
| cross-site WebSocket | test_guard: a page of another origin is refused; tickets are good once |
| path traversal in ids | test_guard: ids never become paths; test_changing: names in an upload are checked again |
| deserialisation | here |
| tricks in the archive | test_changing: an archive with a trick in it …; here: tar |
| SSRF by webhook | tests/engine/test_alerts: an address of the own network is refused in every spelling |
| log injection | test_changing: a note cannot write a second line …; here: paths, hosts and names |
| guessing ids of others | test_changing: the id of a question says nothing …; here: other environments |
"""

import asyncio
import base64
import io
import logging
import pickle
import tarfile
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from pondage.project.project import load_project
from pondage.server.app import make_app
from pondage.server.call import Service
from tests.ledger.harness import World, pond
from tests.project.test_sql import HOSTILE
from tests.server.client import Client, scope_of
from tests.server.conftest import As, token_of
from tests.server.test_changing import upload
from tests.server.test_twins import TREE


class Bomb:
    """Whoever unpickles it writes a file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.place), "w")


def test_what_would_run_when_it_is_unpickled_or_loaded_as_yaml_is_only_a_text(
    client: As, world: World, tmp_path: Path
) -> None:
    bomb = pickle.dumps(Bomb(tmp_path / "boom"))
    asking = client("operate")
    yaml = f"!!python/object/apply:builtins.open ['{tmp_path}/boom', 'w']"
    assert asking.post("/v1/deploy", raw=bomb).status == 400
    assert asking.post("/v1/deploy", upload(pond("visits"), code=bomb)).json["code"] == "BAD_ARCHIVE"
    assert asking.post("/v1/queries", {"sql": yaml}).status == 202
    assert asking.post("/v1/jobs/nightly/runs", {"context": {"x": yaml}}).status == 404
    assert asking.post("/v1/flows", {"tree": {**TREE, "nodes": {"x": {"prog": yaml}}}}).status == 422
    wrong = {"value": {"__reduce__": ["os.system", ["true"]], "__class__": "x"}, "type": "!!python/name:os.system"}
    assert asking.post("/v1/reactors/any/sources/a", wrong).status == 400
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.REGTYPE])
def test_a_tar_file_is_no_archive_whatever_is_in_it(client: As, kind: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        info = tarfile.TarInfo("../../ponds.py")
        info.type, info.linkname = kind, "/etc/passwd"
        file.addfile(info)
    answer = client("operate").post("/v1/deploy", upload(pond("visits"), code=buffer.getvalue()))
    assert (answer.status, answer.json["code"]) == (422, "BAD_ARCHIVE")


@pytest.mark.parametrize("line", ["a%0aERROR%20forged", "a%0d%0aforged", "%1b%5b31mforged"])
def test_what_a_client_sends_writes_no_line_of_its_own_into_the_log(
    client: As, caplog: pytest.LogCaptureFixture, line: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        for path in (f"/v1/runs/{line}", f"/v1/show/{line}", f"/v1/{line}", f"/v1/logs?subject={line}"):
            client("read").get(path)
        wrong = Client(client("read").app, "wrong\r\nforged")
        wrong.get("/v1/status")
    assert not [each for each in caplog.records if "\nforged" in each.getMessage() or "\x1b" in each.getMessage()]
    assert all("\n" not in each.getMessage() for each in caplog.records if each.name.startswith("pondage"))


def test_who_hangs_up_in_the_middle_of_a_body_is_no_failure_of_the_server(
    world: World, app: ASGIApp, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Message] = [
        {"type": "http.request", "body": b'{"note":', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return heard.pop(0)

    async def send(message: Message) -> None:
        pass

    headers = {
        "host": "localhost",
        "authorization": f"Bearer {token_of(world, 'demand')}",
        "content-type": "application/json",
    }
    asyncio.run(app(scope_of("http", "/v1/ponds/sales/pulse", "", headers, method="POST"), receive, send))
    assert service.requests == {("POST", "/v1/ponds/{pond}/pulse", 400): 1}
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


def test_things_of_another_environment_are_answered_as_if_they_were_not_there(client: As, world: World) -> None:
    with world.ledger.transaction() as tx:
        tx.write("INSERT INTO environments (name) VALUES ('other')")
    mine = client("admin")
    assert [each["name"] for each in mine.get("/v1/environments").json["environments"]] == ["main"]
    for method, path, body in (
        ("GET", "/v1/environments/other", None),
        ("DELETE", "/v1/environments/other", None),
        ("POST", "/v1/promote", {"ponds": ["sales"], "to": "other"}),
        ("POST", "/v1/diffs", {"pond": "sales", "against": "other"}),
        ("POST", "/v1/plan", upload(pond("visits"), choice={"parent": "other"})),
        ("POST", "/v1/deploy", upload(pond("visits"), choice={"parent": "other"})),
    ):
        answer = mine.ask(method, path, body)
        assert (answer.status, answer.json["code"]) == (404, "NO_ENVIRONMENT"), path
    below = client("operate", "new")
    refused = below.post("/v1/deploy", upload(pond("visits"), choice={}))
    assert refused.json["code"] == "NO_ENVIRONMENT", "it would read main, which the token does not see"
    assert mine.post("/v1/vacuum", {}).status == 403


def test_every_change_leaves_who_made_it_and_why(world: World, tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text(
        '[project]\nname = "shop"\n[alerts.oncall]\nurl = "https://x.example"\nsecret = "k"\n'
    )
    service = Service(ledger=world.ledger, environment="main", warehouse=tmp_path, project=load_project(tmp_path))
    asking = Client(make_app(service), token_of(world, "admin", "*"))
    changes: list[tuple[str, str, object, str]] = [
        ("POST", "/v1/ponds/sales/pulse", {"note": "why"}, "pulse"),
        ("POST", "/v1/secrets/db", {"value": "hunter2", "note": "why"}, "secret set"),
        ("DELETE", "/v1/secrets/db", None, "secret remove"),
        ("POST", "/v1/vacuum", {"note": "why"}, "vacuum"),
        ("POST", "/v1/alerts/oncall/test", {}, "alert test"),
        ("POST", "/v1/flows", {"tree": TREE, "note": "why"}, "job run"),
        ("POST", "/v1/flows/flow/stop", {}, "flow stop"),
        ("POST", "/v1/tokens", {"name": "ci", "level": "read", "environments": ["main"]}, "token create"),
    ]
    for method, path, body, verb in changes:
        answer = asking.ask(method, path, body)
        assert answer.status < 300, (path, answer.data)
        (row,) = world.rows("SELECT who, verb, note FROM audit ORDER BY id DESC LIMIT 1")
        assert (str(row["who"]).startswith("token a admin"), row["verb"]) == (True, verb), path
        if isinstance(body, dict) and "note" in body:
            assert row["note"] == "why", path
    assert "hunter2" not in str(world.rows("SELECT * FROM audit"))
    assert base64.b64encode(b"hunter2").decode() not in str(world.rows("SELECT * FROM secrets"))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:24])
def test_a_question_that_no_parser_gets_through_is_left_to_its_own_process(client: As, text: str) -> None:
    """The server took such texts apart for the read log: some were a 500, some kept a thread for hours."""
    assert client("demand").post("/v1/queries", {"sql": text}).status == 202
