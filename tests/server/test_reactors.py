"""Reactors over HTTP and WebSockets, relayed to a real live host."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from pondage.ledger import tokens
from pondage.server.app import make_app
from pondage.server.table import Service
from tests.reaction.hosting import Hosting, hosting
from tests.server.client import Client, Socket


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
        return tokens.create(tx, live.ledger.ids, name=level, level=level, environments=("main",))[0]


def test_a_push_is_answered_when_it_is_durable_and_a_wrong_one_is_refused(live: Hosting, app: ASGIApp) -> None:
    asking = Client(app, token(live, "demand"))
    pushed = asking.post("/v1/reactors/quote/sources/ticks", {"value": {"number": 1}})
    assert pushed.json["accepted"] is True
    refused = asking.post("/v1/reactors/quote/sources/ticks", {"value": {"number": "x"}})
    assert (refused.json["accepted"], refused.json["error"]) == (False, "invalid")
    assert asking.post("/v1/reactors/quote/commands", {"command": "pause"}).status == 403
    assert asking.get("/v1/reactors/quote/state").json["state"] == "Live"
    assert asking.get("/v1/reactors/quote/dead").json == []
    assert asking.get("/v1/why/quote").json["reactor"] == "quote"


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
