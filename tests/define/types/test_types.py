"""Types: how they are written, how two of them meet, and what a registry says about them."""

from __future__ import annotations

import itertools
import random

import pytest

from pondage.define.types.type_json import from_spark_json, spark_json
from pondage.define.types.type_registry import BUILT_IN, TypeEntry, structures_of, unknown_names
from pondage.define.types.types import Type, TypeSyntax, is_concrete, is_ordered, parse_type, resolved
from pondage.define.types.unify import Bindings, Mismatch, joined, unify

STRUCTURES = structures_of(
    {"Order@2": TypeEntry(name="Order", version="2.1.0", definition="{id: bigint, who: string}")}
)
VARIABLES = {"R": "row", "T": "type"}


def met(got: str, want: str, accept: str = "exact") -> Bindings:
    bindings: Bindings = {}
    unify(parse_type(got), parse_type(want, VARIABLES), bindings, accept=accept, structures=STRUCTURES)
    return bindings


@pytest.mark.parametrize(
    ("got", "want", "accept", "difference"),
    [
        ("Order@2", "Order@2.3", "exact", ""),
        ("Order@2", "Order", "exact", ""),
        ("Order@2", "Order@3", "exact", "type: Order@2 and Order@3 are of different major versions"),
        ("Order@2", "Customer@2", "exact", "type: Order@2 is not Customer@2"),
        ("Table<Order@2>", "Table<{id: bigint | R}>", "exact", ""),
        ("Table<{id: bigint, who: string}>", "Table<Order@2>", "exact",
         "type: {id: bigint, who: string} is not Order@2"),
        ("Result<{a: int}>", "{ok: {a: int}, err: {code: string, message: string, detail: string}}", "exact", ""),
        ("{ok: int, err: {code: string, message: string, detail: string}}", "Result<int>", "exact",
         "type: {ok: int, err: {code: string, message: string, detail: string}} is not Result<int>"),
        ("Result<int>", "Result<T>", "exact", ""),
        ("Bytes<text/csv>", "Bytes<text/csv>", "exact", ""),
        ("Bytes<text/csv>", "Bytes<image/png>", "exact", "type: text/csv is not image/png"),
        ("Bytes<text/csv>", "Bytes<Any>", "exact", ""),
        ("Value<int>", "Table<R>", "exact", "type: Value<int> is not Table<R>"),
        ("Value<int>", "Value<R>", "exact", "type: int is no row, as R must be"),
        ("{a: int}", "{a: decimal(10,0)}", "upcast", ""),
        ("{a: bigint}", "{a: decimal(10,0)}", "upcast", "a: bigint is not decimal(10,0)"),
        ("{a: decimal(10,2)}", "{a: decimal(12,3)}", "upcast", ""),
        ("{a: decimal(10,2)}", "{a: decimal(12,1)}", "upcast", "a: decimal(10,2) is not decimal(12,1)"),
        ("{a: int}", "{a: smallint}", "upcast", "a: int is not smallint"),
        ("{a: bigint}", "{a: double}", "upcast", "a: bigint is not double"),
        ("{a: void}", "{a: string}", "upcast", ""),
        ("{a: array<int>}", "{a: array<bigint>}", "upcast", ""),
        ("{a: {b: int}}", "{a: {b: string, c: int}}", "exact", "a.b: int is not string; a.c: the column is missing"),
        ("{a: int}", "{a: int, b: int not null}", "subset", "b: the column is missing"),
        ("{a: int, b: int}", "{}", "exact", "row: the columns a, b are too many"),
    ],
)  # fmt: skip
def test_how_two_types_meet(got: str, want: str, accept: str, difference: str) -> None:
    try:
        met(got, want, accept)
        found = ""
    except Mismatch as error:
        found = str(error)
    assert found == difference


def test_a_variable_takes_what_all_inputs_can_give_in_any_order() -> None:
    inputs = ["{a: int not null, b: string}", "{a: int, b: string not null}", "{a: int not null, b: string not null}"]
    for order in itertools.permutations(inputs):
        bindings: Bindings = {}
        for one in order:
            unify(parse_type(f"Table<{one}>"), parse_type("Table<R>", VARIABLES), bindings)
        assert str(bindings["R"]) == "{a: int, b: string}"


def test_what_meets_something_unknown_is_unknown_in_any_order() -> None:
    for order in itertools.permutations(["Table<{id: bigint, a: int}>", "Table<Any>"]):
        bindings: Bindings = {}
        for one in order:
            unify(parse_type(one), parse_type("Table<{id: bigint | R}>", VARIABLES), bindings)
        assert not is_concrete(resolved(parse_type("Table<{id: bigint | R}>", VARIABLES), bindings))


def test_two_inputs_cannot_bind_one_variable_to_different_rows() -> None:
    bindings: Bindings = {}
    unify(parse_type("Table<{a: int}>"), parse_type("Table<R>", VARIABLES), bindings)
    with pytest.raises(Mismatch, match=r"R is \{a: int\} and also \{a: string\}"):
        unify(parse_type("Table<{a: string}>"), parse_type("Table<R>", VARIABLES), bindings)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("Table<int>", 1), ("Table", 1), ("array<Table<{a: int}>>", 7), ("{a: Stream<{}>}", 4), ("Bytes<int>", 1),
        ("decimal(39,1)", 9), ("decimal(5,6)", 9), ("{a: int | R}", 10), ("int@2", 1), ("Order@1.2.3.4", 1),
        ("decimal(" + "9" * 5000 + ",1)", 18), ("text/csv", 5), ("{``: int}", 2), ("Оrder", 1), ("{`a\x00`: int}", 2),
        ("os.system('x')", 10), ("Table<{a: int}, ordered: true>", 24), ("Stream<{a: int}, ordered>", 25),
        ("Stream<{a: int}, ordered: yes>", 26), ("Stream<{_seq: int}, ordered: true>", 1),
        ("Stream<{}, sorted: true>", 11),
    ],
)  # fmt: skip
def test_a_text_that_is_no_type_is_refused_where_it_is_wrong(text: str, column: int) -> None:
    with pytest.raises(TypeSyntax) as caught:
        parse_type(text)
    assert caught.value.column == column


def random_type(dice: random.Random, depth: int) -> str:
    if depth == 0 or dice.random() < 0.4:
        return dice.choice(["int", "bigint", "string", "date", "binary", "decimal(7,2)", "timestamp_ntz", "boolean"])
    if dice.random() < 0.3:
        return f"array<{random_type(dice, depth - 1)}>"
    if dice.random() < 0.3:
        return f"map<string, {random_type(dice, depth - 1)}>"
    names = dice.sample(["a", "b", "order id", "größe", "select", "1st", "_seq", "a``, ``b"], dice.randint(1, 4))
    null = ["", " not null"]
    return "{" + ", ".join(f"`{name}`: {random_type(dice, depth - 1)}{dice.choice(null)}" for name in names) + "}"


def test_types_survive_being_written_and_being_sparks_json() -> None:
    for seed in range(500):
        found = parse_type(random_type(random.Random(seed), 4))
        assert parse_type(str(found)) == found, seed
        assert from_spark_json(spark_json(found)) == found, seed
        unify(found, found, {})


def test_a_stream_may_be_ordered_and_only_then_meets_whoever_wants_it_so() -> None:
    ordered, plain = parse_type("Stream<{a: int},  ordered :true>"), parse_type("Stream<{a: int}, ordered: false>")
    assert (str(ordered), str(plain)) == ("Stream<{a: int}, ordered: true>", "Stream<{a: int}>")
    assert parse_type(str(ordered)) == ordered
    for want in ("Stream<{a: int}>", "Table<{a: int}>", "Stream<R, ordered: true>", "Any"):
        unify(ordered, parse_type(want, {"R": "row"}), {})
    for got in (plain, parse_type("Table<{a: int}>")):
        with pytest.raises(Mismatch, match="no order, and are wanted ordered"):
            unify(got, ordered, {})
    assert resolved(parse_type("Stream<R, ordered: true>", {"R": "row"}), {"R": parse_type("{a: int}")}) == ordered
    assert joined(ordered, plain) == plain
    texts = (str(ordered), str(plain), "Stream<{a: `x`}, ordered: true>", "Table<{}>", "{ordered: true}")
    assert [is_ordered(text) for text in texts] == [True, False, True, False, False]


def test_a_result_is_a_row_of_a_value_and_an_error_for_spark() -> None:
    found = from_spark_json(spark_json(parse_type("{r: Result<Order@2>}"), STRUCTURES))
    assert str(found) == ("{r: {ok: {id: bigint, who: string}, err: {code: string, message: string, detail: string}}}")
    with pytest.raises(TypeSyntax):
        spark_json(parse_type("Table<{a: int}>"))


def test_every_type_of_the_grammar_is_documented_with_its_serialisation() -> None:
    for name, entry in BUILT_IN.items():
        assert entry.doc, name
        assert entry.serialisation, name
    for text in ("Table<{a: int}>", "Value<map<string, array<date>>>", "Bytes<a/b>", "Result<double>", "Stream<Any>"):
        heads = [one.head for one in _heads(parse_type(text)) if one.head not in ("row", "a/b")]
        assert set(heads) <= BUILT_IN.keys()


def _heads(given: Type) -> list[Type]:
    inner = [*given.arguments, *(field.type for field in given.fields)]
    return [given, *(found for one in inner for found in _heads(one))]


def test_names_that_nobody_explains_are_found() -> None:
    known = {"Order@2": TypeEntry(name="Order", version="2.1.0", definition="{id: bigint}")}
    assert unknown_names("Table<{a: Order@2, b: Order, c: Order@1, d: Other}>", known) == ["Order@1", "Other"]
    assert unknown_names("Bytes<text/csv>", known) == []
