"""Deploys over a reactor that runs: other graphs are bound in place, another declaration drains it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from pondage import Accumulator, Reactor
from pondage.engine.live.owned import OwnedReactor
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors
from tests.engine.live.hosting import CODE, Hosting, hosting
from tests.patience import PATIENCE_S

SECOND = """
@quote.graph(inline=True)
def second(ticks: Tick | None, fire: Fire) -> None:
    assert ticks is None or isinstance(ticks, Tick), ticks
    with open("second.txt", "a") as file:
        file.write(f"{fire.id}\\n")
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Hosting]:
    with hosting(tmp_path / "project") as made:
        yield made


def write(world: Hosting, mark: str, *, extra: str = "", change: Callable[[str], str] = str) -> None:
    text = CODE.format(version="1.0.0", mark=mark, level=world.level) + extra
    (world.root / "ponds.py").write_text(change(text))


def test_changed_graphs_are_bound_in_place_and_what_waited_is_fired_with_the_new_code(world: Hosting) -> None:
    first = world.start()
    world.push(1)
    world.client().ask(op="command", command="pause")
    world.push(2)
    write(world, " new", extra=SECOND)
    assert world.deploy() != world.code
    world.until(lambda: "has the graphs of code" in world.logs(), what="nothing was bound")
    world.push(3)
    world.client().ask(op="command", command="resume")
    world.until(lambda: world.fires() == ["1 1 1", "2 1 2 new", "3 1 3 new"], what="the new graphs did not fire")
    world.until(lambda: (world.root / "second.txt").read_text() == "2\n3\n", what="the second graph did not fire")
    assert (world.epoch(), first.poll()) == (1, None)
    world.kill(first)
    world.start()  # of the first deploy's code, whose hosts still serve the reactor
    assert world.push(4) == {"accepted": True, "seq": 4}
    world.until(lambda: world.fires()[-1] == "4 1 4 new", what="the next life has other graphs")


def test_a_graph_that_a_deploy_takes_away_is_gone_from_the_next_fire_on(world: Hosting) -> None:
    write(world, "", extra=SECOND)
    world.deploy()
    world.start()
    world.push(1)
    world.until(lambda: len(world.fires()) == 1, what="no fire")
    write(world, "")
    world.deploy()
    world.until(lambda: "has the graphs of code" in world.logs(), what="nothing was bound")
    world.push(2)
    world.until(lambda: len(world.fires()) == 2, what="no fire after the deploy")
    assert (world.root / "second.txt").read_text() == "1\n"
    assert world.epoch() == 1


def test_nothing_acknowledged_is_lost_when_the_host_is_killed_between_deploys(world: Hosting) -> None:
    host, acknowledged = world.start(), []
    count = 120

    def push() -> None:
        acknowledged.extend(number for number in range(count) if world.push(number)["accepted"])

    pushing = threading.Thread(target=push)
    pushing.start()
    for mark in range(4):
        world.until(lambda mark=mark: len(acknowledged) > mark * 20, what="pushes stand still")  # type: ignore[misc]
        write(world, f" {mark}", extra=SECOND if mark % 2 else "")
        world.deploy()
        if mark in (1, 2):  # before the graphs are bound, while they are, or after
            world.kill(host)
            host = world.start()
    pushing.join()
    world.until(lambda: world.state()["ok"] == count, what="not everything was fired")
    numbers = {line.split()[0]: line.split()[2] for line in world.fires()}
    assert [int(numbers[str(place + 1)]) for place in range(count)] == acknowledged == list(range(count))
    row = world.row
    assert row is not None
    assert (row.host, row.code != row.host) == (world.code, True)

    def is_in_force() -> bool:
        world.push(count)
        return world.fires()[-1].endswith(f"{count} 3")

    world.until(is_in_force, what="the last deploy is not in force")


def test_graphs_that_cannot_be_bound_are_told_and_the_reactor_goes_on_with_those_before(world: Hosting) -> None:
    world.start()
    world.push(1)
    write(world, " new")
    world.deploy()
    with world.ledger.transaction() as tx:
        tx.change("UPDATE reactors SET entry = :entry, digest = 'other'", entry="ponds:nothing")
    world.until(lambda: world.history("reactor not rebound") != [], what="nobody was told")
    assert "is no Reactor" in str(world.history("reactor not rebound")[0]["error"])
    world.push(2)
    world.until(lambda: world.fires()[-1].startswith("2 1 2"), what="the reactor stands still")


def test_accumulators_come_and_go_with_another_version_although_the_old_host_is_killed(world: Hosting) -> None:
    first = world.start()
    world.client().ask(op="command", command="pause")
    for number in (1, 2):
        world.push(number)
    world.client().ask(op="push", source="config", value="calm")
    write(
        world, " new",
        change=lambda text: text.replace("1.0.0", "2.0.0").replace('"config", str', '"limit", str')
        .replace("config: str", "limit: str").replace('config == "raise"', 'limit == "raise"')
    )  # fmt: skip
    code = world.deploy()
    world.kill(first)
    world.start(code)
    state = world.state()
    assert (state["hold"], list(state["sources"])) == ("paused", ["ticks", "limit"])  # type: ignore[call-overload]
    assert world.push(3) == {"accepted": True, "seq": 3}
    world.client().ask(op="command", command="resume")
    world.until(lambda: world.fires() == ["1 1 1 new", "2 1 2 new", "3 1 3 new"], what="boundaries were lost")


class Price(msgspec.Struct):
    px: float


class Newer(msgspec.Struct):
    px: float


def reactor_of(kind: type, durable: bool | str, **graphs: Callable[..., object]) -> Reactor:
    made = Reactor(
        "quote",
        sources=[Accumulator("prices", kind), Accumulator.batch("lots", kind, size=2)],
        strategy="sequential",
        durable=durable,
    )
    for name, function in graphs.items():
        made.graph(name=name)(function)
    return made


async def owned_on(ledger: Ledger, reactor: Reactor) -> OwnedReactor:
    with ledger.transaction() as tx:
        environment = actors.made_environment(tx, "main")
        actor = reactors.put(tx, environment=environment, project="p", declaration=reactor.declaration)
        tx.change("UPDATE actors SET owner = NULL, token = NULL")
        process = processes.register(tx, public_id=ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="live")
        lease = reactors.claim(tx, actor=actor, process=process, token=ledger.ids.new("t"))
        row = reactors.find(tx, environment, reactor.name)
    assert lease is not None
    assert row is not None
    owned = OwnedReactor(ledger, row, lease, reactor)
    await owned.start()
    return owned


@pytest.mark.parametrize("durable", [False, "process", "power"])
def test_the_open_fire_ends_with_its_graphs_and_values_and_what_waits_gets_the_new_ones(
    tmp_path: Path, durable: bool | str
) -> None:
    seen: list[object] = []

    async def play() -> None:
        going, begun = asyncio.Event(), asyncio.Event()

        async def old(prices: Price | None, lots: list[Price] | None) -> None:
            begun.set()
            await going.wait()
            seen.append(("old", prices, lots))

        async def new(prices: Newer | None, lots: list[Newer] | None) -> None:
            seen.append(("new", prices, lots))

        ledger = Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
        owned = await owned_on(ledger, reactor_of(Price, durable, old=old))
        for px in (1.0, 2.0):
            await owned.push("prices", {"px": px})
        await begun.wait()
        await owned.push("lots", {"px": 3.0})
        other = reactor_of(Newer, durable, new=new)
        owned.rebind(msgspec.structs.replace(owned.row, declaration=other.declaration), other)
        await owned.push("lots", {"px": 4.0})
        going.set()
        await owned.until(lambda state: state["ok"] == 3)
        if durable:
            await owned.drain(0)
            owned = await owned_on(ledger, other)
            await owned.push("prices", {"px": 5.0})
            await owned.until(lambda state: state["ok"] == 4)
        await owned.drain(1_000_000)
        ledger.close()

    asyncio.run(asyncio.wait_for(play(), PATIENCE_S))
    lots = [Newer(3.0), Newer(4.0)]
    expected = [("old", Price(1.0), None), ("new", Newer(2.0), None), ("new", Newer(2.0), lots)]
    assert seen == expected + ([("new", Newer(5.0), lots)] if durable else [])


def test_a_fire_whose_graph_was_taken_away_before_a_crash_runs_what_is_bound_then(tmp_path: Path) -> None:
    seen: list[str] = []

    async def play() -> None:
        begun = asyncio.Event()

        async def old(prices: Price | None) -> None:
            begun.set()
            await asyncio.Event().wait()

        async def new(prices: Newer | None) -> None:
            seen.append(f"new {prices}")

        ledger = Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
        owned = await owned_on(ledger, reactor_of(Price, "process", old=old))
        await owned.push("prices", {"px": 1.0})
        await begun.wait()
        other = reactor_of(Newer, "process", new=new)
        owned.rebind(msgspec.structs.replace(owned.row, declaration=other.declaration), other)
        await owned.push("prices", {"px": 2.0})
        await owned.lose("a test")
        owned = await owned_on(ledger, other)
        await owned.until(lambda state: state["ok"] == 2)
        assert owned.dead() == []
        await owned.drain(1_000_000)
        ledger.close()

    asyncio.run(asyncio.wait_for(play(), PATIENCE_S))
    assert seen == ["new Newer(px=1.0)", "new Newer(px=2.0)"]
