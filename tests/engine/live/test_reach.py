"""How a live host is reached from another machine: over TLS, by whoever reads the same ledger, and by nobody else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from pondage.engine.live import reach
from pondage.engine.live.client import Connection
from pondage.engine.live.reach import Address, Listening, connected, read_address, read_listening
from pondage.engine.live.socket import MOST_GREETINGS, LiveSocket
from pondage.errors import ProjectError
from tests.patience import PATIENCE_S

ASKED = b'{"id": 7, "reactor": "q", "environment": "main", "op": "state"}\n'


def far(tmp_path: Path, test: Callable[[LiveSocket, Address], Awaitable[None]], *, times: int = 1) -> None:
    """Run a test with a live socket that listens on the loopback, and its address as another machine sees it."""

    async def run() -> None:
        owned = SimpleNamespace(state=lambda: {"state": "Live"}, is_lost=False)
        made = [
            LiveSocket(tmp_path, f"live{number}", lambda *_: owned, listening=Listening("127.0.0.1", port))  # type: ignore[arg-type,return-value]
            for number, port in enumerate([0] * times)
        ]
        for each in made:
            await each.open()
        try:
            at = read_address(made[0].address)
            await test(made[0], at._replace(path="/nowhere"))
        finally:
            for each in made:
                await each.close()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


async def _asked(address: Address, secret: str) -> object:
    reader, writer = await connected(address.text(), secret, limit=1 << 20)
    writer.write(ASKED)
    answer = msgspec.json.decode(await reader.readline())
    writer.close()
    return answer


def _asked_by_a_thread(address: Address, secret: str) -> object:
    connection = Connection(address.text(), timeout_s=PATIENCE_S, secret=secret)
    try:
        connection.send(msgspec.json.decode(ASKED))
        return connection.receive()
    finally:
        connection.close()


def test_whoever_reads_the_ledger_reaches_a_host_of_another_machine_and_is_answered(tmp_path: Path) -> None:
    async def test(live: LiveSocket, at: Address) -> None:
        expected = {"id": 7, "state": {"state": "Live"}}
        assert await _asked(at, live.secret) == expected
        assert await asyncio.to_thread(_asked_by_a_thread, at, live.secret) == expected

    far(tmp_path, test)


@pytest.mark.parametrize("wrong", ["secret", "fingerprint"])
def test_whoever_reads_another_ledger_is_not_let_in_and_lets_no_other_host_in(tmp_path: Path, wrong: str) -> None:
    async def test(live: LiveSocket, at: Address) -> None:
        secret = "of another ledger" if wrong == "secret" else live.secret
        given = at._replace(fingerprint="0" * 64) if wrong == "fingerprint" else at
        said = "is not the live host of the ledger" if wrong == "fingerprint" else "another ledger|hung up|reset"
        for ask in (_asked(given, secret), asyncio.to_thread(_asked_by_a_thread, given, secret)):
            with pytest.raises(OSError, match=said):
                await ask

    far(tmp_path, test)


def test_a_host_that_only_plays_the_certificate_does_not_know_the_secret(tmp_path: Path) -> None:
    """Both prove it: a host that took over another's key is not believed either."""

    async def test(live: LiveSocket, at: Address) -> None:
        known, live.secret = live.secret, "forgotten"
        with pytest.raises(OSError, match="another ledger"):
            await _asked(at, known)
        ours, theirs = b"a" * 32, b"b" * 32
        with pytest.raises(ConnectionError, match="does not know the ledger's secret"):
            reach._check_proof(reach.proof("x", "host", ours, theirs, at.fingerprint), known, ours, theirs, at)
        client = reach.proof(known, "client", ours, theirs, at.fingerprint)
        with pytest.raises(ConnectionError):  # what the client has said is no proof of the host
            reach._check_proof(client, known, ours, theirs, at)

    far(tmp_path, test)


def test_strangers_who_say_nothing_are_hung_up_on_and_take_no_more_than_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "GREETING_S", 0.2)

    async def test(live: LiveSocket, at: Address) -> None:
        opened = [
            await asyncio.open_connection(at.host, at.port, ssl=reach.context()) for _ in range(MOST_GREETINGS + 3)
        ]
        for reader, writer in opened:
            said = await reader.read()
            assert len(said) in (0, reach.NONCE_BYTES)
            writer.close()
        assert await _asked(at, live.secret)

    far(tmp_path, test)


def test_a_host_that_accepts_and_never_answers_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "GREETING_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = Address("/nowhere", "127.0.0.1", silent.getsockname()[1], "0" * 64)
        with pytest.raises(TimeoutError):
            asyncio.run(_asked(at, "secret"))
        with pytest.raises(TimeoutError):
            _asked_by_a_thread(at, "secret")


def test_each_host_of_a_machine_takes_the_first_port_that_is_free(tmp_path: Path) -> None:
    async def test(live: LiveSocket, at: Address) -> None:
        second = LiveSocket(tmp_path, "second", lambda *_: None, listening=Listening("127.0.0.1", at.port))
        await second.open()
        try:
            assert read_address(second.address).port > at.port
        finally:
            await second.close()

    far(tmp_path, test)


def test_an_address_is_read_as_it_was_written_and_one_that_nobody_can_reach_is_refused() -> None:
    for at in (Address("/a path/x.sock"), Address("/x.sock", "fd00::7", 8650, "ab" * 32)):
        assert read_address(at.text()) == at
    with pytest.raises(OSError, match="no live host owns it"):
        read_address("")
    assert read_listening("10.0.0.5:8650") == ("10.0.0.5", 8650)
    assert read_listening("[fd00::7]:0") == ("fd00::7", 0)
    for wrong in ("8650", "0.0.0.0:8650", ":8650", "host:", "host:x", "host:70000", "[::]:1"):
        with pytest.raises(ProjectError) as refused:
            read_listening(wrong)
        assert (refused.value.code, refused.value.place) == ("BAD_LISTEN", "live.listen")
