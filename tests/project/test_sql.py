"""SQL Ripples: inputs by parsing, everything but one SELECT refused."""

from __future__ import annotations

import pytest

from pondage.errors import DefinitionError
from pondage.project.sql import normalised_sql, parsed_sql, tables_or_none, with_majors_quoted


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT * FROM clean", {"clean": "clean"}),
        ("SELECT * FROM Clean;", {"clean": "clean"}),
        ("SELECT * FROM sales.clean c JOIN fx USING (x)", {"sales__clean": "sales.clean", "fx": "fx"}),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a", {"b": "b"}),
        ("WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", {"orders": "orders"}),
        ("WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b", {}),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a", {"a": "a"}),
        ("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t", {}),
        ("SELECT * FROM range(10)", {}),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM deep)", {"deep": "deep"}),
        ("SELECT * FROM a UNION ALL SELECT * FROM b", {"a": "a", "b": "b"}),
        ("SELECT * FROM x LATERAL VIEW explode(y) z AS q", {"x": "x"}),
        ("SELECT 'from not_me' FROM me -- from nor_me", {"me": "me"}),
    ],
)
def test_inputs_are_found(text: str, tables: dict[str, str]):
    assert dict(parsed_sql(text, place="x.sql").tables) == tables


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1; SELECT 2",
        "DROP TABLE x",
        "CREATE TABLE x AS SELECT 1",
        "INSERT INTO x SELECT 1",
        "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE",
        "SET a = 1",
        "CACHE TABLE x",
        "SHOW TABLES",
        "SELECT * FROM parquet.`/etc/data`",
        "SELECT * FROM a.b.c",
        "SELECT * FROM IDENTIFIER('x')",
        "SELEC 1",
    ],
)
def test_anything_but_one_select_of_ripples_is_refused(text: str):
    with pytest.raises(DefinitionError) as caught:
        parsed_sql(text, place="x.sql")
    assert caught.value.code == "BAD_SQL"
    assert (caught.value.place or "").startswith("x.sql")


def test_a_ripple_of_a_source_becomes_a_view_and_the_rest_of_the_text_stays():
    text = "SELECT clean.a, sales.clean.b /* sales.clean */\nFROM `sales`.clean, sales.raw AS r"
    assert parsed_sql(text, place="x.sql").text == (
        "SELECT clean.a, clean.b /* sales.clean */\nFROM sales__clean AS clean, sales__raw AS r"
    )
    assert parsed_sql(text, place="x.sql").source == text


def test_comments_and_line_breaks_do_not_count():
    assert normalised_sql("select a\n from b -- why") == normalised_sql("SELECT a FROM b")
    assert normalised_sql("select a from b") != normalised_sql("select a from c")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("select * from by_kind@1", "select * from `by_kind@1`"),
        ("select * from by_kind@12.clean c, board", "select * from `by_kind@12`.clean c, board"),
        ("select by_kind@1.n from BY_KIND@1", "select `by_kind@1`.n from `BY_KIND@1`"),
        ("from `by_kind@1` where a = 'by_kind@1'", "from `by_kind@1` where a = 'by_kind@1'"),
        ('select "by_kind@1" -- by_kind@1', 'select "by_kind@1" -- by_kind@1'),
        ("select 1 /* by_kind@1 */ from by_kind@2", "select 1 /* by_kind@1 */ from `by_kind@2`"),
        ("select r'it\\' from x@1", "select r'it\\' from `x@1`"),
        ("from by_kind @1", "from by_kind @1"),
        ("from by_kind@1e3", "from by_kind@1e3"),
        ("from by_kind@v1", "from by_kind@v1"),
        ("select 'never ended", "select 'never ended"),
    ],
)
def test_a_major_is_quoted_where_it_is_a_name_and_nowhere_else(text: str, quoted: str) -> None:
    assert with_majors_quoted(text) == quoted


def test_a_question_says_which_majors_it_reads() -> None:
    assert tables_or_none("select * from `by_kind@1` join `By_Kind@2`.clean join board") == {
        "by_kind@1",
        "by_kind@2",
        "board",
    }


HOSTILE = [
    "select " + "date(" * 13 + "1" + ")" * 13,
    "select 1" + (",decimal(" + "struct(" * 7 + "1" + ")" * 8) * 60,
    "select cast(1 as " + "array<" * 90 + "int" + ">" * 90 + ")",
    "select 1" + " union select 1" * 2_000,
    "select " + "(" * 3_000 + "1" + ")" * 3_000,
    "select * from " + "t join " * 1_500 + "t",
    "select " + "not " * 4_000 + "true",
    "select " + "map(" * 8 + "1, 1" + ")" * 8,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:24])
def test_what_is_not_parsed_soon_or_not_at_all_is_left_to_spark_s_own_parser(text: str) -> None:
    """Of `date(date(date(…`, 20 deep, the parser of a server had for a minute to do, and twice that 21 deep."""
    assert tables_or_none(text) is None


def test_a_long_question_that_somebody_means_is_parsed() -> None:
    columns = ", ".join(f"round(sum(if(coalesce(a{n}, 0) > 1, cast(b as decimal(10, 2)), 0)), 2)" for n in range(99))
    assert tables_or_none(f"select {columns} from sales where " + "(" * 9 + "x" + ")" * 9) == {"sales"}


def test_a_sql_ripple_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(DefinitionError, match="nested too deeply") as refused:
        parsed_sql("select " + "not " * 4_000 + "true", place="ponds.py:1")
    assert refused.value.code == "BAD_SQL"


def test_a_sql_ripple_names_no_major() -> None:
    with pytest.raises(DefinitionError, match="is not a Ripple"):
        parsed_sql("select * from `by_kind@1`.clean", place="ponds.py:1")
