"""What a process remembers of Ponds is what the ledger says: whoever else was there, and whatever was undone."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import pondage
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Force, Pulse, Sleep, Tap, Wave
from pondage.ledger.act import verbs
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver, Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.step import advance
from pondage.ledger.tables import actors, catchment_memory
from pondage.ledger.tables.catchment_memory import KeptCatchments
from pondage.ledger.upkeep.replay import replay
from tests.ledger.act.test_environment_sequences import Lives
from tests.ledger.harness import MakeDriver, World, pond
from tests.ledger.watched import WatchedDriver

TABLES = ("ponds", "pond_sources", "actors", "runs", "run_outputs", "dispatches", "signals", "advancements", "outbox")


class Undone(Exception):
    """Ends a transaction that must leave nothing."""


class Forgetful(KeptCatchments):
    """Remembers nothing: what every step read before there was anything to remember."""

    def learn(self, tx: Transaction) -> None:
        super().learn(tx)
        self._kept.clear()


def life(folder: Path, seed: int, remember: type[KeptCatchments]) -> list[object]:
    """Lead a random life with two processes on one database, and answer everything that is in it then."""
    folder.mkdir()
    made: list[Driver] = []

    def make(clock: FakeClock) -> Driver:
        made.append(WatchedDriver(folder / "ledger.db", clock, synchronous="OFF"))
        return made[-1]

    lives, choose = Lives(make, seed, folder), random.Random(seed)
    first = lives.world.ledger
    processes = [Ledger(made[0], ids=first.ids, durability=first.durability) for _ in range(2)]
    for each in processes:
        each.kept = remember()
    for step in range(30):
        lives.world.ledger = choose.choice(processes)
        lives.happen()
        lives.world.ledger = choose.choice(processes)
        lives.work(lives.random.randint(0, 6))
        if step % 7 == 6:
            lives.vacuum()
    found: list[object] = [lives.world.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]
    made[0].close()
    return found


@pytest.mark.parametrize("seed", range(8))
def test_processes_that_remember_do_what_one_does_that_reads_everything_again(tmp_path: Path, seed: int) -> None:
    assert life(tmp_path / "kept", seed, KeptCatchments) == life(tmp_path / "read", seed, Forgetful)


@pytest.fixture
def chain(world: World) -> World:
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), pond("report", sources={"sales": True}))
    return world


def reads(world: World, act: Callable[[], object]) -> int:
    """How often Ponds were read; that a Run asks who borrows its Pond is no such reading."""
    connection, found = world.ledger.driver._own()[0], []  # type: ignore[attr-defined]
    connection.set_trace_callback(found.append)
    act()
    connection.set_trace_callback(None)
    asked = [each.replace(" FROM ponds b ", " ") for each in found if each.lstrip().startswith("SELECT")]
    return sum(" FROM ponds" in each for each in asked)


def test_a_step_reads_no_pond_that_the_last_ones_left(chain: World) -> None:
    worker = chain.worker()
    chain.send(Pulse(pond="report@1"))
    assert reads(chain, worker.drain) > 0
    chain.clock.time += 1
    assert reads(chain, lambda: (chain.send(Pulse(pond="report@1")), worker.drain())) == 1, "the verb names a Pond"
    assert [state for state, _ in chain.runs("report")] == ["completed"] * 2


def test_what_another_process_did_in_between_is_seen(chain: World) -> None:
    other = chain.open(2)
    chain.send(Tap(pond="report@1"))
    verbs.send(other, "main", Sleep(pond="report@1"))
    verbs.send(other, "main", Wave(pond="sales@1"))
    chain.send(Tap(pond="report@1"))
    assert '"wave":' in str(chain.one("SELECT state FROM ponds WHERE name = 'sales'"))
    with chain.ledger.reading() as tx:
        assert not replay(tx, chain.ledger, 1).differences


def test_what_another_process_wrote_outside_of_a_step_is_read(chain: World) -> None:
    chain.send(Tap(pond="report@1"))
    assert reads(chain, lambda: chain.send(Tap(pond="report@1"))) == 1, "the verb names a Pond"
    with chain.open(2).transaction() as tx:
        actors.save_tracks(tx, 1, {PondKey("report@1"): ["orders@1"]})
    assert reads(chain, lambda: chain.send(Tap(pond="report@1"))) > 1


def test_what_was_undone_is_not_remembered(chain: World) -> None:
    chain.send(Tap(pond="orders@1"))
    before = chain.rows("SELECT name, state FROM ponds ORDER BY name")
    with pytest.raises(Undone), chain.ledger.transaction() as tx:  # noqa: PT012 - the end of the block is what is tested
        actor = actors.pond(tx, 1, "orders@1").actor  # type: ignore[union-attr]
        advance.inline(tx, chain.ledger, actor, process=None, event=Wave(pond=PondKey("report@1")))
        raise Undone
    assert chain.rows("SELECT name, state FROM ponds ORDER BY name") == before
    chain.send(Force(pond="orders@1"))
    assert '"wave":' not in str(chain.one("SELECT state FROM ponds WHERE name = 'report'"))
    assert '"wave":' not in str(chain.one("SELECT state FROM ponds WHERE name = 'sales'"))
    chain.send(Tap(pond="report@1"))
    assert '"wave":' not in str(chain.one("SELECT state FROM ponds WHERE name = 'report'"))


def test_a_step_that_raised_leaves_nothing_in_mind(chain: World, monkeypatch: pytest.MonkeyPatch) -> None:
    chain.send(Tap(pond="orders@1"))
    with monkeypatch.context() as broken:
        broken.setattr(advance, "_write_advancement", lambda *_: 1 / 0)
        chain.send(Wave(pond="report@1"))
    assert chain.one("SELECT errors FROM actors") == 1
    assert '"wave":' not in str(chain.one("SELECT state FROM ponds WHERE name = 'report'"))
    chain.pass_time(1)
    assert '"wave":' in str(chain.one("SELECT state FROM ponds WHERE name = 'report'"))


def test_only_the_ponds_and_catchments_of_the_last_steps_are_kept(
    make_driver: MakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catchment_memory, "PONDS", 4)
    monkeypatch.setattr(catchment_memory, "CATCHMENTS", 2)
    world = World(make_driver)
    world.deploy(pond("hub"), *(pond(f"spoke{n}", sources={"hub": True}) for n in range(9)), pond("a"), pond("b"))
    worker = world.worker()
    for name in ("hub", "a", "b", "spoke8", "hub"):
        world.send(Pulse(pond=PondKey(f"{name}@1")))
        worker.drain()
    held = world.ledger.kept._kept
    assert len(held) == 2
    assert max(len(ponds) for ponds in held.values()) == 4
    assert [state for state, _ in world.runs("spoke8")] == ["completed"]
    assert [state for state, _ in world.runs("hub")] == ["completed"] * 3


def test_nothing_else_writes_ponds() -> None:
    """Each of these is in a step, or edits the catchment first; `WatchedDriver` sees that it does."""
    found: Counter[str] = Counter()
    for file in sorted(Path(pondage.__file__).parent.rglob("*.py")):
        for table in re.findall(r"(?:UPDATE|INTO|DELETE FROM)\s+(ponds|pond_sources)\b", file.read_text()):
            found[f"{file.stem}: {table}"] += 1
    assert found == {"actors: ponds": 6, "actors: pond_sources": 2, "ponds: ponds": 1, "environments: ponds": 1}
