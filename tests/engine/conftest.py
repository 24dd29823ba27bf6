from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.ledger.ledger import Durability
from tests.engine.plain import PlainExecutor, sqlite_world
from tests.ledger.harness import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = sqlite_world(tmp_path, Durability(poll_s=0.05, drain_s=1000.0))
    yield world
    world.ledger.close()


@pytest.fixture
def executor() -> PlainExecutor:
    return PlainExecutor()
