"""One Spark driver for all tests of this folder."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage.spark.driver import SparkDriver
from pondage.spark.settings import SparkSettings


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
