"""Declaring Ponds: what an author writes becomes plain values, or an error with a place and a hint."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pondage import Pond, Retries, Schedule, Source, Window, check, daily, in_set, not_null, pond, rows
from pondage.define.pond.definition import ReadDefinition, SourceDefinition
from pondage.define.pond.ripple import SqlInputs
from pondage.errors import DefinitionError

DataFrame = Any


def refusal(declare: Any) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        declare()
    assert caught.value.hint, "every refusal says what to write instead"
    assert caught.value.place is not None
    assert "test_pond.py:" in caught.value.place
    return caught.value


def test_one_function_is_a_pond_with_one_ripple_of_the_same_name():
    @pond(version="2.1.0", expect=[not_null("order_id"), rows(min=1)], tide="1h", owner="sales-data")
    def sales(orders: DataFrame, fx: DataFrame | None = None) -> DataFrame:
        """Sales without doubles."""
        return [orders, fx]

    definition = sales.definition("ponds.sales:sales", digests={"sales": "d1"})
    ripple = definition.ripple("sales")
    assert (definition.name, definition.version, definition.major) == ("sales", "2.1.0", 2)
    assert definition.description == "Sales without doubles."
    assert definition.sources == (SourceDefinition(pond="orders"), SourceDefinition(pond="fx", required=False))
    assert ripple.reads == (
        ReadDefinition(parameter="orders", ripple="orders", pond="orders"),
        ReadDefinition(parameter="fx", ripple="fx", pond="fx", optional=True),
    )
    assert [each.name for each in ripple.expectations] == ["not_null(order_id)", "rows(1..)"]
    assert definition.triggers.tides[0].limit_us == 3_600_000_000
    assert ripple.digest == "d1"


def test_the_decorated_name_can_still_be_called_like_the_function():
    @pond
    def doubled(number: int) -> int:
        return number * 2

    assert doubled(21) == 42
    assert doubled(number=21) == 42


def test_spark_and_run_are_injected_and_make_no_source():
    @pond
    def orders(spark: Any, run: Any) -> Any: ...

    definition = orders.definition("m:orders")
    assert definition.sources == ()
    assert definition.ripple("orders").injects == ("spark", "run")


def test_a_parameter_with_a_default_of_its_own_belongs_to_the_author():
    @pond
    def orders(spark: Any, limit: int = 5) -> Any: ...

    assert orders.definition("m:orders").ripple("orders").reads == ()


def test_minimum_versions_are_given_by_name():
    @pond(sources={"fx": ">=1.2"})
    def sales(orders: Any, fx: Any = None) -> Any: ...

    assert sales.definition("m:s").sources[1] == SourceDefinition(pond="fx", minimum=(1, 2, 0), required=False)


def test_a_list_of_sources_may_say_which_columns_are_consumed():
    @pond(sources=[Source("orders", ">=1", columns=["id"])])
    def sales(orders: Any) -> Any: ...

    assert sales.definition("m:s").ripple("sales").reads[0].columns == ("id",)


def test_a_pond_of_one_function_may_read_a_ripple_of_another_name():
    @pond(reads={"totals": "sales.daily", "clean": "sales.clean"})
    def reports(totals: Any, clean: Any) -> Any: ...

    definition = reports.definition("m:r")
    assert definition.sources == (SourceDefinition(pond="sales"),)
    assert [(read.pond, read.ripple) for read in definition.ripples[0].reads] == [
        ("sales", "daily"),
        ("sales", "clean"),
    ]


def test_a_larger_pond_is_written_out():
    reports = Pond("reports", version="1.0.0", retries=Retries(immediately=1), timeout="10m", progress_lease="5m")
    source = reports.source("sales", ">=2.0")

    @reports.ripple(reads={"sales": source["sales"]}, parameters={"limit": 3})
    def clean(sales: Any) -> Any:
        return sales

    @reports.ripple(timeout="1m", progress_lease="30s", always=True)
    def daily_total(clean: Any) -> Any:
        return clean

    @reports.ripple(reads={"left": clean, "right": "daily_total"})
    def both(left: Any, right: Any) -> Any: ...

    reports.sql("by_country", "sql/by_country.sql")
    sql = SqlInputs(text="select * from clean, sales__raw", tables={"clean": "clean", "sales__raw": "sales.raw"})
    definition = reports.definition("m:reports", sql={"by_country": sql})
    assert clean("rows") == "rows", "a Ripple stays a plain function"
    assert definition.ripple("clean").reads[0].pond == "sales"
    assert definition.ripple("clean").parameters == {"limit": 3}
    assert definition.ripple("clean").timeout_s == 600
    assert definition.ripple("clean").progress_lease_s == 300
    assert definition.ripple("daily_total").parents == ("clean",)
    assert definition.ripple("daily_total").timeout_s == 60
    assert definition.ripple("daily_total").progress_lease_s == 30
    assert definition.ripple("both").parents == ("clean", "daily_total")
    assert definition.ripple("by_country").kind == "sql"
    assert [(read.parameter, read.pond, read.ripple) for read in definition.ripple("by_country").reads] == [
        ("clean", None, "clean"),
        ("sales__raw", "sales", "raw"),
    ]


def test_a_sibling_may_be_declared_later():
    shop = Pond("shop")

    @shop.ripple
    def second(first: Any) -> Any: ...

    @shop.ripple
    def first(spark: Any) -> Any: ...

    assert shop.definition("m:shop").ripple("second").parents == ("first",)


def test_a_ripple_that_reads_nothing_is_a_root_even_beside_sources():
    shop = Pond("shop")
    shop.source("orders")

    @shop.ripple
    def constant(spark: Any) -> Any: ...

    @shop.ripple
    def use(orders: Any, constant: Any) -> Any: ...

    assert shop.definition("m:shop").ripple("constant").reads == ()


def test_a_ripple_named_like_its_source_reads_the_source():
    reports = Pond("reports")
    reports.source("sales")

    @reports.ripple
    def sales(sales: Any) -> Any: ...

    assert reports.definition("m:r").ripple("sales").reads[0].pond == "sales"


def test_an_inlet_may_have_a_probe():
    @pond
    def orders(spark: Any) -> Any: ...

    @orders.probe
    def newest() -> int:
        return 7

    assert newest() == 7
    assert orders.definition("m:o").ripple("orders").has_probe
    assert orders.probe_of("orders") is newest


def test_an_inlet_with_several_roots_says_whose_probe_it_is():
    shop = Pond("shop")

    @shop.ripple
    def left(spark: Any) -> Any: ...

    @shop.ripple
    def right(spark: Any) -> Any: ...

    @shop.probe(ripple="left")
    def probe() -> int:
        return 1

    definition = shop.definition("m:shop")
    assert [ripple.has_probe for ripple in definition.ripples] == [True, False]

    @shop.probe
    def another() -> int:
        return 2

    assert refusal(lambda: shop.definition("m:shop")).code == "BAD_PROBE"


def test_standing_triggers_are_part_of_the_declaration():
    shop = Pond(
        "shop",
        wave=True,
        pacing="just_in_time",
        tide={"office": "15m", "night": "4h"},
        schedule=[Schedule("0 6 * * *", tz="Europe/Berlin"), Schedule("0 7 * * mon", name="weekly", catch_up="all")],
    )
    triggers = shop.settings.triggers
    assert triggers.wave
    assert triggers.pacing == "just_in_time"
    assert [(tide.name, tide.limit_us // 60_000_000) for tide in triggers.tides] == [("office", 15), ("night", 240)]
    assert [(each.name, each.catch_up) for each in triggers.schedules] == [("schedule", "latest"), ("weekly", "all")]


def _pond_of(function: Any, **settings: Any) -> Any:
    return pond(**settings)(function)


def _window_with_source() -> None:
    def sales(orders: Any) -> Any: ...

    _pond_of(sales, window=daily("02:00"))


def _window_then_source() -> None:
    Pond("sales", window=daily("02:00")).source("orders")


def _probe_on_a_sink() -> None:
    def sales(orders: Any) -> Any: ...

    _pond_of(sales).probe(lambda: 1)


def _probe_before_a_source() -> None:
    shop = Pond("shop")
    shop.probe(lambda: 1)
    shop.source("orders")


def _two_ripples_of_one_name() -> None:
    shop = Pond("shop")

    def raw(spark: Any) -> Any: ...

    shop.ripple(raw)
    shop.ripple(raw)


def _variable_arguments() -> None:
    def sales(*tables: Any) -> Any: ...

    _pond_of(sales)


def _optional_without_default() -> None:
    def sales(fx: DataFrame | None) -> Any: ...

    sales.__annotations__["fx"] = "DataFrame | None"
    _pond_of(sales)


def _default_without_optional() -> None:
    def sales(fx: DataFrame = None) -> Any: ...

    sales.__annotations__["fx"] = "DataFrame"
    _pond_of(sales)


def _unused_source() -> None:
    def sales(orders: Any) -> Any: ...

    _pond_of(sales, sources={"fx": ">=1"})


def _reads_without_parameter() -> None:
    def sales(orders: Any) -> Any: ...

    Pond("sales").ripple(reads={"fx": "fx.fx"})(sales)


def _same_source_twice() -> None:
    shop = Pond("shop")
    shop.source("orders")
    shop.source("orders")


def _source_of_itself() -> None:
    Pond("shop").source("shop")


def _bad_ripple_name() -> None:
    def Clean(spark: Any) -> Any: ...  # noqa: N802

    Pond("shop").ripple(Clean)


@pytest.mark.parametrize(
    ("declare", "code"),
    [
        (lambda: Pond("Sales"), "BAD_NAME"),
        (lambda: Pond("sales-data"), "BAD_NAME"),
        (lambda: Pond("x" * 64), "BAD_NAME"),
        (lambda: Pond("sales", version="2.1"), "BAD_VERSION"),
        (lambda: Pond("sales").source("fx", "about 2"), "BAD_VERSION"),
        (lambda: Pond("sales").source("fx", columns=[]), "BAD_COLUMNS"),
        (lambda: Pond("sales", tide="soon"), "BAD_DURATION"),
        (lambda: Pond("sales", tide="0s"), "BAD_DURATION"),
        (lambda: Pond("sales", timeout="5"), "BAD_DURATION"),
        (lambda: Pond("sales", mode="overwrite"), "BAD_SETTING"),  # type: ignore[arg-type]
        (lambda: Pond("sales", pacing="just_in_time"), "BAD_SETTING"),
        (lambda: Pond("sales", retries=Retries(immediately=-1)), "BAD_SETTING"),
        (lambda: Pond("sales", schedule=[Schedule("* * * * *"), Schedule("0 * * * *")]), "BAD_SETTING"),
        (lambda: Pond("sales", schedule="0 6 * * *"), "BAD_SETTING"),  # type: ignore[arg-type]
        (lambda: Pond("sales", window="02:00"), "BAD_SETTING"),  # type: ignore[arg-type]
        (lambda: Pond("sales", window=[Window("08:00", "12:00"), Window("11:00", "13:00")]), "WINDOWS_OVERLAP"),
        (lambda: Schedule("61 * * * *"), "BAD_SCHEDULE"),
        (lambda: Schedule("* * * *"), "BAD_SCHEDULE"),
        (lambda: Schedule("* * * * *", tz="Mars/Olympus"), "BAD_ZONE"),
        (lambda: rows(), "BAD_EXPECTATION"),
        (lambda: rows(min=5, max=1), "BAD_EXPECTATION"),
        (lambda: not_null(), "BAD_EXPECTATION"),
        (lambda: in_set("country", "DE"), "BAD_EXPECTATION"),
        (lambda: check("Name", lambda: None), "BAD_NAME"),  # type: ignore[arg-type,return-value]
        (lambda: check("name", lambda row: row), "BAD_EXPECTATION"),  # type: ignore[arg-type,misc]
        (_window_with_source, "WINDOW_WITH_SOURCES"),
        (_window_then_source, "WINDOW_WITH_SOURCES"),
        (_probe_on_a_sink, "PROBE_WITHOUT_INLET"),
        (_probe_before_a_source, "PROBE_WITHOUT_INLET"),
        (_two_ripples_of_one_name, "DUPLICATE_RIPPLE"),
        (_variable_arguments, "BAD_PARAMETER"),
        (_optional_without_default, "BAD_PARAMETER"),
        (_default_without_optional, "BAD_PARAMETER"),
        (_unused_source, "UNKNOWN_INPUT"),
        (_reads_without_parameter, "BAD_PARAMETER"),
        (_same_source_twice, "DUPLICATE_SOURCE"),
        (_source_of_itself, "CYCLE"),
        (_bad_ripple_name, "BAD_NAME"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_stands(declare: Any, code: str):
    assert refusal(declare).code == code


def test_an_unknown_parameter_names_the_nearest_known_one():
    shop = Pond("shop")
    shop.source("orders")

    @shop.ripple
    def clean(order: Any) -> Any: ...

    error = refusal(lambda: shop.definition("m:shop"))
    assert error.code == "UNKNOWN_INPUT"
    assert error.hint == "did you mean 'orders'?"


def test_ripples_that_wait_for_each_other_are_refused_with_the_path():
    shop = Pond("shop")

    @shop.ripple
    def one(three: Any) -> Any: ...

    @shop.ripple
    def two(one: Any) -> Any: ...

    @shop.ripple
    def three(two: Any) -> Any: ...

    error = refusal(lambda: shop.definition("m:shop"))
    assert error.code == "CYCLE"
    assert "one -> two -> three -> one" in error.message


def test_a_ripple_that_reads_itself_is_a_cycle():
    shop = Pond("shop")

    @shop.ripple
    def one(one: Any) -> Any: ...

    assert "one -> one" in refusal(lambda: shop.definition("m:shop")).message


def test_a_pond_without_ripples_is_refused():
    assert refusal(lambda: Pond("shop").definition("m:shop")).code == "NO_RIPPLES"


def test_a_check_keeps_the_authors_function_for_the_worker():
    def condition() -> Any: ...

    @pond(expect=[check("has_total", condition, severity="warn")])
    def orders(spark: Any) -> Any: ...

    assert orders.ripples["orders"].expectation("has_total").function is condition
    assert orders.definition("m:o").ripples[0].expectations[0].severity == "warn"


def test_importing_pondage_imports_nothing_heavy():
    script = (
        "import sys, pondage; heavy = {'pyspark', 'sqlite3', 'rich', 'click', 'sqlglot', 'pandas', 'pyarrow'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
