from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.tables import api_tokens
from pondage.server.app import make_app
from pondage.server.call import Service
from tests.ledger.harness import World, pond
from tests.server.client import Client

As = Callable[..., Client]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """`orders`, `sales` (two Ripples) and `reports` in main, and `secrets` in the environment `other`."""
    made = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    made.deploy(
        pond("orders"),
        pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"]}),
        pond("reports", sources={"sales": True}),
        project="shop",
    )
    yield made
    made.ledger.close()


@pytest.fixture
def service(world: World, tmp_path: Path) -> Service:
    return Service(ledger=world.ledger, environment="main", warehouse=tmp_path)


@pytest.fixture
def app(service: Service) -> ASGIApp:
    return make_app(service)


def token_of(world: World, level: str, *environments: str) -> str:
    with world.ledger.transaction() as tx:
        return api_tokens.create(
            tx, world.ledger.ids, name=f"a {level}", level=level, environments=environments or ("main",)
        )[0]


@pytest.fixture
def client(world: World, app: ASGIApp) -> As:
    """Answer a client with a new token of a level, bound to `main` or to the environments given."""

    def make(level: str | None = "read", *environments: str) -> Client:
        return Client(app, None if level is None else token_of(world, level, *environments))

    return make
