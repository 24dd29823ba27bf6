"""The feed: a snapshot, then every change, and nothing is skipped."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest
from starlette.types import ASGIApp

from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Clear, Kill, Pulse
from pondage.ledger.act.branching import deployed
from pondage.ledger.tables import api_tokens
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.upkeep import feed
from pondage.server import hub
from pondage.server.feed_socket import TRY_LATER
from pondage.views.installation import feed as views
from tests.ledger.harness import World
from tests.server.client import Client, Socket
from tests.server.conftest import token_of


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "AT_MOST_EVERY_S", 0.0)


def connected(app: ASGIApp, world: World, query: str = "", level: str = "read", *, room: int = 0) -> Socket:
    return Socket(app, f"/v1/ws/feed{query}", {"authorization": f"Bearer {token_of(world, level)}"}, room=room)


def states(message: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["state"] for each in message.get("ponds", ())}


async def until(socket: Socket, found: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Read messages until one is what was waited for."""
    while not found(message := await socket.receive()):
        pass
    return message


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_a_watcher_gets_a_snapshot_and_then_what_changes_and_only_that(app: ASGIApp, world: World) -> None:
    async def work() -> None:
        async with connected(app, world) as socket:
            first = await socket.receive()
            assert first["type"] == "snapshot"
            assert len(first["status"]["ponds"]) == 3
            await asyncio.to_thread(world.send, Kill(pond="reports@1"))
            change = await until(socket, lambda said: said.get("ponds"))
            assert change["type"] == "changes"
            assert change["after"] >= first["seq"] - 1
            assert states(change) == {"reports@1": "killed"}

    run(work())


def test_the_graph_comes_along_for_a_watcher_that_asks_for_it(app: ASGIApp, world: World) -> None:
    async def work() -> None:
        async with connected(app, world) as socket:
            assert (await socket.receive())["graph"] is None
        async with connected(app, world, "?graph=true") as socket:
            graph = (await socket.receive())["graph"]
        assert {pond["key"]: len(pond["ripples"]) for pond in graph["ponds"]}["sales@1"] == 2

    run(work())


def test_whoever_comes_back_gets_what_was_missed_and_no_snapshot(app: ASGIApp, world: World) -> None:
    async def work() -> None:
        async with connected(app, world) as socket:
            seq = (await socket.receive())["seq"]
        world.send(Kill(pond="reports@1"))
        async with connected(app, world, f"?after={seq}") as socket:
            missed = await socket.receive()
            assert missed["type"] == "changes"
            assert states(missed) == {"reports@1": "killed"}
            seq = missed["seq"]
        async with connected(app, world, f"?after={seq}") as socket:
            assert "ponds" not in await socket.receive()

    run(work())


@pytest.mark.parametrize("after", [0, 10**9])
def test_a_place_that_is_not_known_is_a_reset_and_a_snapshot(app: ASGIApp, world: World, after: int) -> None:
    async def work() -> None:
        async with connected(app, world, f"?after={after}") as socket:
            assert (await socket.receive())["type"] == "reset"
            assert (await socket.receive())["type"] == "snapshot"

    run(work())


def test_whoever_is_too_far_behind_gets_a_snapshot(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.ledger.reading() as tx:
        seq = views.snapshot(tx, world.ledger, "main").seq
    monkeypatch.setattr(views, "MOST", 2)
    for _ in range(3):
        world.send(Kill(pond="reports@1"))
    with world.ledger.reading() as tx:
        assert views.changes(tx, world.ledger, "main", after=seq, seen=views.Seen()) is None


def test_a_claim_and_its_progress_are_changes_although_no_machine_steps(world: World) -> None:
    world.send(Pulse(pond="orders@1"))
    worker = world.worker()
    with world.ledger.reading() as tx:
        seq = views.snapshot(tx, world.ledger, "main").seq
        before = views.changes(tx, world.ledger, "main", after=seq, seen=views.Seen())
    assert before is not None
    assert worker.claim() is not None
    with world.ledger.reading() as tx:
        after = views.changes(tx, world.ledger, "main", after=seq, seen=before[1])
    assert after is not None
    assert [pond.key for pond in after[0].ponds] == ["orders@1"]
    with world.ledger.reading() as tx:
        again = views.changes(tx, world.ledger, "main", after=after[0].seq, seen=after[1])
    assert again is not None
    assert again[0].is_empty


def test_a_pond_that_is_taken_away_is_gone(world: World) -> None:
    with world.ledger.reading() as tx:
        seq = views.snapshot(tx, world.ledger, "main").seq
        left = [one.definition for one in deployed(tx, world.ledger, "main") if one.definition.name != "reports"]
    world.deploy(*left, removed=("reports@1",), project="shop")
    with world.ledger.reading() as tx:
        found = views.changes(tx, world.ledger, "main", after=seq, seen=views.Seen())
    assert found is not None
    assert found[0].gone == ("reports@1",)


def test_the_cost_of_a_look_is_that_of_what_changed(world: World) -> None:
    with world.ledger.reading() as tx:
        seq = feed.marks(tx, world.ledger).until
    world.send(Kill(pond="reports@1"))
    with world.ledger.reading() as tx:
        marks = feed.marks(tx, world.ledger)
        found = feed.touched(tx, world.ledger, environment_id(tx, "main"), after=seq, until=marks.until, most=10)
    assert found == feed.Touched(ponds=frozenset({"reports@1"}), runs=frozenset())


def test_a_slow_watcher_is_sent_away_and_nobody_waits_for_it(
    app: ASGIApp, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "BEHIND", 3)
    verbs = [Kill(pond="reports@1"), Clear(pond="reports@1")] * hub.BEHIND

    async def work() -> None:
        async with connected(app, world, room=1) as slow, connected(app, world) as quick:
            await quick.receive()
            for verb in verbs:
                await asyncio.to_thread(world.send, verb)
                is_killed = isinstance(verb, Kill)
                await until(quick, lambda said, is_killed=is_killed: states(said) and is_killed == (
                    states(said) == {"reports@1": "killed"}))  # fmt: skip
            seq = (await slow.receive())["seq"]
            assert await slow.closed() == TRY_LATER
        async with connected(app, world, f"?after={seq}") as back:
            assert (await back.receive())["type"] == "changes", "it goes on by its place"

    run(work())


def test_a_browser_watches_with_a_ticket_that_is_good_once(app: ASGIApp, world: World) -> None:
    asking = Client(app, token_of(world, "read"))
    made = asking.post("/v1/tickets")
    assert made.status == 201
    origin = {"origin": "http://127.0.0.1:8642"}

    async def status(query: str, headers: dict[str, str]) -> int:
        async with Socket(app, f"/v1/ws/feed?{query}", headers) as socket:
            return socket.status

    ticket = f"ticket={made.json['ticket']}"
    assert asyncio.run(status(ticket, origin)) == 101
    assert asyncio.run(status(ticket, origin)) == 401
    assert asyncio.run(status("ticket=x", origin)) == 401
    token = {"authorization": f"Bearer {asking.token}"}
    assert asyncio.run(status("", {**origin, **token})) == 401
    revoked = f"ticket={asking.post('/v1/tickets').json['ticket']}"
    with world.ledger.transaction() as tx:
        api_tokens.revoke(tx, api_tokens.every(tx)[0].id)
    assert asyncio.run(status(revoked, origin)) == 401


def test_logs_are_followed_and_a_subject_that_is_not_there_is_an_error(app: ASGIApp, world: World) -> None:
    async def work() -> None:
        headers = {"authorization": f"Bearer {token_of(world, 'read')}"}
        async with Socket(app, "/v1/ws/logs?subject=nothing", headers) as socket:
            assert (await socket.receive())["error"]["code"] == "NO_POND"

    run(work())


def test_metrics_are_the_text_that_prometheus_reads(app: ASGIApp, world: World) -> None:
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    world.send(Pulse(pond="reports@1"))
    world.ledger.reads.note(
        environment=1, pond=PondKey("sales@1"), run=1, door="sql", reader="bi", at=0, age=5, size=30
    )
    world.ledger.reads.flush()
    asking = Client(app, token_of(world, "read"))
    asking.get("/v1/status")
    answer = asking.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.data.decode().splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert all(float(value) >= 0 for value in samples.values())
    assert 'pondage_staleness_seconds{pond="sales@1",kind="pond"}' in samples
    assert samples['pondage_http_requests_total{method="GET",route="/v1/status",status="200"}'] == "1"
    assert int(samples["pondage_queue_waiting"]) == 1
    assert samples['pondage_reads_total{pond="sales@1",door="sql"}'] == "1"
    assert samples['pondage_read_bytes_total{pond="sales@1",door="sql"}'] == "30"
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {name.partition("{")[0] for name in samples} <= named


def test_labels_cannot_break_out_of_their_quotes() -> None:
    from pondage.server.metric import Metric, written

    said = written([Metric("x", "A test.", "gauge", (({"a": 'b"} 1\n\\'}, 2.0),))])
    assert said.splitlines()[-1] == r'pondage_x{a="b\"} 1\n\\"} 2'


def test_messages_say_what_they_are(world: World) -> None:
    with world.ledger.reading() as tx:
        said = msgspec.json.decode(msgspec.json.encode(views.snapshot(tx, world.ledger, "main")))
    assert said["type"] == "snapshot"


def test_a_place_that_no_ledger_reaches_is_refused_before_the_socket_opens(app: ASGIApp, world: World) -> None:
    async def status() -> int:
        headers = {"authorization": f"Bearer {token_of(world, 'read')}"}
        async with Socket(app, f"/v1/ws/feed?after={2**63}", headers) as socket:
            return socket.status

    assert asyncio.run(status()) == 400
