"""What an untrusted SQL text may be: a plain question. Everything that is not known to be harmless is refused."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.errors import PondageError
from pondage.spark.query.sql_names import ParsedSql, PlanNode

_CATALYST = "org.apache.spark.sql.catalyst."
_LOGICAL = _CATALYST + "plans.logical."
_ANALYSIS = _CATALYST + "analysis."
_EXPRESSIONS = _CATALYST + "expressions."

# Operators of a query, as the parser builds them. No command, script, write or time travel is among them.
_OPERATORS = frozenset(
    {_LOGICAL + name for name in (
        "Aggregate", "AsOfJoin", "Deduplicate", "Distinct", "Except", "Expand", "Filter", "Generate", "GlobalLimit",
        "Intersect", "Join", "LateralJoin", "LocalLimit", "LocalRelation", "Offset", "OneRowRelation", "Pivot",
        "Project", "Range", "Repartition", "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias", "Tail",
        "Union", "UnresolvedHint", "UnresolvedWith", "Unpivot", "Window", "WithWindowDefinition",
    )}
    | {_ANALYSIS + name for name in (
        "UnresolvedHaving", "UnresolvedInlineTable", "UnresolvedQualify", "UnresolvedRelation",
        "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases", "UnresolvedTableValuedFunction",
        "UnresolvedTranspose",
    )}
    | {_EXPRESSIONS + "PipeOperator"}
)  # fmt: skip
# Expressions that are looked up later. An IDENTIFIER clause is not among them: it hides the name from us.
_LOOKED_UP = frozenset(
    _ANALYSIS + name for name in (
        "UnresolvedAlias", "UnresolvedAttribute", "UnresolvedExtractValue", "UnresolvedFunction",
        "UnresolvedGenerator", "UnresolvedOrdinal", "UnresolvedPipeAggregateOrdinal", "UnresolvedRegex",
        "UnresolvedStar", "UnresolvedStarExceptOrReplace", "UnresolvedWithinGroup",
    )
)  # fmt: skip
_EXPRESSIONS_REFUSED = frozenset(
    _EXPRESSIONS + name for name in ("CallMethodViaReflection", "TryReflect", "PythonUDF", "PythonUDTF", "ScalaUDF")
)
# Values inside nodes: collections, join types, names, texts. An operator is never taken for one of them.
_VALUES = (
    "scala.", "[", "org.apache.spark.unsafe.types.", _CATALYST + "plans.", _CATALYST + "trees.",
    _CATALYST + "AliasIdentifier", _CATALYST + "TableIdentifier", _CATALYST + "FunctionIdentifier",
)  # fmt: skip
_FUNCTION_KINDS = frozenset(_ANALYSIS + name for name in ("UnresolvedFunction", "UnresolvedGenerator"))
_FUNCTIONS_REFUSED = {
    "reflect": "can call any method of Java", "try_reflect": "can call any method of Java",
    "java_method": "can call any method of Java", "from_protobuf": "reads a file of the driver",
    "to_protobuf": "reads a file of the driver", "input_file_name": "shows paths of the warehouse",
    # Of XPath the parser loads whatever a document names as its DTD; the others have options that name a file.
    **dict.fromkeys(
        ("xpath", *(f"xpath_{kind}" for kind in (
            "boolean", "double", "float", "int", "long", "number", "short", "string"
        ))),
        "fetches what a document names: files, and addresses of other machines",
    ),
    **dict.fromkeys(
        ("from_xml", "schema_of_xml", "from_avro", "to_avro", "schema_of_avro"), "reads a file that an option names"
    ),
}  # fmt: skip
_TABLE_FUNCTIONS = frozenset({
    "range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
    "json_tuple", "variant_explode", "variant_explode_outer",
})  # fmt: skip


def require_question(parsed: ParsedSql, tables: frozenset[str], fused: Mapping[str, str] | None = None) -> None:
    """Raise `PondageError` (QUERY_REFUSED) unless the text only asks, and only about these tables (in lower case)."""
    for each in parsed.nodes:
        _require_known(each)
        if each.kind in _FUNCTION_KINDS:
            _require_harmless(_function_name(each))
        elif each.kind == _ANALYSIS + "UnresolvedTableValuedFunction":
            name = _last(each.node.name())
            if name not in _TABLE_FUNCTIONS:
                raise _refused(f"the table function {name} is not offered")
    common = parsed.common_tables
    for table in parsed.tables:
        is_common = len(table.parts) == 1 and table.parts[0].casefold() in common
        into = (fused or {}).get(table.text.casefold())
        if not is_common and into is not None and table.text.casefold() not in tables:
            raise _refused(
                f"{table.text} is fused into {into}, so it has no table",
                hint=f"look at it with `pondage run {table.text} --sample`, or declare it with materialize=True",
                code="FUSED_RIPPLE",
            )
        if not is_common and table.text.casefold() not in tables:
            raise _refused(
                f"there is no published table {table.text}",
                hint=f"there is {', '.join(sorted(tables)[:20])}" if tables else "a table is POND or POND.RIPPLE",
                code="NO_SUCH_TABLE",
            )
        if table.has_options:
            raise _refused(f"table {table.text} is read with options")


def _require_known(each: PlanNode) -> None:
    if each.is_operator:
        if each.kind not in _OPERATORS:
            raise _refused(f"{_shown(each.kind)} is not a question")
        return
    if each.kind.startswith(_EXPRESSIONS) and each.kind not in _EXPRESSIONS_REFUSED:
        return
    if each.kind not in _LOOKED_UP and not each.kind.startswith(_VALUES):
        raise _refused(f"{_shown(each.kind)} is not offered")


def _function_name(each: PlanNode) -> str:
    if each.kind.endswith("UnresolvedGenerator"):
        return str(each.node.name().funcName()).casefold()
    return _last(each.node.nameParts())


def _last(parts: object) -> str:
    """Answer the last part of a name: `system.builtin.reflect` is `reflect`."""
    return str(parts.last()).casefold()  # type: ignore[attr-defined]


def _require_harmless(name: str) -> None:
    if name in _FUNCTIONS_REFUSED:
        raise _refused(f"the function {name} is refused: it {_FUNCTIONS_REFUSED[name]}")


def _shown(kind: str) -> str:
    return kind.rpartition(".")[2].removesuffix("$").removeprefix("Unresolved")


def _refused(message: str, *, hint: str | None = None, code: str = "QUERY_REFUSED") -> PondageError:
    return PondageError(
        message, code=code, hint=hint or "ask with a SELECT over published tables; `pondage status` lists them"
    )
