"""Types as Spark writes a StructType in JSON, both ways, without Spark (flows.md 4, point 1)."""

from __future__ import annotations

from pondage.define.types.types import Field, Type, TypeSyntax, parse_type
from pondage.define.types.unify import Structures, structure_of

_TO_SPARK = {"bigint": "long", "tinyint": "byte", "smallint": "short", "int": "integer"}
_FROM_SPARK = {spark: ours for ours, spark in _TO_SPARK.items()}


def spark_json(given: Type, structures: Structures | None = None) -> object:
    """Answer a type of columns as Spark's JSON; raises TypeSyntax for what no column can have."""
    inside = structure_of(given, structures or {})
    if inside is not None:
        return spark_json(inside, structures)
    if given.head == "row" and not given.rest:
        fields = [
            {
                "name": one.name,
                "type": spark_json(one.type, structures),
                "nullable": one.is_nullable,
                "metadata": {},
            }
            for one in given.fields
        ]
        return {"type": "struct", "fields": fields}
    if given.head == "array":
        return {"type": "array", "elementType": spark_json(given.arguments[0], structures), "containsNull": True}
    if given.head == "map":
        key, value = (spark_json(one, structures) for one in given.arguments)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    if given.head == "decimal":
        return "decimal({},{})".format(*given.numbers)
    if given.is_named or given.head in ("Any", "var", "row", "Table", "Stream", "Bytes", "Value"):
        raise TypeSyntax(f"{given} is no type of a column", 1)
    return _TO_SPARK.get(given.head, given.head)


def from_spark_json(given: object) -> Type:
    """Answer what Spark's JSON means in canonical form: metadata and the nullability of elements are dropped."""
    if isinstance(given, str):
        return parse_type(_FROM_SPARK.get(given, given))
    if isinstance(given, dict):
        if given.get("type") == "struct":
            fields = given["fields"]
            return Type("row", fields=tuple(
                Field(one["name"], from_spark_json(one["type"]), bool(one["nullable"])) for one in fields
            ))  # fmt: skip
        if given.get("type") == "array":
            return Type("array", arguments=(from_spark_json(given["elementType"]),))
        if given.get("type") == "map":
            return Type("map", arguments=(from_spark_json(given["keyType"]), from_spark_json(given["valueType"])))
    raise TypeSyntax(f"{given!r} is no type of Spark's", 1)
