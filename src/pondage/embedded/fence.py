"""The fence around a text of a stranger: one SELECT over tables that are named, and functions that only compute.

The engine refuses files, settings and extensions by itself (`engine.py`). What is refused here would tell about the
machine, or about tables whose names nobody was given; and what is answered names the tables that must be opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from pondage.define.values.suggestion import nearest
from pondage.embedded.question import QuestionRefused

if TYPE_CHECKING:
    import duckdb

LONGEST = 100_000
SCHEMA = "ponds"
_ROWS = frozenset({"range", "generate_series", "unnest", "repeat", "json_each", "json_tree", "json_array_elements"})
"""Table functions that make rows of their arguments, and of nothing else."""
_TELLING = frozenset(
    {
        "getenv", "current_setting", "getvariable", "setvariable", "set_config", "query", "query_table", "nextval",
        "currval", "write_log", "sleep_ms", "sleep", "pg_sleep", "current_query", "current_query_id", "txid_current",
        "current_connection_id", "current_transaction_id", "in_search_path", "has_database_privilege", "version",
        "add_parquet_key", "checkpoint", "force_checkpoint", "enable_logging", "which_secret", "duckdb_secrets",
        "json_execute_serialized_sql", "from_substrait", "from_substrait_json", "get_substrait", "get_substrait_json",
        "create_sort_key", "finalize", "combine", "error", "inet_server_addr", "pg_read_file", "load_file",
    }
)  # fmt: skip
"""Scalar functions that tell about the machine or the connection, change something, or wait."""


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A text that may be run, the tables that it reads, and how many values it wants."""

    sql: str
    tables: frozenset[str]
    parameters: int


def examined(connection: duckdb.DuckDBPyConnection, sql: str, *, catalog: str, names: Iterable[str]) -> Examined:
    """Answer what to run, and which of the tables it reads; raises `QuestionRefused` for all but one plain SELECT.

    A name may say its catalog, which is the environment. The engine has none of that name (`main` is reserved there),
    so what is run is the same without it.
    """
    if len(sql) > LONGEST:
        raise QuestionRefused(f"the question is longer than {LONGEST:,} characters", hint="ask for less at once")
    tree = _tree(connection, sql)
    known = {name.lower(): name for name in names}
    # A name of WITH counts everywhere: where it means nothing, nothing of that name is there either.
    common = {str(each["key"]).lower() for each in _maps(tree)}
    found: set[str] = set()
    is_changed = False
    for node in _nodes(tree):
        kind = node.get("type")
        is_changed = _without_catalog(node, catalog.lower()) or is_changed
        if kind == "BASE_TABLE":
            name = _table(node)
            if name in known:
                found.add(known[name])
            elif not (name in common and not node.get("schema_name")):
                raise _no_table(str(node.get("table_name")), known)
        elif kind == "TABLE_FUNCTION":
            function = node.get("function") or {}
            _check_rows(str(function.get("function_name", "")))
        elif kind == "SHOW_REF":
            raise QuestionRefused("it asks for a description and not for rows", hint="pondage show POND")
        elif "function_name" in node and str(node["function_name"]).lower() in _TELLING:
            raise QuestionRefused(f"the function {node['function_name']} is not for questions", hint="write it without")
    if is_changed:
        row = connection.execute(
            "SELECT json_deserialize_sql(?::JSON)", [msgspec.json.encode(tree).decode()]
        ).fetchone()
        assert row is not None
        sql = row[0]
    (statement,) = connection.extract_statements(sql)
    return Examined(sql=sql, tables=frozenset(found), parameters=len(statement.named_parameters))


def _without_catalog(node: dict[str, Any], catalog: str) -> bool:
    """Take the environment's name out of the name of a table or a column; answer whether it was there."""
    path = (node.get("qualified_name") or {}).get("path") if node.get("type") == "BASE_TABLE" else None
    if path is not None and str(node.get("catalog_name", "")).lower() == catalog:
        node["catalog_name"] = ""
        del path[:-2]
        return True
    names = node.get("column_names") if node.get("type") == "COLUMN_REF" else None
    if names and len(names) > 3 and [each.lower() for each in names[:2]] == [catalog, SCHEMA]:
        del names[0]
        return True
    return False


def _tree(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    """Answer the text as the engine's own parser understands it."""
    row = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    assert row is not None
    try:
        tree: dict[str, Any] = msgspec.json.decode(row[0])
    except RecursionError:
        raise QuestionRefused("it is nested too deeply", hint="write it with WITH") from None
    if tree.get("error"):
        message = str(tree.get("error_message", "")).splitlines()[0]
        if tree.get("error_type") == "parser":
            raise QuestionRefused(
                f"the SQL cannot be parsed: {message}", hint="write one SELECT in DuckDB's SQL", code="BAD_SQL"
            )
        raise QuestionRefused("it is a command, and only questions are answered", hint="write one SELECT")
    if len(tree["statements"]) != 1:
        count = len(tree["statements"])
        raise QuestionRefused(f"it has {count} statements", hint="ask one question, one SELECT")
    return tree


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Give every object of the tree, without recursion: a text may nest as deeply as it likes."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            yield each
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)


def _maps(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for node in _nodes(tree):
        held = node.get("cte_map")
        if isinstance(held, dict):
            yield from held.get("map", ())


def _table(node: dict[str, Any]) -> str:
    """Answer the name of a table; of one that is elsewhere a name that no table has."""
    schema, owner = str(node.get("schema_name") or ""), str(node.get("catalog_name") or "")
    if schema.lower() not in ("", SCHEMA) or owner:
        return f"{owner}.{schema}.{node.get('table_name')}\0"
    return str(node.get("table_name", "")).lower()


def _check_rows(function: str) -> None:
    if function.lower() not in _ROWS:
        raise QuestionRefused(
            f"the table function {function} is not for questions",
            hint='name a table: SELECT * FROM reports, or "reports.clean"',
        )


def _no_table(given: str, known: dict[str, str]) -> QuestionRefused:
    close = nearest(given.lower(), known)
    hint = f'did you mean "{known[close]}"?' if close else 'pondage status --once; a Ripple is one name: "sales.clean"'
    return QuestionRefused(f"there is no table {given[:100]!r}", hint=hint, code="NO_SUCH_TABLE")
