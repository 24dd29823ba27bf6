"""A live host that is stopped closes no connection: those who wait for it are let go after the lease."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pondage.engine.live.client import LiveClient
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import api_tokens
from pondage.server.app import make_app
from pondage.server.call import Service
from tests.engine.live.hosting import Hosting, hosting
from tests.patience import PATIENCE_S
from tests.server.client import Socket


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Hosting]:
    with hosting(tmp_path / "project") as made:
        made.start()
        made.client().ask(op="state")
        yield made


@pytest.fixture
def impatient(live: Hosting) -> Ledger:
    """The same ledger, for somebody whose lease is short."""
    durability = msgspec.structs.replace(live.ledger.durability, heartbeat_s=0.2, reap_after_s=1.0)
    return Ledger(live.ledger.driver, durability=durability)


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_socket_to_a_frozen_owner_closes_with_1012_and_the_next_connection_finds_the_new_owner(
    live: Hosting, impatient: Ledger
) -> None:
    app = make_app(Service(ledger=impatient, environment="main", warehouse=live.root))
    with live.ledger.transaction() as tx:
        token, _ = api_tokens.create(tx, live.ledger.ids, name="d", level="operate", environments=("main",))
    headers = {"authorization": f"Bearer {token}"}
    _, host = live.hosts[0]

    async def until_closed(path: str) -> int:
        async with Socket(app, path, headers) as socket:
            if path.endswith("ticks"):
                await socket.send({"id": 1, "value": {"number": 1}})
            assert await socket.receive()  # the host answers, and then it is stopped
            with frozen(host.pid):
                return await asyncio.wait_for(socket.closed(), PATIENCE_S)

    async def push_again() -> dict[str, object]:
        async with Socket(app, "/v1/ws/accumulators/quote/ticks", headers) as socket:
            await socket.send({"id": 2, "value": {"number": 2}})
            return dict(await socket.receive())

    for path in ("/v1/ws/accumulators/quote/ticks", "/v1/ws/reactors/quote"):
        assert asyncio.run(until_closed(path)) == 1012
    live.kill(host)
    live.start()
    live.client().ask(op="state")
    assert asyncio.run(push_again())["accepted"] is True


def test_a_socket_to_an_owner_that_only_has_nothing_to_say_stays_open(live: Hosting, impatient: Ledger) -> None:
    app = make_app(Service(ledger=impatient, environment="main", warehouse=live.root))
    with live.ledger.transaction() as tx:
        token, _ = api_tokens.create(tx, live.ledger.ids, name="d", level="demand", environments=("main",))

    async def work() -> dict[str, object]:
        headers = {"authorization": f"Bearer {token}"}
        async with Socket(app, "/v1/ws/accumulators/quote/ticks", headers) as socket:
            with pytest.raises(TimeoutError):  # three leases long
                await asyncio.wait_for(socket.receive(), 3 * impatient.durability.reap_after_s)
            await socket.send({"id": 1, "value": {"number": 1}})
            return dict(await socket.receive())

    assert asyncio.run(work())["accepted"] is True


def test_whoever_watches_a_frozen_owner_on_its_machine_is_let_go_after_the_lease(
    live: Hosting, impatient: Ledger
) -> None:
    row = live.row
    assert row is not None
    said = LiveClient(impatient, lambda: row).watch()
    assert "state" in next(said)
    with frozen(live.hosts[0][1].pid):
        assert [each for each in said if "pong" in each or "state" in each] == []
