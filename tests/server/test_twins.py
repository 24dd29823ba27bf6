"""The command line and the server say the same: every reading verb both ways, on one project."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pondage.cli.main import main
from pondage.kernel.demand.events import Pulse
from pondage.ledger.sqlite import SqliteDriver
from pondage.server.app import make_app
from pondage.server.table import Service
from tests.ledger.harness import World, pond
from tests.server.client import Client
from tests.server.conftest import token_of

TWINS = {
    "status --once": "/v1/status",
    "status sales --once": "/v1/status?pond=sales",
    "why sales": "/v1/why/sales",
    "runs": "/v1/runs",
    "runs sales -n 1": "/v1/runs?pond=sales&limit=1",
    "show sales": "/v1/show/sales",
    "show sales#1": "/v1/runs/sales%231",
    "logs sales": "/v1/logs?subject=sales",
    "lineage sales --up --columns": "/v1/lineage/sales?direction=up&columns=true",
    "job list": "/v1/jobs",
    "reactor list": "/v1/reactors",
    "token list": "/v1/tokens",
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    monkeypatch.chdir(tmp_path)
    made = World(lambda clock: SqliteDriver(tmp_path / ".pondage" / "ledger.db", clock))
    made.deploy(pond("orders"), pond("sales", sources={"orders": True}), project="shop")
    made.send(Pulse(pond="sales@1"))
    made.worker().drain()
    yield made
    made.ledger.close()


def still(said: Any) -> Any:
    """What was said, without what passes with time between two looks."""
    if isinstance(said, dict):
        return {name: still(value) for name, value in said.items() if name not in ("at", "staleness", "silent_us")}
    return [still(each) for each in said] if isinstance(said, list) else said


@pytest.mark.parametrize("verb", TWINS)
def test_a_verb_and_its_route_answer_the_same_object(
    verb: str, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service(ledger=world.ledger, environment="main", warehouse=tmp_path / "warehouse")
    asking = Client(make_app(service), token_of(world, "admin"))
    capsys.readouterr()
    assert main([*verb.split(), "--json"]) == 0
    said = msgspec.json.decode(capsys.readouterr().out)
    answer = asking.get(TWINS[verb])
    assert answer.status == 200, answer.data
    assert still(answer.json) == still(said)
