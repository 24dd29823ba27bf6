"""Live hosts as real processes on a real ledger: pushes, takeover, deploys, crashes, drains."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from pondage.engine.live.client import NoLiveHost
from pondage.engine.live.socket import LiveSocket
from pondage.kernel.reaction.effects import Fired
from pondage.ledger.tables import reactors
from tests.engine.live.hosting import Hosting, hosting
from tests.patience import PATIENCE_S


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Hosting]:
    with hosting(tmp_path / "project") as made:
        yield made


def test_a_host_takes_a_push_fires_and_another_host_takes_over_with_its_state(world: Hosting) -> None:
    first = world.start()
    assert world.push(1) == {"accepted": True, "seq": 1}
    world.until(lambda: world.fires() == ["1 1 1"], what="it did not fire")
    second = world.start()
    world.kill(first)
    assert world.push(2) == {"accepted": True, "seq": 2}
    # On a busy machine the end of the first fire may die with its host: then it is called once more, under its id.
    world.until(lambda: world.fires()[-1] == "2 1 2", what="no fire after the takeover")
    row = world.row
    assert row is not None
    assert row.epoch == 2
    second.terminate()
    assert second.wait(PATIENCE_S) == 0
    row = world.row
    assert row is not None
    assert row.owner is None


def test_what_is_refused_is_named_and_a_bad_frame_harms_nobody(world: Hosting) -> None:
    world.start()
    ask = world.client().ask
    assert ask(op="push", source="ticks", value={"number": "x"})["error"] == "invalid"
    assert ask(op="push", source="nobody", value=1)["error"] == "NOT_FOUND"
    assert ask(op="command", command="fire_with", arg={"ticks": 7})["error"] == "INVALID_BOUNDARY"
    assert ask(op="command", command="explode")["reply"]["error"] == "unknown_command"  # type: ignore[index]
    assert world.push(3)["accepted"] is True


def test_producers_that_hang_die_or_flood_harm_nobody(world: Hosting) -> None:
    world.start()
    world.push(0)
    row = world.row
    assert row is not None
    path = row.address.partition(":")[2]
    hanging, dying, flooding = (socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(3))
    try:
        for each in (hanging, dying, flooding):
            each.settimeout(PATIENCE_S)
            each.connect(path)
        hanging.sendall(b'{"op": "push", "reactor": "qu')
        dying.sendall(b'{"op": "push", "reactor": "quote", "sour')
        dying.close()
        frames = [
            msgspec.json.encode(
                {"op": "push", "reactor": "quote", "source": "ticks", "id": number, "value": {"number": number}}
            )
            for number in range(1, 3001)
        ]
        sending = threading.Thread(target=flooding.sendall, args=(b"\n".join([*frames, b""]),))
        sending.start()
        with flooding.makefile("rb") as answers:
            acks = [msgspec.json.decode(answers.readline()) for _ in frames]
        sending.join()
        assert [(ack["id"], ack["accepted"]) for ack in acks] == [(number, True) for number in range(1, 3001)]
        assert world.push(-1)["accepted"] is True
        world.until(lambda: len(world.fires()) == 3002, what="not everything was fired")
        assert [int(line.split()[2]) for line in world.fires()] == [*range(3001), -1]
    finally:
        for each in (hanging, dying, flooding):
            each.close()


def test_commands_are_done_once_under_their_own_id_in_every_life(world: Hosting) -> None:
    first = world.start()
    world.push(1)
    once = world.client().ask(op="command", command="force_fire", cid="mine")
    world.kill(first)
    world.start()
    again = world.client().ask(op="command", command="force_fire", cid="mine")
    assert again["reply"] == {**once["reply"], "again": True}  # type: ignore[dict-item]
    world.push(2)
    # What died with its host is called again under its own id; had the command fired twice there would be a fourth.
    world.until(lambda: {line.split()[0] for line in world.fires()} >= {"1", "2", "3"}, what="it did not fire")
    assert world.fires()[-1].split()[::2] == ["3", "2"]


def test_a_pause_survives_a_crash_and_what_waits_runs_after_resume(world: Hosting) -> None:
    first = world.start()
    world.client().ask(op="command", command="pause")
    world.push(1)
    world.kill(first)
    world.start()
    assert (world.state()["hold"], world.fires()) == ("paused", [])
    world.until(lambda: len(world.history("reactor hold")) == 1, what="the hold is no history")
    world.client().ask(op="command", command="resume")
    world.until(lambda: world.fires() == ["1 1 1"], what="nothing fired after resume")


def test_a_deploy_of_changed_code_moves_the_reactor_with_its_state_and_an_unchanged_one_does_not(
    world: Hosting,
) -> None:
    first = world.start()
    world.push(1)
    assert world.deploy() == world.code
    world.write(version="1.1.0", mark=" new")
    code = world.deploy()
    assert code != world.code
    world.start(code)
    world.until(lambda: world.epoch() == 2, what="the new code does not take over")
    assert world.push(2) == {"accepted": True, "seq": 2}
    world.until(lambda: world.fires() == ["1 1 1", "2 1 2 new"], what="the new code did not fire")
    assert first.poll() is None


def test_a_removed_reactor_is_drained_and_forgotten(world: Hosting) -> None:
    world.start()
    world.push(1)
    (world.root / "ponds.py").write_text("")
    world.deploy()

    def is_gone() -> bool:
        with world.ledger.reading() as tx:
            return reactors.deployed(tx) == []

    world.until(is_gone, what="the reactor is still there")


def test_code_that_cannot_be_imported_is_told_and_tried_again(world: Hosting) -> None:
    with world.ledger.transaction() as tx:
        tx.change("UPDATE reactors SET entry = :entry", entry="ponds:nothing")
    world.start()
    world.until(lambda: len(world.history("reactor not started")) == 1, what="nobody was told")
    assert "is no Reactor" in str(world.history("reactor not started")[0]["error"])
    with pytest.raises(NoLiveHost, match=r"cannot be reached: it could not be started: .* is no Reactor") as refused:
        world.client(patience_s=0).ask(op="state")
    assert refused.value.hint == "pondage why quote", "another host would not start it either"


def test_sigterm_drains_and_nothing_of_the_queue_is_lost(world: Hosting) -> None:
    host = world.start()
    for number in range(5):
        world.push(number)
    host.send_signal(signal.SIGTERM)
    assert host.wait(PATIENCE_S) == 0
    assert [line.split()[2] for line in world.fires()] == ["0", "1", "2", "3", "4"]


def test_whoever_watches_is_told_of_fires_and_health_until_the_host_goes(world: Hosting) -> None:
    host = world.start()
    assert world.state()["fires"] == 0
    said = world.client().watch()
    assert next(said)["state"]["ok"] == 0  # type: ignore[index]
    for number in (1, 2):
        world.push(number)
        assert next(told for told in said if "fired" in told) == {"id": None, "fired": 1, "last": "ok"}
    host.terminate()
    assert {"id": None, "health": "Stopped", "sources": []} in list(said)


def test_whoever_watches_is_not_kept_waiting_by_a_host_that_gave_the_reactor_up(tmp_path: Path) -> None:
    answers = asyncio.run(_watched(tmp_path, [Fired(1, 1, "ok"), Fired(2, 1, "ok"), Fired(3, 1, "dead")]))
    assert answers == [{"id": 7, "state": {}}, {"id": 7, "fired": 3, "last": "dead"}]


async def _watched(folder: Path, effects: list[Fired]) -> list[object]:
    """Answer what a watcher hears of fires that end together and of the end of the reactor, until we hang up."""
    host = SimpleNamespace(watchers=[], stopped=asyncio.Event())
    owned = SimpleNamespace(host=host, state=dict, is_lost=False)
    socket = LiveSocket(folder, "live", lambda *_: owned)  # type: ignore[arg-type,return-value]
    await socket.open()
    try:
        reader, writer = await asyncio.open_unix_connection(socket.path)
        writer.write(b'{"id": 7, "reactor": "quote", "environment": "main", "op": "watch"}\n')
        answers = [msgspec.json.decode(await reader.readline())]
        for effect in effects:
            host.watchers[0](effect)
        host.stopped.set()
        async with asyncio.timeout(PATIENCE_S):
            answers += [msgspec.json.decode(line) async for line in reader]
        writer.close()
        return answers
    finally:
        await socket.close()


def test_a_question_that_we_fail_on_is_answered_at_once_and_harms_nobody(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    async def ask() -> list[object]:
        owned = SimpleNamespace(state=fail, dead=list, is_lost=False)
        socket = LiveSocket(tmp_path / ("long" * 30), "live", lambda *_: owned)  # type: ignore[arg-type,return-value]
        await socket.open()
        try:
            reader, writer = await asyncio.open_unix_connection(socket.path)
            answers = []
            for op in ("state", "dead"):
                writer.write(msgspec.json.encode({"id": 7, "reactor": "q", "environment": "main", "op": op}) + b"\n")
                async with asyncio.timeout(PATIENCE_S):
                    answers.append(msgspec.json.decode(await reader.readline()))
            writer.close()
            return answers
        finally:
            await socket.close()
            assert not socket.path.parent.exists(), "a folder of our own is left behind"

    failed, dead = asyncio.run(ask())
    assert failed == {"id": 7, "accepted": False, "error": "INTERNAL", "message": "the log of the live host says why"}
    assert dead == {"id": 7, "dead": []}
