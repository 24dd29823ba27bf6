from collections.abc import Callable, Iterator
from itertools import count

import pytest
from pyspark.sql import SparkSession

from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.postgres import PostgresDriver
from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.session.driver import SparkDriver
from tests.ledger.harness import MakeDriver, World
from tests.services.kafka import KafkaServer
from tests.services.postgres import PostgresServer, drivers_on
from tests.services.rabbitmq import MISSING, RabbitServer, find_rabbitmq

_numbers = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def make_driver(postgres: PostgresServer) -> Iterator[MakeDriver]:
    """The same fixture as for SQLite, on a schema that is empty."""
    postgres.empty_schema("test")
    yield from drivers_on(postgres, "test")


@pytest.fixture(scope="module")
def driver_factory(postgres: PostgresServer) -> Iterator[Callable[[str, FakeClock], Driver]]:
    """Drivers on named schemas that live as long as a module of tests."""
    made: list[Driver] = []

    def make(name: str, clock: FakeClock) -> Driver:
        schema = f"many_{next(_numbers)}_{name}"
        postgres.new_schema(schema)
        made.append(PostgresDriver(postgres.url, schema=schema, clock=clock))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


@pytest.fixture
def world(make_driver: MakeDriver) -> World:
    return World(make_driver)


PACKAGES = (
    "org.postgresql:postgresql:42.7.8",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "io.delta:delta-spark_4.2_2.13:4.4.0",
)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDriver]:
    """A Spark with packages by Maven coordinates; its Ivy downloads them the first time, into the user's cache."""
    settings = SparkSettings(memory="1g", cores=2, packages=PACKAGES)
    started = SparkDriver.start(settings, tmp_path_factory.mktemp("state"))
    yield started
    started.stop()


@pytest.fixture
def spark(driver: SparkDriver, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    with driver.attempt(f"test-{next(_numbers)}", request.node.name) as session:
        yield session


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    server = KafkaServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitServer]:
    if find_rabbitmq() is None:
        pytest.skip(MISSING)
    server = RabbitServer()
    yield server
    server.close()
