"""Reading without a worker: the embedded engine, handles, and tables as files; near, and through a server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

import pondage
from pondage.embedded.apart import Apart
from pondage.errors import PondageError
from pondage.ledger.ledger import Ledger
from pondage.ledger.upkeep import retention
from pondage.server.call import Service
from pondage.server.serving import ServeOptions, bound, serving
from tests.cli.conftest import Call
from tests.ledger.harness import World
from tests.operations.published import publish
from tests.server.conftest import token_of


class Server:
    """A server on the ledger of a project, and a token for it."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token

    @property
    def options(self) -> list[str]:
        return ["--server", self.url, "--token", self.token]


@pytest.fixture
def shop(world: World, project: Path) -> World:
    world.clock.time = time.time_ns() // 1_000 - 3_600_000_000
    publish(world, project, "reports")
    return world


@pytest.fixture
def server(shop: World, project: Path) -> Iterator[Server]:
    ledger = Ledger.open(f"sqlite:///{project}/.pondage/ledger.db")
    engine = Apart(at_once=2)
    service = Service(ledger=ledger, environment="main", warehouse=project / "warehouse", engine=engine)
    options = ServeOptions(port=0)
    try:
        with bound(options) as listening, serving(service, options, listening):
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            yield Server(url, token_of(shop, "demand"))
    finally:
        engine.close()
        ledger.close()


@pytest.fixture(params=["near", "far"])
def where(request: pytest.FixtureRequest) -> list[str]:
    """Here, and through a server."""
    if request.param == "near":
        request.getfixturevalue("shop")
        return []
    options: list[str] = request.getfixturevalue("server").options
    return options


def log(world: World) -> list[tuple[object, ...]]:
    world.ledger.reads.flush()
    return [tuple(row.values()) for row in world.rows("SELECT pond, door, count FROM reads ORDER BY pond, door")]


def test_a_question_is_answered_without_a_worker(where: list[str], call: Call) -> None:
    sql = 'SELECT s.n, s.name, s.amount, s.at, o.name FROM "sales.clean" s JOIN orders o USING (n) WHERE n = 3'
    said = call("query", "--engine", "duckdb", sql, "--json", *where)
    assert said.code == 0, said.err
    assert said.json["rows"] == [[3, "clean 3", "0.75", "2026-05-04T09:00:00Z", "orders 3"]]
    assert said.json["columns"] == ["n", "name", "amount", "at", "name"]
    assert "starting workers" not in said.err
    text = call("query", "--engine", "duckdb", "SELECT n FROM reports ORDER BY n", "-n", "2", *where)
    assert text.code == 0, text.err
    assert "2 rows, and there are more" in text.out


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM '/etc/passwd'", "NO_SUCH_TABLE"),
        ("SELECT * FROM read_text('/etc/passwd')", "QUERY_REFUSED"),
        ("DROP VIEW reports", "QUERY_REFUSED"),
        ("SELECT nothing FROM reports", "BAD_SQL"),
        ("SELECT * FROM report", "NO_SUCH_TABLE"),
    ],
)
def test_what_is_refused_says_so(where: list[str], call: Call, sql: str, code: str) -> None:
    said = call("query", "--engine", "duckdb", sql, "--json", *where)
    assert said.code == 1
    assert json.loads(said.out or said.err)["error"]["code"] == code


def test_the_past_is_read_too(shop: World, project: Path, call: Call) -> None:
    publish(shop, project, "reports", rows=3)
    count = "SELECT count(*) AS c FROM reports"
    assert call("query", "--engine", "duckdb", count, "--json").json["rows"] == [[3]]
    assert call("query", "--engine", "duckdb", count, "--json", "--as-of", "reports#1").json["rows"] == [[10]]


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.json"])
def test_a_table_becomes_a_file(where: list[str], call: Call, project: Path, name: str) -> None:
    file = project / name
    file.write_text("old")
    said = call("read", "sales.clean", "-o", str(file), *where)
    assert said.code == 0, said.err
    assert said.out == f"{file}: 10 rows of sales.clean\n"
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT n, name, amount::DECIMAL(10, 2) FROM '{file}' ORDER BY n").fetchall()
    assert rows[3] == (3, "clean 3", Decimal("0.75"))
    assert len(rows) == 10
    assert sorted(each.name for each in project.iterdir() if each.name.startswith(".out")) == []


def test_a_file_that_cannot_be_whole_is_left_as_it_was(shop: World, call: Call, project: Path) -> None:
    file = project / "out.parquet"
    file.write_text("old")
    for part in (project / "warehouse").glob("*/*.parquet"):
        part.unlink()
    said = call("read", "reports", "-o", str(file))
    assert said.code == 1
    assert "its files are gone" in said.err
    assert file.read_text() == "old"
    assert "does not say its format" in call("read", "reports", "-o", str(project / "out.xyz")).err
    assert "there is no table" in call("read", "report", "-o", str(file)).err


def test_a_handle_gives_rows_in_every_form(where: list[str], shop: World) -> None:
    given = {} if not where else {"server": where[1], "token": where[3]}
    table = pondage.read("reports", **given)
    arrow = table.arrow()
    assert arrow.num_rows == 10
    assert arrow.column("at")[0].as_py() == datetime(2026, 5, 4, 6, tzinfo=UTC)
    assert list(table.pandas()["n"]) == list(range(10))
    with duckdb.connect() as connection:
        assert table.duckdb(connection).aggregate("sum(n)").fetchall() == [(45,)]
    files = table.files(hold="2h")
    assert [pq.read_table(each.removeprefix("file:")).num_rows for each in files] == [10]
    with pytest.raises(PondageError) as refused:
        pondage.read("report", **given).arrow()
    assert refused.value.code == "NO_SUCH_TABLE"


def test_a_handle_reads_the_past(shop: World, project: Path) -> None:
    publish(shop, project, "reports", rows=3)
    assert pondage.read("reports").arrow().num_rows == 3
    assert pondage.read("reports", as_of="reports#1").arrow().num_rows == 10
    with pytest.raises(PondageError, match="no completed Run of that time"):
        pondage.read("reports", as_of=datetime(2020, 1, 1, tzinfo=UTC)).arrow()


def test_files_that_are_held_stay(shop: World) -> None:
    pondage.read("sales.clean").files(hold="1h")
    with shop.ledger.reading() as tx:
        (snapshot,) = tx.rows(
            "SELECT s.id FROM snapshots s JOIN datasets d ON d.id = s.dataset WHERE d.ripple = 'clean'", int
        )
        tx.now = time.time_ns() // 1_000
        assert snapshot in retention.being_read(tx)
        tx.now += 3_600_000_000
        assert snapshot not in retention.being_read(tx)


def test_every_door_writes_the_log(where: list[str], shop: World, call: Call, project: Path) -> None:
    given = {} if not where else {"server": where[1], "token": where[3]}
    call("query", "--engine", "duckdb", "SELECT 1 FROM reports", *where)
    call("query", "--engine", "duckdb", "SELECT nothing FROM orders", *where)
    call("read", "reports", "-o", str(project / "x.csv"), *where)
    pondage.read("sales", **given).arrow()
    pondage.read("sales.clean", **given).files()
    said = call("readers", "--json")
    if where:
        time_out = time.monotonic() + 60
        while said.json["ponds"] == [] or sum(each["reads"] for each in said.json["ponds"]) < 4:  # type: ignore[attr-defined]
            assert time.monotonic() < time_out
            said = call("readers", "--json")
    found = {(row["pond"], row["door"], row["count"]) for row in said.json["reads"]}  # type: ignore[attr-defined]
    assert found == {("reports@1", "query", 1), ("reports@1", "read", 1), ("sales@1", "read", 2)}


def test_a_token_of_level_read_reads_and_asks_no_worker(server: Server, shop: World, call: Call, project: Path) -> None:
    server.token = token_of(shop, "read")
    assert call("read", "reports", "-o", str(project / "x.csv"), *server.options).code == 0
    assert "needs the level demand" in call("query", "SELECT 1", *server.options).err


def test_without_the_extra_it_says_what_to_install(shop: World, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    said = call("query", "--engine", "duckdb", "SELECT 1 FROM reports")
    assert said.code == 1
    assert "pip install 'pondage[sql]'" in said.err
