"""One Spark driver for all tests of this folder."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.session.driver import SparkDriver
from tests.spark.pipeline import Pipeline


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDriver]:
    started = SparkDriver.start(SparkSettings(memory="1g", cores=2), tmp_path_factory.mktemp("state"))
    yield started
    started.stop()


@pytest.fixture
def token() -> str:
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def spark(driver: SparkDriver, token: str, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session of an attempt of this test."""
    with driver.attempt(token, request.node.name) as session:
        yield session


@pytest.fixture
def place(tmp_path: Path) -> Callable[[], Path]:
    """A new destination at each call, as each execution has one."""
    return lambda: tmp_path / "warehouse" / secrets.token_hex(6)


@pytest.fixture
def deployed(
    tmp_path: Path, driver: SparkDriver, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Pipeline]]:
    """Make a pipeline of a module of Ponds; its worker uses the driver of all tests."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(SparkDriver, "start", lambda *_, **__: driver)
    made: list[Pipeline] = []

    def deploy(ponds: str) -> Pipeline:
        sys.modules.pop("ponds", None)
        made.append(Pipeline(tmp_path / f"project{len(made)}", ponds))
        return made[-1]

    yield deploy
    sys.modules.pop("ponds", None)
    for each in made:
        each.close()
