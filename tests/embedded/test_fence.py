"""The fence: hostile questions are refused or ended with a code, and the next question is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.embedded.engine import answered
from pondage.embedded.question import MEBIBYTE
from pondage.errors import PondageError
from tests.embedded import hostile
from tests.embedded.tables import question, rows_table, written

CODES = {"QUERY_REFUSED", "BAD_SQL", "NO_SUCH_TABLE"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fence")
    written(place / "secret.parquet", "SELECT 'secret' AS word")
    rows_table(place)
    (place / "scratch").mkdir()
    return place


def rows(root: Path, sql: str, **given: object) -> list[dict[str, object]]:
    with answered(question(root, sql, **given)) as answer:
        return [row for batch in answer for row in batch.to_pylist()]


def is_answered(root: Path) -> bool:
    return rows(root, "SELECT count(*) AS c, max(name) AS m FROM sales") == [{"c": 10, "m": "row 9"}]


def test_the_suite_is_as_long_as_it_says() -> None:
    assert len(set(hostile.refused("/x"))) + len(hostile.EXHAUSTING) >= 150


@pytest.mark.parametrize("number", range(len(list(hostile.refused("/x")))))
def test_whoever_asks_for_more_than_rows_is_refused(root: Path, number: int) -> None:
    sql = list(hostile.refused(str(root)))[number]
    before = sorted(each.name for each in root.iterdir())
    with pytest.raises(PondageError) as refused:
        rows(root, sql)
    assert refused.value.code in CODES, (sql[:200], refused.value.message)
    assert refused.value.hint
    assert "secret.parquet" not in refused.value.message or "secret.parquet" in sql
    assert sorted(each.name for each in root.iterdir()) == before
    assert is_answered(root)


@pytest.mark.parametrize("sql", hostile.EXHAUSTING)
def test_what_is_endless_or_boundless_is_ended(root: Path, sql: str) -> None:
    with pytest.raises(PondageError) as ended:
        rows(root, sql, seconds=1.0, memory=128 * MEBIBYTE)
    assert ended.value.code in {"TIMEOUT", "QUERY_TOO_LARGE", "BAD_VALUE", "BAD_SQL"}, ended.value.message
    assert is_answered(root)


def test_nothing_is_left_in_the_scratch_directory(root: Path) -> None:
    assert is_answered(root)
    assert list((root / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "FROM sales",
        'SELECT * FROM "sales"',
        "SELECT * FROM ponds.sales",
        "SELECT * FROM main.ponds.sales s",
        "WITH x AS (SELECT * FROM sales), y AS (SELECT * FROM x) SELECT * FROM y",
        "WITH sales AS (SELECT 1) SELECT * FROM sales",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t",
        "SELECT (SELECT max(n) FROM sales) FROM range(3)",
        "VALUES (1), (2)",
        "SELECT * FROM sales UNION ALL BY NAME SELECT * FROM sales",
        "SELECT * FROM (VALUES (1)) v(a), unnest([1, 2]) u(b), generate_series(1, 3) g(c)",
        "SELECT list_transform([1, 2], lambda x: x + 1), strftime(TIMESTAMPTZ '2026-05-04', '%d')",
        "SELECT * FROM sales QUALIFY row_number() OVER (ORDER BY n DESC) = 1",
        "SELECT 'read_text(''/etc/passwd'')' AS word -- from read_text('/etc/passwd')",
        "SELECT name, count(*) FROM SALES GROUP BY ALL ORDER BY ALL LIMIT 3;",
    ],
)
def test_plain_questions_are_answered(root: Path, sql: str) -> None:
    assert rows(root, sql)


def test_an_answer_is_cut_at_its_rows_and_says_so(root: Path) -> None:
    with answered(question(root, "SELECT * FROM range(1000000)", rows=5)) as answer:
        assert sum(batch.num_rows for batch in answer) == 5
        assert answer.is_cut
    with answered(question(root, "SELECT * FROM range(5)", rows=5)) as answer:
        assert sum(batch.num_rows for batch in answer) == 5
        assert not answer.is_cut
    with pytest.raises(PondageError, match="larger than") as refused:
        rows(root, "SELECT * FROM range(10000000)", rows=None, size=MEBIBYTE, when_full="refuse")
    assert refused.value.code == "ANSWER_TOO_LARGE"


def test_a_variable_of_the_program_is_no_table(root: Path) -> None:
    import pyarrow as pa

    loot = pa.table({"a": [1]})
    assert loot.num_rows == 1
    with pytest.raises(PondageError) as refused:
        rows(root, "SELECT * FROM loot")
    assert refused.value.code == "NO_SUCH_TABLE"


def test_a_name_that_is_nearly_right_is_told(root: Path) -> None:
    with pytest.raises(PondageError) as refused:
        rows(root, "SELECT * FROM sale")
    assert refused.value.hint == 'did you mean "sales"?'
