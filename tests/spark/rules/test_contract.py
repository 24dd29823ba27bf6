from __future__ import annotations

import json
from typing import Any

import pytest

from pondage.define.pond.contract import ContractBroken, check_contract, require_contract


def schema(*fields: tuple[str, Any]) -> str:
    return json.dumps(struct(*fields))


def struct(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields],
    }


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("integer", "integer"),
        ("byte", "short"),
        ("byte", "long"),
        ("short", "integer"),
        ("integer", "long"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(12,2)"),
        (array("integer"), array("long")),
        (map_of("string", "float"), map_of("string", "double")),
        (struct(("x", "integer")), struct(("x", "long"), ("y", "string"))),
        (array(struct(("x", "integer"))), array(struct(("y", "date"), ("x", "integer")))),
    ],
)
def test_a_table_may_grow(before: Any, after: Any) -> None:
    assert check_contract(schema(("a", before)), schema(("new", "string"), ("a", after))) == []


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ("long", "integer", "column a changed from bigint to int"),
        ("double", "float", "column a changed from double to float"),
        ("integer", "double", "column a changed from int to double"),
        ("integer", "string", "column a changed from int to string"),
        ("timestamp", "timestamp_ntz", "column a changed from timestamp to timestamp_ntz"),
        ("decimal(12,2)", "decimal(10,2)", "column a changed from decimal(12,2) to decimal(10,2)"),
        ("decimal(10,2)", "decimal(12,3)", "column a changed from decimal(10,2) to decimal(12,3)"),
        ("integer", array("integer"), "column a changed from int to array<int>"),
        (array("long"), array("integer"), "the elements of column a changed from bigint to int"),
        (map_of("string", "long"), map_of("string", "date"), "the values of column a changed from bigint to date"),
        (map_of("long", "date"), map_of("string", "date"), "the keys of column a changed from bigint to string"),
        (struct(("x", "long")), struct(("y", "long")), "field a.x (bigint) was removed"),
        (struct(("x", struct(("y", "long")))), struct(("x", struct(("y", "byte")))),
         "field a.x.y changed from bigint to tinyint"),
    ],
)  # fmt: skip
def test_a_table_may_not_shrink(before: Any, after: Any, difference: str) -> None:
    assert check_contract(schema(("a", before)), schema(("a", after))) == [difference]


def test_a_removed_and_a_renamed_column_are_told_apart() -> None:
    assert check_contract(schema(("a", "long"), ("B", "date")), schema(("b", "date"))) == [
        "column a (bigint) was removed",
        "column B was renamed to b",
    ]


def test_nullability_and_order_do_not_count() -> None:
    before = json.loads(schema(("a", "long"), ("b", "long")))
    after = json.loads(schema(("b", "long"), ("a", "long")))
    after["fields"][0]["nullable"] = False
    assert check_contract(json.dumps(before), json.dumps(after)) == []


def test_a_broken_contract_names_the_ripple_and_every_difference() -> None:
    with pytest.raises(ContractBroken, match=r"sales\.clean breaks .* a \(bigint\) was removed; column b \(date\)"):
        require_contract(schema(("a", "long"), ("b", "date")), schema(("c", "long")), where="sales.clean")
    require_contract(None, schema(("c", "long")), where="sales.clean")
