"""The SQL door, by real clients: ADBC with pandas and polars, and Flight itself where a client says no more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import adbc_driver_flightsql.dbapi as adbc
import polars
import pyarrow.flight as flight
import pytest
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_manager import Error

from pondage.embedded.apart import Apart
from pondage.ledger.tables import api_tokens, environments
from pondage.server.call import Service
from pondage.server.serving import ServeOptions
from pondage.server.sql import wire
from pondage.server.sql.running import sql_door
from tests.embedded import hostile
from tests.ledger.harness import World
from tests.operations.published import publish
from tests.server.conftest import token_of


@pytest.fixture
def url(world: World, tmp_path: Path) -> Iterator[str]:
    publish(world, tmp_path, "reports")
    engine = Apart(at_once=2)
    service = Service(ledger=world.ledger, environment="main", warehouse=tmp_path, engine=engine)
    try:
        with sql_door(service, ServeOptions(), 0) as address:
            yield address
    finally:
        engine.close()


def connect(url: str, token: str, **headers: str) -> adbc.Connection:
    given = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {token}"}
    given |= {f"{DatabaseOptions.RPC_CALL_HEADER_PREFIX.value}{name}": value for name, value in headers.items()}
    return adbc.connect(url, db_kwargs=given, autocommit=True)


@pytest.fixture
def connection(url: str, world: World) -> Iterator[adbc.Connection]:
    with connect(url, token_of(world, "read")) as made:
        yield made


def rows(connection: adbc.Connection, sql: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def test_adbc_reads_rows_of_every_type(connection: adbc.Connection) -> None:
    (row,) = rows(connection, 'SELECT n, name, amount, "at" FROM main.ponds."sales.clean" WHERE n = 3')
    assert row[:3] == (3, "clean 3", Decimal("0.75"))
    assert row[3].isoformat() == "2026-05-04T09:00:00+00:00"
    for name in ('"reports"', '"reports@1"', '"sales@1.clean"', 'ponds."orders"', '"main"."ponds"."reports@1"'):
        assert rows(connection, f"SELECT count(*) FROM {name}") == [(10,)]


def test_pandas_and_polars_read_through_adbc(connection: adbc.Connection, url: str, world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT n, name FROM reports ORDER BY n")
        frame = cursor.fetch_df()
    assert list(frame["n"]) == list(range(10))
    found = polars.read_database("SELECT sum(n) AS total FROM reports", connection)
    assert found.to_dicts() == [{"total": 45}]


def test_values_are_bound(connection: adbc.Connection) -> None:
    assert rows(connection, "SELECT name FROM reports WHERE n = ? OR name = ? ORDER BY n", (3, "reports 5")) == [
        ("reports 3",),
        ("reports 5",),
    ]
    with connection.cursor() as cursor:
        cursor.adbc_prepare("SELECT n FROM reports WHERE n < ?")
        for limit in (2, 4):
            cursor.execute("SELECT n FROM reports WHERE n < ?", (limit,))
            assert cursor.fetchall() == [(each,) for each in range(limit)]


def test_the_catalogue_is_told(connection: adbc.Connection) -> None:
    (catalog,) = connection.adbc_get_objects(depth="all").read_all().to_pylist()
    assert catalog["catalog_name"] == "main"
    (schema,) = catalog["catalog_db_schemas"]
    assert schema["db_schema_name"] == "ponds"
    names = [each["table_name"] for each in schema["db_schema_tables"]]
    assert names == sorted(
        f"{pond}{major}{ripple}"
        for pond, ripples in (("orders", ("orders",)), ("reports", ("reports",)), ("sales", ("clean", "sales")))
        for major in ("", "@1")
        for ripple in ("", *(f".{each}" for each in ripples))
    )
    columns = {each["table_name"]: each["table_columns"] for each in schema["db_schema_tables"]}
    assert [each["column_name"] for each in columns["reports@1"]] == ["n", "name", "amount", "at"]
    assert connection.adbc_get_table_types() == ["TABLE"]
    assert connection.adbc_get_info()["vendor_name"] == "Pondage"
    shape = connection.adbc_get_table_schema("sales.clean", catalog_filter="main", db_schema_filter="ponds")
    assert [str(field.type) for field in shape] == ["int64", "string", "decimal128(10, 2)", "timestamp[us, tz=UTC]"]
    assert connection.adbc_get_objects(depth="tables", table_name_filter="sales.cl_an").read_all().num_rows == 1


@pytest.mark.parametrize("sql", list(hostile.refused("/x"))[::15])
def test_a_hostile_question_is_refused_and_the_next_one_answered(connection: adbc.Connection, sql: str) -> None:
    with pytest.raises(Error, match=r"QUERY_REFUSED|BAD_SQL|NO_SUCH_TABLE|empty"):
        rows(connection, sql)
    assert rows(connection, "SELECT count(*) FROM reports") == [(10,)]


def test_nothing_can_be_written(connection: adbc.Connection) -> None:
    with pytest.raises(Error), connection.cursor() as cursor:
        cursor.adbc_ingest("loot", polars.DataFrame({"a": [1]}).to_arrow(), mode="create")
    with pytest.raises(Error), connection.cursor() as cursor:
        cursor.executescript("DROP VIEW reports")
    assert rows(connection, "SELECT count(*) FROM reports") == [(10,)]


def test_a_token_is_needed_and_may_be_a_password(url: str, world: World) -> None:
    for token in ("", "pondage_nothing"):
        with pytest.raises(Error, match="UNAUTHENTICATED"), connect(url, token) as made:
            rows(made, "SELECT 1")
    token = token_of(world, "read")
    given = {"username": "anybody", "password": token}
    with adbc.connect(url, db_kwargs=given, autocommit=True) as made:
        assert rows(made, "SELECT count(*) FROM reports") == [(10,)]
    with world.ledger.transaction() as tx:
        (row,) = api_tokens.every(tx)
        api_tokens.revoke(tx, row.id)
    with pytest.raises(Error, match="UNAUTHENTICATED"), connect(url, token) as made:
        rows(made, "SELECT 1")


def test_an_environment_is_a_catalogue_for_whoever_may_see_it(url: str, world: World) -> None:
    with world.ledger.transaction() as tx:
        environments.ensure(tx, "dev", "main")
        environments.ensure(tx, "closed", "main")
    with connect(url, token_of(world, "read", "main", "dev")) as made:
        found = made.adbc_get_objects(depth="catalogs").read_all().to_pylist()
        assert [each["catalog_name"] for each in found] == ["dev", "main"]
        assert rows(made, "SELECT count(*) FROM dev.ponds.reports") == [(10,)]
        with pytest.raises(Error, match="NO_SUCH_TABLE"):
            rows(made, "SELECT count(*) FROM closed.ponds.reports")
        with pytest.raises(Error, match="one at a time"):
            rows(made, "SELECT * FROM dev.ponds.reports, main.ponds.reports")
    with connect(url, token_of(world, "read", "main", "dev"), database="dev") as made:
        assert rows(made, "SELECT count(*) FROM reports") == [(10,)]
        with pytest.raises(Error, match="NO_SUCH_TABLE"):
            rows(made, "SELECT count(*) FROM memory.ponds.reports")
    refused = pytest.raises(Error, match="NO_ENVIRONMENT")
    with connect(url, token_of(world, "read", "main"), database="closed") as made, refused:
        rows(made, "SELECT 1")


def test_the_read_log_says_who(connection: adbc.Connection, world: World) -> None:
    rows(connection, "SELECT 1 FROM reports")
    with pytest.raises(Error):
        rows(connection, "SELECT nothing FROM orders")
    world.ledger.reads.flush()
    found = world.rows("SELECT pond, door, reader, count FROM reads")
    assert found == [{"pond": "reports@1", "door": "sql", "reader": "a read", "count": 1}]


def test_a_question_that_is_cancelled_ends(connection: adbc.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM range(100000000000)")
        assert cursor.fetchone() == (0,)
        cursor.adbc_cancel()
    slow = connection.cursor()
    began = threading.Event()
    ended: list[BaseException] = []

    def ask() -> None:
        began.set()
        try:
            slow.execute("SELECT sum(a.range * b.range) FROM range(10000000000) a, range(10000000) b")
            slow.fetchall()
        except Error as error:
            ended.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert began.wait(30)
    while thread.is_alive():
        slow.adbc_cancel()
        thread.join(0.05)
    assert ended
    slow.close()
    assert rows(connection, "SELECT count(*) FROM reports") == [(10,)], "there is room again"


def test_rows_stream(connection: adbc.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT range AS n FROM range(1000000)")
        reader = cursor.fetch_record_batch()
        assert sum(batch.num_rows for batch in reader) == 1_000_000


class Plain:
    """A client of Flight that says anything."""

    def __init__(self, url: str, token: str) -> None:
        self.client = flight.FlightClient(url.replace("grpc://", "grpc+tcp://"))
        self.options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())])

    def info(self, command: bytes) -> flight.FlightInfo:
        return self.client.get_flight_info(flight.FlightDescriptor.for_command(command), self.options)

    def read(self, command: bytes) -> Any:
        return self.client.do_get(self.info(command).endpoints[0].ticket, self.options).read_all()


@pytest.mark.parametrize("body", [b"", b"\xff", b"\x0a\x05abc", b"\x08" * 40, wire.packed("CommandNothing", {})])
def test_what_is_no_request_is_refused(url: str, world: World, body: bytes) -> None:
    plain = Plain(url, token_of(world, "read"))
    with pytest.raises(flight.FlightError, match=r"BAD_REQUEST|QUERY_REFUSED"):
        plain.info(body)
    with pytest.raises(flight.FlightError, match=r"BAD_REQUEST|QUERY_REFUSED"):
        plain.client.do_get(flight.Ticket(body), plain.options).read_all()
    with pytest.raises(flight.FlightError, match=r"BAD_REQUEST|QUERY_REFUSED"):
        list(plain.client.do_action(flight.Action("CreatePreparedStatement", body), plain.options))
    assert plain.read(wire.packed("CommandStatementQuery", {1: "SELECT 1 AS one"})).to_pylist() == [{"one": 1}]


def test_every_metadata_call_is_answered(url: str, world: World) -> None:
    plain = Plain(url, token_of(world, "read"))
    for name in ("GetCatalogs", "GetDbSchemas", "GetTableTypes", "GetXdbcTypeInfo", "GetSqlInfo", "GetTables"):
        command = wire.packed(f"Command{name}", {})
        found = plain.read(command)
        assert found.num_rows > 0, name
        assert found.schema == plain.info(command).schema
    for name in ("GetPrimaryKeys", "GetExportedKeys", "GetImportedKeys", "GetCrossReference"):
        assert plain.read(wire.packed(f"Command{name}", {3: "reports"})).num_rows == 0


def test_a_prepared_question_is_its_owners(url: str, world: World) -> None:
    mine, other = Plain(url, token_of(world, "read")), Plain(url, token_of(world, "read"))
    body = wire.packed("ActionCreatePreparedStatementRequest", {1: "SELECT count(*) AS c FROM reports"})
    (made,) = mine.client.do_action(flight.Action("CreatePreparedStatement", body), mine.options)
    _, fields = wire.unpacked(made.body.to_pybytes())
    command = wire.packed("CommandPreparedStatementQuery", {1: wire.octets(fields, 1)})
    assert mine.read(command).to_pylist() == [{"c": 10}]
    with pytest.raises(flight.FlightError, match="NO_STATEMENT"):
        other.read(command)
    closing = wire.packed("ActionClosePreparedStatementRequest", {1: wire.octets(fields, 1)})
    list(mine.client.do_action(flight.Action("ClosePreparedStatement", closing), mine.options))
    with pytest.raises(flight.FlightError, match="NO_STATEMENT"):
        mine.read(command)
