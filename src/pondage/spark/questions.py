"""What an untrusted SQL text may be: a plain question. Everything that is not known to be harmless is refused."""

from __future__ import annotations

from collections.abc import Mapping

from pondage.errors import PondageError
from pondage.spark.sqltext import ParsedSql

_CATALYST = "org.apache.spark.sql.catalyst."
_LOGICAL = _CATALYST + "plans.logical."
_ANALYSIS = _CATALYST + "analysis."

# Operators of a query, as the parser builds them. A command, a script, a write, a time travel is in none of these.
_OPERATORS = frozenset(
    {_LOGICAL + name for name in (
        "Aggregate", "AsOfJoin", "Deduplicate", "Distinct", "Except", "Expand", "Filter", "Generate", "GlobalLimit",
        "Intersect", "Join", "LateralJoin", "LocalLimit", "Offset", "OneRowRelation", "Pivot", "Project", "Range",
        "Repartition", "RepartitionByExpression", "Sample", "Sort", "SubqueryAlias", "Tail", "Transpose", "Union",
        "UnresolvedHint", "UnresolvedWith", "Unpivot", "Window", "WithWindowDefinition",
    )}
    | {_ANALYSIS + name for name in (
        "UnresolvedHaving", "UnresolvedInlineTable", "UnresolvedQualify", "UnresolvedRelation",
        "UnresolvedSubqueryColumnAliases", "UnresolvedTVFAliases", "UnresolvedTableValuedFunction",
        "UnresolvedTranspose",
    )}
)  # fmt: skip
# Expressions come from these packages; those that carry a name to be looked up are judged by the name.
_EXPRESSIONS = (_CATALYST + "expressions.", _ANALYSIS)
_OTHER = (
    "scala.", _CATALYST + "plans.", _CATALYST + "AliasIdentifier", _CATALYST + "TableIdentifier",
    _CATALYST + "FunctionIdentifier", _CATALYST + "trees.", _LOGICAL,
)  # fmt: skip
"""Values inside nodes (join types, identifiers). Operators are told from them by being a LogicalPlan."""

_FUNCTIONS_REFUSED = {
    "reflect": "calls any method of Java", "try_reflect": "calls any method of Java",
    "java_method": "calls any method of Java", "input_file_name": "shows paths of the warehouse",
    "from_protobuf": "reads a file of the driver", "to_protobuf": "reads a file of the driver",
}  # fmt: skip
_TABLE_FUNCTIONS = frozenset(
    {"range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack",
     "json_tuple", "variant_explode", "variant_explode_outer"}
)  # fmt: skip


def require_question(parsed: ParsedSql, views: Mapping[str, object], *, own_views: frozenset[str] = frozenset()) -> None:
    """Raise `PondageError` (QUERY_REFUSED) unless the text is a question that reads nothing but these views."""
    raise NotImplementedError
