"""Why a Pond runs or does not: the route answers the object that `pondage why --json` prints, in twenty states."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from pondage.cli.client import session
from pondage.cli.main import main
from pondage.kernel.demand.events import Calm, Clear, Force, Kill, Pulse, Sleep, Tap, Tide, Wake, Wave
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.server.app import make_app
from pondage.server.call import Service
from tests.ledger.harness import World, pond
from tests.server.client import Client
from tests.server.conftest import token_of

HOUR = 3_600_000_000


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    monkeypatch.chdir(tmp_path)
    made = World(lambda clock: SqliteDriver(tmp_path / ".pondage" / "ledger.db", clock))
    made.deploy(
        pond("orders"),
        pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"]}),
        pond("reports", sources={"sales": True}),
        project="shop",
    )
    # The command line looks by the same clock, which does not move.
    monkeypatch.setattr(session, "open_ledger", lambda *_: made.open(2))
    yield made
    made.ledger.close()


def ran(world: World) -> None:
    world.send(Pulse(pond="reports@1"))
    world.worker().drain()


def failed(world: World) -> None:
    ran(world)
    world.send(Force(pond="sales@1"))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    worker.fail(held)


def then(*steps: Callable[[World], object]) -> Callable[[World], None]:
    def live(world: World) -> None:
        for step in steps:
            step(world)

    return live


STATES: dict[str, tuple[str, Callable[[World], None]]] = {
    "never asked for": ("sales", then()),
    "tapped": ("sales", then(lambda world: world.send(Tap(pond="sales@1")))),
    "pulsed": ("sales", then(lambda world: world.send(Pulse(pond="sales@1")))),
    "asked for below": ("orders", then(lambda world: world.send(Pulse(pond="reports@1")))),
    "a Wave": ("sales", then(lambda world: world.send(Wave(pond="sales@1")))),
    "a Tide": ("sales", then(lambda world: world.send(Tide(pond="sales@1", limit=HOUR)))),
    "calmed": (
        "sales",
        then(
            lambda world: world.send(Tide(pond="sales@1", limit=HOUR)), lambda world: world.send(Calm(pond="sales@1"))
        ),
    ),
    "completed": ("sales", ran),
    "completed, a Tide": ("sales", then(ran, lambda world: world.send(Tide(pond="sales@1", limit=HOUR)))),
    "claimed": ("orders", then(lambda world: world.send(Pulse(pond="orders@1")), lambda world: world.worker().claim())),
    "killed": ("sales", then(ran, lambda world: world.send(Kill(pond="sales@1")))),
    "blocked by a kill": ("reports", then(ran, lambda world: world.send(Kill(pond="sales@1")))),
    "failed": ("sales", failed),
    "blocked by a failure": ("reports", failed),
    "failed, asked for": ("sales", then(failed, lambda world: world.send(Pulse(pond="sales@1")))),
    "cleared": ("sales", then(failed, lambda world: world.send(Clear(pond="sales@1")))),
    "woken": ("sales", then(ran, lambda world: world.send(Wake(pond="sales@1")))),
    "forced": ("sales", then(ran, lambda world: world.send(Force(pond="sales@1")))),
    "asleep": (
        "sales",
        then(lambda world: world.send(Wave(pond="sales@1")), lambda world: world.send(Sleep(pond="sales@1"))),
    ),
    "a Source is ahead": (
        "reports",
        then(ran, lambda world: world.send(Pulse(pond="sales@1")), lambda world: world.worker().drain()),
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_the_route_and_the_verb_answer_the_same_object(
    state: str, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, live = STATES[state]
    live(world)
    service = Service(ledger=world.ledger, environment="main", warehouse=tmp_path)
    answer = Client(make_app(service), token_of(world, "read")).get(f"/v1/why/{name}")
    capsys.readouterr()
    assert main(["why", name, "--json"]) == 0
    said = msgspec.json.decode(capsys.readouterr().out)
    assert answer.json == said
    assert answer.json["gates"]


def test_there_are_twenty_states() -> None:
    assert len(STATES) == 20
