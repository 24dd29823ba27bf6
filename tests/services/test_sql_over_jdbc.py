"""The SQL door by Arrow's JDBC driver, in a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from pondage.embedded.apart import Apart
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.server.call import Service
from pondage.server.serving import ServeOptions
from pondage.server.sql.running import sql_door
from pondage.spark.jvm.class_archive import cache_directory
from pondage.spark.jvm.java import find_java
from tests.ledger.harness import World, pond
from tests.operations.published import publish
from tests.server.conftest import token_of
from tests.services.jars import jars

pytestmark = pytest.mark.services

VERSION = "18.3.0"


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """A JVM with the driver, and nothing else."""
    import pyspark

    program = str(find_java().executable)
    place = jars(program, cache_directory() / "flight-sql-jdbc", "org.apache.arrow", "flight-sql-jdbc-driver", VERSION)
    (bridge,) = (Path(pyspark.__path__[0]) / "jars").glob("py4j*.jar")
    port, secret = launch_gateway(
        jarpath=str(bridge),
        classpath=str(place / f"flight-sql-jdbc-driver-{VERSION}.jar"),
        javaopts=["--add-opens=java.base/java.nio=ALL-UNNAMED", "-Xmx512m"],
        java_path=program,
        die_on_exit=True,
        enable_auth=True,
        return_proc=False,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret, auto_convert=True))
    yield gateway.jvm
    gateway.shutdown()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, World]]:
    root = tmp_path_factory.mktemp("jdbc")
    world = World(lambda clock: SqliteDriver(root / "ledger.db", clock))
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}, ripples={"clean": [], "sales": ["clean"]}))
    publish(world, root, "sales")
    engine = Apart(at_once=2)
    service = Service(ledger=world.ledger, environment="main", warehouse=root, engine=engine)
    try:
        with sql_door(service, ServeOptions(), 0) as address:
            yield address.removeprefix("grpc://"), world
    finally:
        engine.close()
        world.ledger.close()


@pytest.fixture
def connection(java: Any, served: tuple[str, World]) -> Iterator[Any]:
    address, world = served
    made = connect(java, address, token=token_of(world, "read"))
    yield made
    made.close()


def connect(java: Any, address: str, **given: str) -> Any:
    properties = java.java.util.Properties()
    for key, value in {"useEncryption": "false", **given}.items():
        properties.setProperty(key, value)
    driver = java.org.apache.arrow.driver.jdbc.ArrowFlightJdbcDriver()
    return driver.connect(f"jdbc:arrow-flight-sql://{address}", properties)


def rows(found: Any) -> list[list[str | None]]:
    count = found.getMetaData().getColumnCount()
    read = []
    while found.next():
        read.append([found.getString(at + 1) for at in range(count)])
    found.close()
    return read


def test_a_question_is_answered(connection: Any) -> None:
    statement = connection.createStatement()
    found = statement.executeQuery('SELECT n, name, amount FROM main.ponds."sales.clean" WHERE n < 2 ORDER BY n')
    said = found.getMetaData()
    assert [said.getColumnName(at) for at in (1, 2, 3)] == ["n", "name", "amount"]
    assert rows(found) == [["0", "clean 0", "0.00"], ["1", "clean 1", "0.25"]]
    statement.close()


def test_values_are_bound(connection: Any) -> None:
    statement = connection.prepareStatement("SELECT name FROM orders WHERE n = ? OR name = ? ORDER BY n")
    for number in ("3", "4"):
        statement.setString(1, number)
        statement.setString(2, "orders 7")
        assert rows(statement.executeQuery()) == [[f"orders {number}"], ["orders 7"]]
    statement.close()


def test_the_catalogue_is_told(connection: Any) -> None:
    said = connection.getMetaData()
    assert rows(said.getCatalogs()) == [["main"]]
    assert ["ponds", "main"] in rows(said.getSchemas())
    names = [row[2] for row in rows(said.getTables("main", "ponds", "sales%", None))]
    assert names == ["sales", "sales.clean", "sales.sales", "sales@1", "sales@1.clean", "sales@1.sales"]
    columns = rows(said.getColumns("main", "ponds", "orders", None))
    assert [(row[3], row[5]) for row in columns] == [
        ("n", "BIGINT"), ("name", "VARCHAR"), ("amount", "DECIMAL(10,2)"), ("at", "TIMESTAMPTZ"),
    ]  # fmt: skip
    assert rows(said.getTableTypes()) == [["TABLE"]]
    assert said.getDatabaseProductName() == "Pondage"
    assert said.getIdentifierQuoteString() == '"'
    assert said.isReadOnly()
    assert rows(said.getPrimaryKeys("main", "ponds", "orders")) == []


def test_what_is_refused_says_so_and_the_next_question_is_answered(connection: Any) -> None:
    statement = connection.createStatement()
    for sql in ("SELECT * FROM read_text('/etc/passwd')", "DROP VIEW orders", "SET threads=64"):
        with pytest.raises(Py4JJavaError, match="QUERY_REFUSED"):
            statement.executeQuery(sql)
        assert rows(statement.executeQuery("SELECT count(*) FROM orders")) == [["10"]]
    statement.close()


def test_a_token_is_a_password_too(java: Any, served: tuple[str, World]) -> None:
    address, world = served
    made = connect(java, address, user="anybody", password=token_of(world, "read"))
    assert rows(made.createStatement().executeQuery("SELECT count(*) FROM orders")) == [["10"]]
    made.close()
    with pytest.raises(Py4JJavaError, match="unknown, revoked or expired"):
        connect(java, address, user="anybody", password="wrong").createStatement().executeQuery("SELECT 1")
