"""kill -9 at random points: one seeded story, and a program that plays many.

`python -m tests.engine.live.kill --seeds 50` on SQLite, `--postgres --seeds 10` on a PostgreSQL of its own.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pondage.engine.live.client import Connection
from tests.engine.live.hosting import Hosting, hosting
from tests.patience import PATIENCE_S

PIPELINE = 24
"""How many pushes are under way at most."""


class Pusher(threading.Thread):
    """Pushes numbers as fast as they are acknowledged. A number whose answer was lost is never pushed again."""

    def __init__(self, world: Hosting, count: int) -> None:
        super().__init__(daemon=True)
        self.world = world
        self.count = count
        self.acked: dict[int, int] = {}
        self.lost: set[int] = set()
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            number = 0
            while number < self.count:
                number = self._connected(number)
        except BaseException as error:  # noqa: BLE001 - shown by the test that waits for this thread
            self.problem = error

    def _connected(self, number: int) -> int:
        row = self.world.row
        try:
            assert row is not None
            connection = Connection(row.address, timeout_s=PATIENCE_S)
        except OSError:
            time.sleep(0.02)
            return number
        waiting: set[int] = set()
        try:
            while number < self.count or waiting:
                while number < self.count and len(waiting) < PIPELINE:
                    waiting.add(number)
                    number += 1
                    frame = {"op": "push", "reactor": "quote", "id": number - 1, "source": "ticks"}
                    connection.send({**frame, "value": {"number": number - 1}})
                answer = connection.receive()
                told = answer["id"]
                assert isinstance(told, int)
                waiting.discard(told)
                if answer.get("accepted"):
                    seq = answer["seq"]
                    assert isinstance(seq, int)
                    self.acked[told] = seq
                else:
                    assert answer["error"] in ("not_here", "moved", "stopping", "stopped", "unavailable"), answer
                    self.lost.add(told)
                    if answer["error"] != "unavailable":
                        raise ConnectionError("the reactor is elsewhere")
        except OSError:
            self.lost |= waiting
        finally:
            connection.close()
        return number


def story(seed: int, world: Hosting, *, count: int = 4000) -> int:
    """Push while hosts are killed at moments of the seed, then check the sink; answer the number of kills."""
    dice = random.Random(seed)
    hosts = [world.start(), world.start()]
    world.client().ask(op="state")
    pusher = Pusher(world, count)
    pusher.start()
    kills = 0
    while pusher.is_alive() or kills < 2:
        time.sleep(dice.choice([0.0, 0.002, 0.01, 0.05, 0.2]))
        victim = _owner(world, hosts) if dice.random() < 0.85 else dice.choice(hosts)
        if victim is None:
            continue
        world.kill(victim)
        kills += 1
        hosts.remove(victim)
        hosts.append(world.start())
        # Let somebody own it before the next death: a host that never begins cannot die of anything.
        world.client().ask(op="state")
    pusher.join()
    assert pusher.problem is None, pusher.problem
    world.until(lambda: _is_quiet(world.state()), what="it does not come to rest")
    check(world, pusher)
    return kills


def check(world: Hosting, pusher: Pusher) -> None:
    """Check at the sink: every acknowledged boundary fired, under one id; one id means one boundary; in order."""
    inputs: dict[int, int] = {}
    ids: dict[int, int] = {}
    for line in world.fires():
        fire, _, number = (int(each) for each in line.split())
        assert inputs.setdefault(fire, number) == number, f"fire {fire} was given two inputs"
        assert ids.setdefault(number, fire) == fire, f"{number} was consumed by two fires"
    letters = msgspec.convert(world.client().ask(op="dead")["dead"], list[dict[str, dict[str, dict[str, int]]]])
    dead = {letter["inputs"]["ticks"]["number"] for letter in letters}
    missing = set(pusher.acked) - set(ids) - dead
    assert not missing, f"acknowledged and lost: {sorted(missing)[:10]}"
    order = [number for number, _ in sorted(pusher.acked.items(), key=lambda item: item[1]) if number in ids]
    assert [ids[number] for number in order] == sorted(ids[number] for number in order), "the order was lost"
    state = world.state()
    assert state["ok"] == len(ids), "a fire was committed twice, or not at all"


def _owner(world: Hosting, hosts: list[object]) -> object | None:
    row = world.row
    return next((host for name, host in world.hosts if row and f"/{name}.sock" in row.address and host in hosts), None)


def _is_quiet(state: dict[str, object]) -> bool:
    sources = msgspec.convert(state["sources"], dict[str, dict[str, object]])
    return state["running"] is None and not sources["ticks"]["queued"] and state["state"] == "Live"


def main(arguments: list[str]) -> int:
    """Play seeds and say what came of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.live.kill", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args(arguments)
    address, close = _postgres() if given.postgres else (lambda _: None, lambda: None)
    kills = 0
    try:
        for seed in range(given.first, given.first + given.seeds):
            with tempfile.TemporaryDirectory(prefix="pondage-kill-") as folder:
                level = "power" if seed % 3 == 0 else "process"
                with hosting(Path(folder) / "project", address(seed), level=level) as world:
                    kills += story(seed, world)
            print(f"seed {seed}: ok", flush=True)
    finally:
        close()
    print(f"{given.seeds} seeds, {kills} kills: nothing acknowledged was lost, nothing committed twice")
    return 0


def _postgres() -> tuple[Callable[[int], str | None], Callable[[], None]]:
    from tests.services.postgres import PostgresServer

    server = PostgresServer()

    def address(seed: int) -> str:
        server.new_schema(f"kill{seed}")
        return f"{server.url}?options=-csearch_path%3Dkill{seed}"

    return address, server.close


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
