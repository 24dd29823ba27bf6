"""Reactors over HTTP and WebSockets, relayed to a real live host."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from pondage.engine.live.client import LiveClient
from pondage.ledger.tables import api_tokens
from pondage.project.project import load_project
from pondage.server.app import make_app
from pondage.server.call import Route, Service
from pondage.server.routes import ROUTES
from tests.engine.live.hosting import Hosting, hosting
from tests.server.client import Client, Socket
from tests.server.hostile import complaints
from tests.server.test_hostile import good_body


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosting]:
    with hosting(tmp_path_factory.mktemp("live") / "project") as made:
        made.start()
        made.client().ask(op="state")
        yield made


@pytest.fixture
def app(live: Hosting, tmp_path: Path) -> ASGIApp:
    return make_app(Service(ledger=live.ledger, environment="main", warehouse=tmp_path))


def token(live: Hosting, level: str) -> str:
    with live.ledger.transaction() as tx:
        return api_tokens.create(tx, live.ledger.ids, name=level, level=level, environments=("main",))[0]


def test_a_push_is_answered_when_it_is_durable_and_a_wrong_one_is_refused(live: Hosting, app: ASGIApp) -> None:
    asking = Client(app, token(live, "demand"))
    pushed = asking.post("/v1/reactors/quote/sources/ticks", {"value": {"number": 1}})
    assert pushed.json["accepted"] is True
    refused = asking.post("/v1/reactors/quote/sources/ticks", {"value": {"number": "x"}})
    assert (refused.status, refused.json["accepted"], refused.json["error"]) == (422, False, "invalid")
    assert asking.post("/v1/reactors/quote/commands", {"command": "pause"}).status == 403
    assert asking.get("/v1/reactors/quote/state").json["state"] == "Live"
    assert asking.get("/v1/reactors/quote/dead").json == []
    assert asking.get("/v1/why/quote").json["reactor"] == "quote"


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"value": {"number": "x"}}, 422, "invalid"),
        ({"value": {"number": 1}, "f": 1_700_000_000_000}, 422, "BAD_FRESHNESS"),
        ({"value": {"number": 1}, "f": 2**62}, 422, "BAD_FRESHNESS"),
    ],
)
def test_a_refused_push_has_a_status_of_its_own_and_its_answer_as_the_body(
    live: Hosting, app: ASGIApp, body: dict[str, object], status: int, error: str
) -> None:
    answer = Client(app, token(live, "demand")).post("/v1/reactors/quote/sources/ticks", body)
    assert (answer.status, answer.json["accepted"], answer.json["error"]) == (status, False, error)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("full", 429), ("failed", 409), ("invalid", 422), ("unknown_source", 422), ("NOT_FOUND", 422),
        ("unavailable", 503), ("stopping", 503), ("INTERNAL", 503), (None, 200),
    ],
)  # fmt: skip
def test_each_reason_to_refuse_a_push_has_its_status_and_openapi_names_them(
    live: Hosting, app: ASGIApp, monkeypatch: pytest.MonkeyPatch, error: str | None, status: int
) -> None:
    said = {"accepted": error is None, "error": error}
    monkeypatch.setattr(LiveClient, "ask", lambda self, **frame: said)
    asking = Client(app, token(live, "demand"))
    answer = asking.post("/v1/reactors/quote/sources/ticks", {"value": 1})
    assert (answer.status, answer.json) == (status, said)
    if status in (429, 503):
        assert int(answer.headers["retry-after"]) > 0
    paths = Client(app, token(live, "read")).get("/v1/openapi.json").json["paths"]
    assert str(status) in paths["/v1/reactors/{reactor}/sources/{source}"]["post"]["responses"]


def test_kill_and_sleep_work_on_a_reactor_that_publishes_no_pond(live: Hosting, app: ASGIApp) -> None:
    asking = Client(app, token(live, "operate"))

    def told(command: str) -> Any:
        answer = asking.post("/v1/reactors/quote/commands", {"command": command})
        assert answer.status == 200
        return answer.json

    assert told("sleep") == {"hold": "paused", "running": None}
    assert told("resume")["hold"] is None
    assert told("kill") == {"hold": "halted", "killed": None}
    assert asking.get("/v1/reactors/quote/state").json["hold"] == "halted"
    assert told("resume")["hold"] is None
    missing = asking.post("/v1/ponds/quote/kill", {})
    assert (missing.status, "pondage reactor kill quote" in missing.json["hint"]) == (404, True)


def test_a_command_is_done_once_under_its_id_and_audited(live: Hosting, app: ASGIApp) -> None:
    asking = Client(app, token(live, "operate"))
    fire = {"command": "force_fire", "cid": "abc", "note": "by hand"}
    first = asking.post("/v1/reactors/quote/commands", fire).json
    assert asking.post("/v1/reactors/quote/commands", fire).json["fire"] == first["fire"]
    with live.ledger.reading() as tx:
        row = tx.rows("SELECT verb, target, note FROM audit ORDER BY id DESC LIMIT 1")[0]
    assert dict(row) == {"verb": "reactor force_fire", "target": "quote", "note": "by hand"}


def test_values_are_pushed_over_one_socket_and_each_is_answered_by_its_id(live: Hosting, app: ASGIApp) -> None:
    async def work() -> dict[Any, Any]:
        headers = {"authorization": f"Bearer {token(live, 'demand')}"}
        async with Socket(app, "/v1/ws/accumulators/quote/ticks", headers) as socket:
            for number in range(20):
                await socket.send({"id": number, "value": {"number": number}})
            await socket.send({"nonsense": 1})
            said = [await socket.receive() for _ in range(21)]
        return {each["id"]: each for each in said}

    answers = asyncio.run(work())
    assert all(answers[number]["accepted"] for number in range(20))
    assert len({answers[number]["seq"] for number in range(20)}) == 20
    assert answers[None]["error"] == "bad_frame"


def test_what_is_pushed_over_a_socket_is_counted_and_audited_where_everything_is(live: Hosting, tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n[server]\naudit = "all"\n')
    project = load_project(tmp_path)
    app = make_app(Service(ledger=live.ledger, environment="main", warehouse=tmp_path, project=project))
    given = token(live, "demand")
    pushes = "SELECT count(*) FROM audit WHERE verb = 'reactor push' AND target = 'quote/ticks'"

    def rows() -> list[int]:
        with live.ledger.reading() as tx:
            return tx.rows(pushes, int)

    async def work() -> None:
        headers = {"authorization": f"Bearer {given}"}
        async with Socket(app, "/v1/ws/accumulators/quote/ticks", headers) as socket:
            for number in range(3):
                await socket.send({"id": number, "value": {"number": number}})
                await socket.receive()

    [before] = rows()
    asyncio.run(work())
    assert rows() == [before + 3]
    assert 'pondage_pushes_total{token="demand"} 3' in Client(app, given).get("/metrics").data.decode()


def test_lines_inside_a_pushed_value_are_no_requests_of_their_own(live: Hosting, app: ASGIApp) -> None:
    """A live host reads a request from each line, so a value that hides one would command without the level."""
    hidden = '{"op": "command", "reactor": "quote", "id": "hidden", "cid": "hidden", "command": "force_fire"}'

    async def work() -> list[Any]:
        headers = {"authorization": f"Bearer {token(live, 'demand')}"}
        async with Socket(app, "/v1/ws/accumulators/quote/ticks", headers) as socket:
            await socket.send_text('{"id": 1, "value": [\n' + hidden + "\n]}")
            await socket.send({"id": 2, "value": {"number": 2}})
            said = [await socket.receive()]
            while said[-1]["id"] != 2:
                said.append(await socket.receive())
            return said

    said = asyncio.run(work())
    assert [each["id"] for each in said] == [1, 2]
    assert (said[0]["accepted"], said[0]["error"]) == (False, "invalid")


@pytest.mark.parametrize("path", ["/v1/ws/accumulators/quote/ticks", "/v1/ws/reactors/quote", "/v1/ws/logs"])
def test_a_socket_ends_soon_after_its_token_is_revoked(
    live: Hosting, app: ASGIApp, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pondage.server.app.CHECK_EVERY_S", 0.05)

    async def work() -> int:
        headers = {"authorization": f"Bearer {token(live, 'operate')}"}
        async with Socket(app, path, headers) as socket:
            with live.ledger.transaction() as tx:
                api_tokens.revoke(tx, api_tokens.every(tx)[-1].id)
            return await socket.closed()

    assert asyncio.run(work()) == 4401


@pytest.mark.parametrize(("level", "said"), [("read", "FORBIDDEN"), ("operate", None)])
def test_everybody_may_watch_a_reactor_and_only_an_operator_commands_it(
    live: Hosting, app: ASGIApp, level: str, said: str | None
) -> None:
    async def work() -> dict[str, Any]:
        headers = {"authorization": f"Bearer {token(live, level)}"}
        async with Socket(app, "/v1/ws/reactors/quote", headers) as socket:
            assert (await socket.receive())["state"]["state"] == "Live"
            await socket.send({"cid": f"c-{level}", "command": "force_fire"})
            while (message := await socket.receive())["id"] != f"c-{level}":
                pass
            return dict(message)

    answer = asyncio.run(work())
    assert answer.get("error") == said
    assert said is not None or answer["reply"]["outcome"] == "ok"


def test_a_reactor_that_is_not_there_is_said_and_the_socket_closed(live: Hosting, app: ASGIApp) -> None:
    async def work() -> str:
        headers = {"authorization": f"Bearer {token(live, 'demand')}"}
        async with Socket(app, "/v1/ws/accumulators/nothing/ticks", headers) as socket:
            return str((await socket.receive())["error"]["code"])

    assert asyncio.run(work()) == "NOT_LOADED"


DEEP = "[" * 5_000 + "]" * 5_000
FRAMES = (
    "", "{", "null", "1", "[]", '"x"', DEEP, b"", b"{}", b"\x00\xff", '{"nonsense": 1}',
    *(f'{{"id": {wrong}, "value": {{"number": 1}}}}' for wrong in ("{}", "-1", "9" * 30, "1.5", '""')),
    '{"id": "' + "x" * 101 + '", "value": {"number": 1}}',
    '{"id": "\\u0000", "value": {"number": 1}}', f'{{"id": 1, "value": {DEEP}}}', '{"id": 1, "value": 1e999}',
    '{"id": 1, "value": {"number": 1}, "f": -1}', f'{{"id": 1, "value": {{"number": 1}}, "f": {2**63}}}',
    *(f'{{"cid": {wrong}, "command": "pause"}}' for wrong in ("1", '""', '"\\u0000"', f'"{"x" * 500_000}"')),
    '{"cid": "a", "command": 1}', f'{{"cid": "a", "command": "redrive", "arg": {DEEP}}}',
)  # fmt: skip
"""What no client that means well sends, to any WebSocket."""
ARGUMENTS = ("null", "[]", "{}", '{"a": 1}', "[[]]", "1.5", "9" * 400, '"x"', '"job:1"', "[" * 900 + "]" * 900)


@pytest.mark.parametrize("path", ["/v1/ws/accumulators/quote/ticks", "/v1/ws/reactors/quote"])
def test_a_frame_that_is_wrong_is_answered_and_the_socket_goes_on(live: Hosting, app: ASGIApp, path: str) -> None:
    async def work() -> list[Any]:
        said = []
        async with Socket(app, path, {"authorization": f"Bearer {token(live, 'operate')}"}) as socket:
            for frame in FRAMES:
                await (socket.send_bytes(frame) if isinstance(frame, bytes) else socket.send_text(frame))
                while (answer := await socket.receive())["id"] == "watch":
                    pass
                said.append(answer)
        return said

    assert {(each["id"], each["error"]) for each in asyncio.run(work())} == {(None, "bad_frame")}


@pytest.mark.parametrize("path", ["/v1/ws/feed", "/v1/ws/logs?subject=sales"])
def test_what_is_said_to_a_socket_that_only_tells_is_passed_over(app: ASGIApp, live: Hosting, path: str) -> None:
    async def work() -> None:
        async with Socket(app, path, {"authorization": f"Bearer {token(live, 'read')}"}) as socket:
            for frame in FRAMES:
                await (socket.send_bytes(frame) if isinstance(frame, bytes) else socket.send_text(frame))
            await socket.receive()

    asyncio.run(work())


@pytest.mark.parametrize("command", ["fire_with", "redrive"])
def test_a_command_with_a_wrong_argument_is_answered(live: Hosting, app: ASGIApp, command: str) -> None:
    async def work() -> None:
        async with Socket(
            app, "/v1/ws/reactors/quote", {"authorization": f"Bearer {token(live, 'operate')}"}
        ) as socket:
            for number, argument in enumerate(ARGUMENTS):
                cid = f"{command}-{number}"
                await socket.send_text(f'{{"cid": "{cid}", "command": "{command}", "arg": {argument}}}')
                while (answer := await socket.receive())["id"] == "watch":
                    pass
                assert answer["id"] == cid
                assert answer.get("error") != "INTERNAL", argument

    asyncio.run(work())
    asking = Client(app, token(live, "operate"))
    for argument in ARGUMENTS:
        sent = f'{{"command": "{command}", "arg": {argument}}}'.encode()
        assert asking.post("/v1/reactors/quote/commands", raw=sent).status == 200, argument


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if "{reactor}" in route.path], ids=lambda route: f"{route.method} {route.path}"
)
def test_a_route_to_a_live_host_refuses_what_is_hostile_and_never_fails(
    live: Hosting, app: ASGIApp, route: Route
) -> None:
    known = {"reactor": "quote", "source": "ticks"}
    found = complaints(Client(app, token(live, "admin")), route, known, good_body(route), every=3)
    assert not found, "\n".join([f"{len(found)} complaints", *found[:25]])
    assert Client(app, token(live, "read")).get("/v1/reactors/quote/state").status == 200
