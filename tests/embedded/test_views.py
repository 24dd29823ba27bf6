"""Views: the rows that Spark reads of the same files, with its types."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from pondage.embedded.engine import answered
from pondage.embedded.question import TableFiles
from pondage.embedded.views import columns_of, duckdb_type
from pondage.errors import PondageError
from tests.embedded.tables import question, schema, written

STRUCT = {"type": "struct", "fields": [{"name": "a b", "type": "integer", "nullable": True, "metadata": {}}]}
ARRAY = {"type": "array", "elementType": "string", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}


def rows(root: Path, sql: str, *tables: TableFiles) -> list[dict[str, object]]:
    with answered(question(root, sql, *tables)) as answer:
        return [row for batch in answer for row in batch.to_pylist()]


def test_every_type_is_read_as_it_is(tmp_path: Path) -> None:
    file = written(
        tmp_path / "t.parquet",
        """SELECT 1::TINYINT AS b, 2::SMALLINT AS s, 3::INTEGER AS i, 4::BIGINT AS l, 1.5::FLOAT AS f, 2.5::DOUBLE AS d,
           true AS o, 'x' AS t, '\\xAA'::BLOB AS y, DATE '2026-05-04' AS a, TIMESTAMPTZ '2026-05-04 06:00:00+00' AS m,
           TIMESTAMP '2026-05-04 06:00:00' AS n, 12.34::DECIMAL(10, 2) AS c, ['p', NULL] AS r,
           {'a b': 7} AS u, MAP {'k': 0.5::DOUBLE} AS p""",
    )
    kinds = {
        "b": "byte", "s": "short", "i": "integer", "l": "long", "f": "float", "d": "double", "o": "boolean",
        "t": "string", "y": "binary", "a": "date", "m": "timestamp", "n": "timestamp_ntz", "c": "decimal(10,2)",
        "r": ARRAY, "u": STRUCT, "p": MAP,
    }  # fmt: skip
    (row,) = rows(tmp_path, "SELECT * FROM t", TableFiles(name="t", schema=schema(**kinds), files=(file,)))
    assert row == {
        "b": 1, "s": 2, "i": 3, "l": 4, "f": 1.5, "d": 2.5, "o": True, "t": "x", "y": b"\xaa", "a": date(2026, 5, 4),
        "m": datetime(2026, 5, 4, 6, tzinfo=UTC), "n": datetime(2026, 5, 4, 6), "c": Decimal("12.34"),  # noqa: DTZ001
        "r": ["p", None], "u": {"a b": 7}, "p": [("k", 0.5)],
    }  # fmt: skip


def test_files_of_a_table_that_has_grown_fit_its_schema(tmp_path: Path) -> None:
    old = written(tmp_path / "old.parquet", "SELECT 1::INTEGER AS n, 'gone' AS other")
    new = written(tmp_path / "day=2026" / "new.parquet", "SELECT 2::BIGINT AS N, 'x' AS word")
    table = TableFiles(name="t", schema=schema(n="long", word="string", never="date"), files=(old, new))
    found = rows(tmp_path, "SELECT * FROM t ORDER BY n", table)
    assert found == [{"n": 1, "word": None, "never": None}, {"n": 2, "word": "x", "never": None}]


def test_a_table_without_files_has_its_columns(tmp_path: Path) -> None:
    table = TableFiles(name="t", schema=schema(n="long", u=STRUCT), files=())
    assert rows(tmp_path, "SELECT count(n) AS c, count(*) AS r FROM t", table) == [{"c": 0, "r": 0}]


@pytest.mark.parametrize("name", ["o'hara", 'q"uote', "star*[x]?", "semi;colon", "space $x"])
def test_names_of_files_and_columns_mean_nothing(tmp_path: Path, name: str) -> None:
    file = written(tmp_path / "plain.parquet", "SELECT 1 AS n")
    strange = tmp_path / f"{name}.parquet"
    Path(file).rename(strange)
    table = TableFiles(name=f"sales.{name}", schema=schema(**{"n": "long", name: "string"}), files=(str(strange),))
    quoted = f"sales.{name}".replace('"', '""')
    assert rows(tmp_path, f'SELECT * FROM "{quoted}"', table) == [{"n": 1, name: None}]


def test_majors_and_ripples_are_one_name(tmp_path: Path) -> None:
    file = written(tmp_path / "a.parquet", "SELECT 1 AS n")
    tables = [
        TableFiles(name=name, schema=schema(n="long"), files=(file,)) for name in ("s", "s@1", "s.clean", "s@1.clean")
    ]
    for name in ("s@1", "s.clean", "s@1.clean"):
        assert rows(tmp_path, f'SELECT * FROM main.ponds."{name}"', *tables) == [{"n": 1}]
    with pytest.raises(PondageError) as refused:
        rows(tmp_path, "SELECT * FROM s.clean", *tables)
    assert refused.value.code == "NO_SUCH_TABLE"


def test_columns_may_be_named_in_full(tmp_path: Path) -> None:
    file = written(tmp_path / "a.parquet", "SELECT 1 AS n, 0.1::DECIMAL(3,1) AS d")
    table = TableFiles(name="s", schema=schema(n="long", d="decimal(3,1)"), files=(file,))
    name = '"main"."ponds"."s"'
    sql = f'SELECT {name}."n", 1.10 AS x, 18446744073709551615 AS y FROM {name} WHERE {name}.d < 0.25'
    assert rows(tmp_path, sql, table) == [{"n": 1, "x": Decimal("1.10"), "y": 18446744073709551615}]


def test_files_elsewhere_are_for_spark(tmp_path: Path) -> None:
    table = TableFiles(name="t", schema=schema(n="long"), files=("s3a://bucket/x.parquet",))
    with pytest.raises(PondageError) as refused:
        rows(tmp_path, "SELECT * FROM t", table)
    assert refused.value.code == "NOT_LOCAL"


def test_files_that_are_gone_are_said_to_be(tmp_path: Path) -> None:
    table = TableFiles(name="t", schema=schema(n="long"), files=(str(tmp_path / "gone.parquet"),))
    with pytest.raises(PondageError) as refused:
        rows(tmp_path, "SELECT * FROM t", table)
    assert refused.value.code == "FILES_GONE"
    assert str(tmp_path) not in refused.value.message


def test_parameters_are_values(tmp_path: Path) -> None:
    asked = question(tmp_path, "SELECT n FROM sales WHERE name = ? AND n < ?")
    import msgspec

    with answered(msgspec.structs.replace(asked, parameters=("row 3", 5))) as answer:
        assert [row for batch in answer for row in batch.to_pylist()] == [{"n": 3}]


def test_comments_come_with_the_columns() -> None:
    told = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{"comment":"how many"}}]}'
    assert [(each.name, each.type, each.comment) for each in columns_of(told)] == [("n", "BIGINT", "how many")]
    assert duckdb_type("variant") is None
