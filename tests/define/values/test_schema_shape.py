"""What a component says of its parameters is a JSON Schema, or its author is told where it is none."""

from typing import Any

import pytest

from pondage.components.registry import built_in
from pondage.define.job.component import component
from pondage.define.values.schema import violations
from pondage.define.values.schema_shape import DEEPEST, wrong_schema
from pondage.errors import DefinitionError


def nested(depth: int) -> dict[str, Any]:
    return {"items": nested(depth - 1)} if depth else {}


WRONG: list[tuple[Any, str]] = [
    ([], "$"),
    ({"type": 5}, "$.type"),
    ({"type": "text"}, "$.type"),
    ({"type": [{}]}, "$.type"),
    ({"type": []}, "$.type"),
    ({"enum": 1}, "$.enum"),
    ({"anyOf": {}}, "$.anyOf"),
    ({"oneOf": [1]}, "$.oneOf[0]"),
    ({"prefixItems": ["x"]}, "$.prefixItems[0]"),
    ({"properties": 1}, "$.properties"),
    ({"properties": {"a": {"properties": {"b": None}}}}, "$.properties.a.properties.b"),
    ({"required": "name"}, "$.required"),
    ({"required": [1]}, "$.required"),
    ({"items": 1}, "$.items"),
    ({"additionalProperties": "x"}, "$.additionalProperties"),
    ({"propertyNames": []}, "$.propertyNames"),
    ({"minimum": "1"}, "$.minimum"),
    ({"maximum": True}, "$.maximum"),
    ({"minLength": -1}, "$.minLength"),
    ({"maxItems": 1.5}, "$.maxItems"),
    ({"pattern": "("}, "$.pattern"),
    ({"pattern": "a{99999999999999999999}"}, "$.pattern"),
    ({"format": {}}, "$.format"),
    (nested(DEEPEST + 1), "$" + ".items" * (DEEPEST + 1)),
]
VALUES = (None, True, 1, 1.5, "x", [], ["x", 1], {}, {"a": {"b": 1}}, {"a": 1})


@pytest.mark.parametrize(("schema", "place"), WRONG)
def test_what_is_no_schema_is_said_with_its_place(schema: Any, place: str) -> None:
    assert [where for where, _ in wrong_schema(schema)] == [place]


def test_every_schema_of_the_library_is_one() -> None:
    for each in built_in().values():
        assert list(wrong_schema(each.params)) == [], each.name


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"], "pattern": "^x$", "title": 5, "$ref": {}},
        {"properties": {"a": {"properties": {"b": {}}}}, "required": [], "additionalProperties": False},
        {"items": {"minimum": 0}, "minItems": 1, "oneOf": [{"type": "array"}, {"required": ["a"]}]},
        nested(DEEPEST),
    ],
)
def test_a_value_can_be_held_against_what_is_a_schema(schema: dict[str, Any]) -> None:
    assert list(wrong_schema(schema)) == []
    for value in VALUES:
        list(violations(schema, value, "$"))


def test_a_component_whose_parameters_have_no_schema_is_refused_where_it_is_declared() -> None:
    with pytest.raises(DefinitionError) as raised:

        @component("mine", params={"properties": {"limit": {"type": "int"}}})
        def mine(*, params: object, run: object) -> None: ...

    assert (raised.value.code, raised.value.place) == ("BAD_SCHEMA", "params.properties.limit.type")


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({"allOf": [{"required": ["a"]}]}, "params.allOf"),
        ({"properties": {"a": {"items": {"exclusiveMinimum": 0}}}}, "params.properties.a.items.exclusiveMinimum"),
        ({"anyOf": [{}, {"not": {}}]}, "params.anyOf[1].not"),
        ({"properties": {"not": {"type": "string"}}, "title": "allOf"}, None),
    ],
)
def test_a_program_for_trees_has_no_fence_that_nobody_looks_at(params: dict[str, Any], place: str | None) -> None:
    component("mine", params=params)(lambda **_: None)
    if place is None:
        component("mine", params=params, exposed=True)(lambda **_: None)
        return
    with pytest.raises(DefinitionError) as refused:
        component("mine", params=params, exposed=True)(lambda **_: None)
    assert (refused.value.code, refused.value.place) == ("BAD_SCHEMA", place)
