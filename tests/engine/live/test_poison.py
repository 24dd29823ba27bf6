"""A boundary that kills the process: a dead letter after the documented deaths, and nobody beside it is hurt."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pondage.engine.live.client import Connection, NoLiveHost, client_of
from pondage.engine.process.config import WorkerConfig
from pondage.engine.supervise.live_keeper import LiveKeeper, start_live
from pondage.engine.supervise.own_children import ChildProcess
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors
from tests.engine.live.hosting import Hosting
from tests.patience import PATIENCE_S

CODE = '''
"""Two reactors in one module; one of them dies of an unlucky number."""
import os
from pondage import Accumulator, Fire, Reactor

numbers = Accumulator("numbers", int)
poison = Reactor("poison", sources=[numbers], strategy="sequential", durable="process")

@poison.graph(inline=True)
def die(numbers: int | None) -> None:
    with open("poison.txt", "a") as file:
        file.write(f"{numbers}\\n")
    if numbers == 13:
        os._exit(9)

values = Accumulator("values", int)
neighbour = Reactor("neighbour", sources=[values], strategy="sequential", durable="process")

@neighbour.graph(inline=True)
def note(values: int | None, fire: Fire) -> None:
    with open("neighbour.txt", "a") as file:
        file.write(f"{fire.id} {values}\\n")
'''


class Poisoned(Hosting):
    """The project above under a keeper whose looks the test makes."""

    def write(self, *, version: str = "1.0.0", mark: str = "") -> None:
        (self.root / "ponds.py").write_text(CODE)

    def keep(self) -> LiveKeeper:
        self.said: list[str] = []
        return LiveKeeper(self.config, self.ledger, say=self.said.append, start=self.begin)

    def begin(self, config: WorkerConfig) -> ChildProcess:
        host = start_live(config)
        assert isinstance(host, subprocess.Popen)
        self.hosts.append((config.public_id, host))
        return host

    def is_pushed(self, number: int) -> bool:
        """Push, and again only when it was refused: the host may die of it before or after it has answered."""
        connection = Connection(self.rows()["poison"].address, timeout_s=PATIENCE_S)
        try:
            connection.send({"op": "push", "reactor": "poison", "source": "numbers", "value": number})
            return connection.receive().get("accepted") is True
        except ConnectionError:
            return True
        finally:
            connection.close()

    def ask(self, reactor: str, **frame: object) -> dict[str, object]:
        with self.ledger.reading() as tx:
            environment = actors.environment(tx, "main")
        assert environment is not None
        return client_of(self.ledger, environment, reactor, patience_s=0.3).ask(**frame)

    def rows(self) -> dict[str, reactors.ReactorRow]:
        with self.ledger.reading() as tx:
            return {row.name: row for row in reactors.deployed(tx)}

    def owner(self, reactor: str) -> str | None:
        with self.ledger.reading() as tx:
            names = {row.id: row.public_id for row in processes.alive(tx)}
        return names.get(self.rows()[reactor].owner or -1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Poisoned]:
    made = Poisoned(tmp_path / "project")
    try:
        yield made
    finally:
        made.close()


def test_a_boundary_that_kills_its_process_becomes_a_letter_after_the_documented_deaths_and_takes_no_neighbour_with_it(
    world: Poisoned,
) -> None:
    keeper = world.keep()

    def looked(condition: Callable[[], object]) -> Callable[[], bool]:
        def look() -> bool:
            keeper.tick(reaper=0)
            return bool(condition())

        return look

    try:
        world.until(looked(lambda: world.owner("poison") and world.owner("neighbour")), what="no owner")
        world.until(lambda: world.is_pushed(13), what="it is not taken in")
        world.until(looked(lambda: world.rows()["poison"].is_alone), what="it is not alone")
        world.until(looked(lambda: world.owner("neighbour")), what="the neighbour has no host")
        host = world.owner("neighbour")
        world.until(
            looked(lambda: world.owner("poison") and '"Live"' in world.rows()["poison"].health and _letters(world)),
            what="no dead letter",
        )
        assert world.owner("neighbour") == host
        assert world.owner("poison") != host
        assert world.ask("neighbour", op="push", source="values", value=1)["accepted"] is True
        assert world.ask("poison", op="push", source="numbers", value=14)["accepted"] is True
        world.until(lambda: "14\n" in (world.root / "poison.txt").read_text(), what="it does not go on")
        world.until(lambda: (world.root / "neighbour.txt").exists(), what="the neighbour did not fire")
    finally:
        keeper.kill()
    fires = (world.root / "poison.txt").read_text().split().count("13")
    documented = re.search(
        r"kills its process (\w+) times", (Path(__file__).parents[3] / "docs/reactors.md").read_text()
    )
    assert documented is not None
    assert fires == {"three": 3, "four": 4, "five": 5}[documented[1]]


def _letters(world: Poisoned) -> list[object]:
    try:
        found = world.ask("poison", op="dead")["dead"]
    except NoLiveHost:  # between two lives
        return []
    assert isinstance(found, list)
    return found
