"""Short words for declaring components: JSON Schemas of parameters, and types that a `schema` function gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from pondage.define.job.component import WrongInput, component
from pondage.define.types.types import ANY, Field, Type, parse_type
from pondage.expr.kinds import UNKNOWN, KindClash, Shape, shape_of
from pondage.expr.lexemes import ExprSyntax
from pondage.expr.nodes import Name, Node, children
from pondage.expr.parse import compile_text

NAME: dict[str, object] = {"type": "string", "minLength": 1}
NAMES: dict[str, object] = {"type": "array", "items": NAME, "minItems": 1}
TEXT: dict[str, object] = {"type": "string"}
COUNT: dict[str, object] = {"type": "integer", "minimum": 0}
EXPRESSION: dict[str, object] = {"type": "string", "minLength": 1, "format": "expression"}
TYPE: dict[str, object] = {"type": "string", "minLength": 1, "format": "type"}
TYPES: dict[str, object] = {"type": "object", "additionalProperties": TYPE}
ANY_TABLE = "Table<Any>"

PATH: dict[str, object] = {"type": "string", "minLength": 1, "format": "path"}
LOCATION: dict[str, object] = {"type": "string", "minLength": 1, "format": "location"}
FILE: dict[str, object] = {"type": "string", "minLength": 1, "format": "file"}
"""A tree names a location of the project and a file below it; a path is for jobs."""

shipped = partial(component, after=(), globals=())
"""Declare a component of the library: it writes no variables but those that it says."""
exposed = partial(shipped, exposed=True)
"""Declare one that trees of users may name, too."""
deterministic = partial(exposed, deterministic=True)
"""Declare one of these that gives the same rows for the same input, so that it may be fused."""

ROOTS = ("global", "context")
"""What an expression names beside columns."""


def parameters(*required: str, **properties: Mapping[str, object]) -> dict[str, object]:
    """Declare an object with these properties and no others."""
    known = {name: dict(schema) for name, schema in properties.items()}
    return {"type": "object", "properties": known, "required": list(required), "additionalProperties": False}


def choice(*values: str) -> dict[str, object]:
    """Declare one of some texts."""
    return {"enum": list(values)}


def fields_of(table: str | None) -> tuple[Field, ...] | None:
    """Give the columns of a table's type; None when they are not known."""
    if table is None:
        return None
    found = parse_type(table)
    row = found.arguments[0] if found.head in ("Table", "Stream") and found.arguments else found
    return row.fields if row.head == "row" and not row.rest else None


def table_of(fields: Iterable[Field]) -> str:
    """Write the type of a table with these columns."""
    return str(Type("Table", arguments=(Type("row", fields=tuple(fields)),)))


def declared(columns: Mapping[str, object]) -> tuple[Field, ...]:
    """Give the columns that a parameter `columns: {name: type}` declares."""
    return tuple(Field(name, parse_type(str(kind))) for name, kind in columns.items())


def require_fields(inputs: Mapping[str, str], port: str, names: object) -> None:
    """Raise WrongInput when the columns that come in by a port are known, and one of the names is none of them."""
    fields = fields_of(inputs.get(port))
    assert isinstance(names, list | tuple)
    missing = [name for name in names if fields is not None and name not in {one.name for one in fields}]
    if missing:
        wanted = ", ".join(f"`{name}`: Any" if not str(name).isidentifier() else f"{name}: Any" for name in names)
        raise WrongInput(port, f"Table<{{{wanted} | R}}>", f"there is no column {missing[0]!r}")


def require_unknown(inputs: Mapping[str, str], port: str, added: Iterable[Field], *, beside: Iterable[Field]) -> None:
    """Raise WrongInput when a column that a port adds is already among those beside it."""
    names = {one.name for one in beside}
    double = next((one.name for one in added if one.name in names), None)
    if double is not None:
        raise WrongInput(
            port, inputs[port], f"both tables have a column {double!r}, which is no key: rename one before"
        )


def require_read(
    inputs: Mapping[str, str], port: str, *expressions: object, beside: Mapping[str, Shape] | None = None
) -> list[Shape]:
    """Answer what expressions over the columns of a port give; `beside` are columns that were computed before.

    Raises WrongInput when one names a column that is not there, or puts together kinds that can never meet.
    """
    names = dict.fromkeys(name for text in expressions for name in _columns_of(str(text)))
    require_fields(inputs, port, [name for name in names if name not in (beside or {})])
    columns = {one.name: _shape(one.type) for one in fields_of(inputs.get(port)) or ()} | dict(beside or {})
    found = []
    for text in expressions:
        try:
            found.append(shape_of(compile_text(str(text)), columns))
        except ExprSyntax:
            found.append(UNKNOWN)  # which its own check says
        except KindClash as clash:
            raise WrongInput(port, inputs.get(port, ANY_TABLE), str(clash)) from None
    return found


_KINDS = {
    "string": "text", "boolean": "bool", "tinyint": "int", "smallint": "int", "int": "int", "bigint": "int",
    "float": "float", "double": "float", "decimal": "decimal", "date": "date", "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz", "void": "null", "binary": "other", "map": "other",
}  # fmt: skip
_TYPES = {"text": "string", "bool": "boolean", "int": "bigint", "float": "double", "date": "date",
          "timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz"}  # fmt: skip


def _shape(found: Type) -> Shape:
    if found.head == "array":
        return Shape("list", element=_shape(found.arguments[0]))
    if found.head == "row":
        return UNKNOWN if found.rest else Shape("row", fields={one.name: _shape(one.type) for one in found.fields})
    return Shape(_KINDS.get(found.head, ""))


def computed(shape: Shape) -> Type:
    """Answer the type of a computed column; Any where only Spark knows it exactly."""
    return Type(_TYPES[shape.kind]) if shape.kind in _TYPES else ANY


def _columns_of(text: str) -> list[str]:
    """Give the columns that an expression names; none when it is wrong, which its own check says."""
    try:
        waiting: list[Node] = [compile_text(text)]
    except ExprSyntax:
        return []
    names = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, Name) and node.name not in ROOTS:
            names.append(node.name)
        waiting += children(node)
    return sorted(names)


def same_as_input(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    """Say that the main output has the columns of the input, which a condition may only name."""
    require_read(inputs, "input", *(params[key] for key in ("where", "that") if key in params))
    return {"main": inputs["input"]} if "input" in inputs else {}
