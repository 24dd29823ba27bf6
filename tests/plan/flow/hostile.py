"""Trees that somebody wrote to break out, to hide something or to break down: each with what must be said about it."""

from __future__ import annotations

import json
from typing import Any

Attack = tuple[str, str | bytes, str, str]
"""A name, the document, the code and the pointer of the first problem."""

_TABLE = {"const": {"type": "Table<{a: int}>", "value": []}}
_ANSI = "\u001b[2J"


def _tree(nodes: dict[str, Any], edges: list[Any] | None = None, **more: Any) -> str:
    taken = {edge[0] for edge in edges or ()}
    extract = {f"x{number}": {"from": f"{name}.out", "format": "ndjson"}
               for number, name in enumerate(nodes) if f"{name}.out" not in taken}  # fmt: skip
    return json.dumps({"version": 1, "nodes": nodes, "edges": edges or [], "extract": extract, **more})


def _node(prog: str, **params: Any) -> str:
    return _tree({"n": {"prog": prog, "params": params}})


def _constant(type_: Any, **given: Any) -> str:
    return _tree({"n": {"const": {"type": type_, **given}}})


def _where(text: str) -> str:
    return _tree({"t": _TABLE, "n": {"prog": "cond", "params": {"where": text}}}, [["t.out", "n.in"]])


_DEEP = "[" * 100_000 + "]" * 100_000

SHAPES: list[Attack] = [
    ("nothing", "", "JSON_SYNTAX", ""),
    ("no object", "[]", "SCHEMA", ""),
    ("a text", '"tree"', "SCHEMA", ""),
    ("deep lists", _DEEP, "LIMIT", ""),
    ("deep in a parameter", '{"version": 1, "nodes": {"n": {"prog": "rows", "params": {"columns": ' + _DEEP + "}}}}",
     "LIMIT", ""),
    ("deep and unbalanced", '{"a":' * 100_000, "LIMIT", ""),
    ("brackets in a text are not deep", json.dumps("[" * 1_000), "SCHEMA", ""),
    ("a huge document", '{"version": 1, "nodes": {}' + " " * 1_048_576 + "}", "LIMIT", ""),
    ("many nodes", _tree({f"n{number}": _TABLE for number in range(501)}), "LIMIT", "/nodes"),
    ("many edges", json.dumps({"version": 1, "nodes": {"n": _TABLE}, "edges": [["n.out", "n.in"]] * 2_001}),
     "LIMIT", "/edges"),
    ("a long text in a parameter", _node("rows", columns={"a": "x" * 10_001}), "LIMIT", "/nodes/n/params/columns/a"),
    ("a long key in a parameter", _node("rows", columns={"a" * 10_001: "int"}), "LIMIT",
     "/nodes/n/params/columns/" + "a" * 10_001),
    ("not UTF-8", b'{"version": 1, "nodes": {"\xff": {}}}', "JSON_SYNTAX", ""),
    ("UTF-16", '{"version": 1}'.encode("utf-16"), "JSON_SYNTAX", ""),
    ("a byte order mark", "\ufeff{}", "JSON_SYNTAX", ""),
    ("NaN", '{"version": NaN, "nodes": {}}', "JSON_SYNTAX", ""),
    ("Infinity", '{"version": 1, "nodes": {}, "limits": {"timeout_s": Infinity}}', "JSON_SYNTAX", ""),
    ("a number of 5,000 digits", '{"version": ' + "9" * 5_000 + "}", "JSON_SYNTAX", ""),
    ("1e999", '{"version": 1, "nodes": {"n": {"prog": "rows"}}, "limits": {"timeout_s": 1e999}}', "SCHEMA",
     "/limits/timeout_s"),
    ("one key twice", '{"version": 1, "nodes": {"n": {"prog": "rows", "prog": "secret"}}}', "JSON_SYNTAX", ""),
    ("many keys twice", '{"a": 1, ' + ", ".join(f'"k{n}": 1' for n in range(50_000)) + ', "a": 1}', "JSON_SYNTAX", ""),
    ("Python instead of JSON", "{'version': 1}", "JSON_SYNTAX", ""),
    ("a comment", '{"version": 1 /* x */}', "JSON_SYNTAX", ""),
    ("YAML", "version: 1\nnodes: !!python/object/apply:os.system ['id']", "JSON_SYNTAX", ""),
    ("version true", '{"version": true, "nodes": {"n": {"prog": "rows"}}}', "SCHEMA", "/version"),
    ("version 2", '{"version": 2, "nodes": {"n": {"prog": "rows"}}}', "SCHEMA", "/version"),
    ("no nodes", '{"version": 1, "nodes": {}}', "SCHEMA", "/nodes"),
    ("nodes as a list", '{"version": 1, "nodes": [{"prog": "rows"}]}', "SCHEMA", "/nodes"),
    ("neither program nor constant", '{"version": 1, "nodes": {"n": {}}}', "SCHEMA", "/nodes/n"),
    ("program and constant", _tree({"n": {"prog": "rows", **_TABLE}}), "SCHEMA", "/nodes/n"),
    ("an edge with one end", _tree({"n": _TABLE}, [["n.out"]]), "SCHEMA", "/edges/0"),
    ("an edge with four parts", _tree({"n": _TABLE}, [["n.out", "n.in", {}, {}]]), "SCHEMA", "/edges/0"),
    ("an edge as an object", _tree({"n": _TABLE}) [:-1] + ', "edges": [{}]}', "JSON_SYNTAX", ""),
    ("a limit below zero", _tree({"n": _TABLE}, [["n.out", "n.stop", {"max_in_flight_rows": -1}]]), "SCHEMA",
     "/edges/0/2/max_in_flight_rows"),
    ("code beside the nodes", _tree({"n": _TABLE}, on_start="import os"), "SCHEMA", ""),
]  # fmt: skip

NAMES: list[Attack] = [
    ("__class__ as a node", _tree({"__class__": _TABLE}), "SCHEMA", "/nodes/__class__"),
    ("__proto__ as a node", _tree({"__proto__": _TABLE}), "SCHEMA", "/nodes/__proto__"),
    ("a path as a node", _tree({"../../etc": _TABLE}), "SCHEMA", "/nodes/..~1..~1etc"),
    ("a line break behind a name", _tree({"n\n": _TABLE}), "SCHEMA", "/nodes/n?"),
    ("a Cyrillic letter in a name", _tree({"n\u0430me": _TABLE}), "SCHEMA", "/nodes/n\u0430me"),
    ("a name that turns around", _tree({"n\u202etxt": _TABLE}), "SCHEMA", "/nodes/n?txt"),
    ("a name that clears the screen", _tree({f"n{_ANSI}": _TABLE}), "SCHEMA", "/nodes/n?[2J"),
    ("half a character", '{"version": 1, "nodes": {"\\ud800": {"prog": "rows"}}}', "SCHEMA", "/nodes/?"),
    ("half a character in a value", _constant("Value<string>", value="\ud800"), "SCHEMA", "/nodes/n/const/value"),
    ("NUL in a value", _constant("Value<string>", value="a\x00b"), "SCHEMA", "/nodes/n/const/value"),
    ("a node of 64 letters", _tree({"n" * 64: _TABLE}), "SCHEMA", "/nodes/" + "n" * 64),
    ("a dotted program", _node("os.system"), "SCHEMA", "/nodes/n/prog"),
    ("a module as a program", _node("acme.progs:dedupe"), "SCHEMA", "/nodes/n/prog"),
    ("a joblet as a program", _node("@joblet"), "SCHEMA", "/nodes/n/prog"),
    ("a line break behind a program", _node("rows\n"), "SCHEMA", "/nodes/n/prog"),
    ("an unknown program", _node("system"), "UNKNOWN_PROG", "/nodes/n/prog"),
    ("__init__ as a program", _node("__init__"), "SCHEMA", "/nodes/n/prog"),
    ("another major", _node("rows@7", columns={"a": "int"}), "UNKNOWN_PROG", "/nodes/n/prog"),
    ("the constant by its name", _node("const", type="Table<{a: int}>", value=[]), "UNKNOWN_PROG", "/nodes/n/prog"),
    ("a hidden program", _node("secret"), "NOT_EXPOSED", "/nodes/n/prog"),
    ("an iterator", _node("loop"), "NOT_EXPOSED", "/nodes/n/prog"),
    ("an attribute of a port", _tree({"n": _TABLE}, [["n.out.__class__", "n.in"]]), "SCHEMA", "/edges/0/0"),
    ("a port of nobody", _tree({"n": _TABLE}, [["n.__class__", "n.stop"]]), "UNKNOWN_PORT", "/edges/0/0"),
    ("the wild card itself", _tree({"n": _TABLE, "m": {"prog": "fan"}}, [["n.out", "m.in"], ["m.part_*", "m.in"]]),
     "SCHEMA", "/edges/1/0"),
    ("an extract of a panic", _tree({"n": _TABLE}, extract={"p": {"from": "n.panic", "format": "ndjson"}}),
     "UNKNOWN_PORT", "/extract/p/from"),
    ("an extract as a path", _tree({"n": _TABLE}, extract={"../p": {"from": "n.out", "format": "csv"}}), "SCHEMA",
     "/extract/..~1p"),
    ("an extract for ever", _tree({"n": _TABLE}, extract={"p": {"from": "n.out", "format": "csv",
                                                                "retention": "999999999d"}}),
     "SCHEMA", "/extract/p/retention"),
]  # fmt: skip

_FILES = ("../orders.csv", "/etc/passwd", "a/../../b", "s3a://bucket/x", "file:///etc/passwd", "..", ".", "~/x",
          "$HOME", "%2e%2e/x", "a\\..\\b", "*.csv", "{a,b}", "a?b", "a;b", "a b", "orders.csv\n", "\u2024\u2024/x",
          "jdbc:x")  # fmt: skip
PLACES: list[Attack] = [
    *((f"the file {file!r}", _node("reader", location="landing", file=file), "PARAMS_SCHEMA", "/nodes/n/params/file")
      for file in _FILES),
    *((f"the location {place!r}", _node("reader", location=place, file="a.csv"), "UNKNOWN_LOCATION",
       "/nodes/n/params/location")
      for place in ("nowhere", "/data/landing", "landing/..", "LANDING", "l\u0430nding", "s3a://x")),
    ("a path", _node("reader", path="/data/landing/a.csv"), "PARAMS_SCHEMA", "/nodes/n/params/path"),
    ("a path through a wired element",
     _tree({"c": {"const": {"type": "Value<{location: string, file: string}>",
                            "value": {"location": "/", "file": "x"}}},
            "n": {"prog": "element"}}, [["c.out", "n.in"]]), "UNKNOWN_PORT", "/edges/0/1"),
    ("a reference that is a path", _constant("Table<{a: int}>", ref="../x"), "SCHEMA", "/nodes/n/const/ref"),
    ("SQL as a parameter", _node("rows", columns={"a": "int"}, sql="DROP TABLE x"), "PARAMS_SCHEMA",
     "/nodes/n/params"),
    ("SQL as a type", _node("rows", columns={"a": "int, b string); DROP TABLE x"}), "PARAMS_SCHEMA",
     "/nodes/n/params/columns/a"),
    ("a class as a parameter", _node("rows", columns={"a": "int"}, __class__="x"), "PARAMS_SCHEMA", "/nodes/n/params"),
]  # fmt: skip

_EXPRESSIONS = (
    "__import__('os').system('id')", "().__class__.__bases__", "a.__class__", "global.__class__.x()", "9 ** 9 ** 9",
    "'x' * 1000000000 if a else b", "[x for x in a]", "lambda: 1", "f'{a}'", "a := 1", "eval('1')", "open('x')",
    "reflect('java.lang.System', 'exit', 1)", "java_method('a', 'b')", "1; import os", "a[0:1]",
    "(" * 200 + "a" + ")" * 200,
    "a and " * 300 + "a", "getattr(a, 'b')", "a\nimport os", "\u0430 > 1\u202e", "--", "/* x */ a", "`a`",
    "a ; DROP TABLE x",
)  # fmt: skip
EXPRESSIONS: list[Attack] = [
    *((f"the expression {text[:40]!r}", _where(text), "EXPR_SYNTAX", "/nodes/n/params/where") for text in _EXPRESSIONS),
    ("an expression that is a number", _tree({"t": _TABLE, "n": {"prog": "cond", "params": {"where": 1}}},
                                             [["t.out", "n.in"]]), "PARAMS_SCHEMA", "/nodes/n/params/where"),
]  # fmt: skip

VALUES: list[Attack] = [
    ("rows that are no list", _constant("Table<{a: int}>", value={"a": 1}), "TYPE_MISMATCH", "/nodes/n/const/value"),
    ("true as a number", _constant("Value<int>", value=True), "TYPE_MISMATCH", "/nodes/n/const/value"),
    ("a number that is too large", _constant("Value<int>", value=1 << 31), "TYPE_MISMATCH", "/nodes/n/const/value"),
    ("1e400 as a double", _constant("Value<double>", value=7).replace("7", "1e400"), "TYPE_MISMATCH",
     "/nodes/n/const/value"),
    ("a decimal with too many digits", _constant("Value<decimal(3,1)>", value="100.0"), "TYPE_MISMATCH",
     "/nodes/n/const/value"),
    ("Arabic digits", _constant("Value<decimal(3,1)>", value="\u0661"), "TYPE_MISMATCH", "/nodes/n/const/value"),
    ("a day that does not exist", _constant("Value<date>", value="2026-02-30"), "TYPE_MISMATCH",
     "/nodes/n/const/value"),
    ("a moment without a zone", _constant("Value<timestamp>", value="2026-01-31T12:00:00"), "TYPE_MISMATCH",
     "/nodes/n/const/value"),
    ("no base64", _constant("Bytes<text/csv>", bytes="%%%"), "TYPE_MISMATCH", "/nodes/n/const/bytes"),
    ("bytes for a table", _constant("Table<{a: int}>", bytes="aaaa"), "TYPE_MISMATCH", "/nodes/n/const/bytes"),
    ("a value for bytes", _constant("Bytes<text/csv>", value="a"), "TYPE_MISMATCH", "/nodes/n/const/value"),
    ("an unknown column", _constant("Table<{a: int}>", value=[{"__class__": 1}]), "TYPE_MISMATCH",
     "/nodes/n/const/value/0/__class__"),
    ("a result that is both", _constant("Value<Result<int>>", value={"ok": 1, "err": {"code": "x"}}), "TYPE_MISMATCH",
     "/nodes/n/const/value"),
    ("value and reference", _constant("Value<int>", value=1, ref="sha256:" + "0" * 64), "SCHEMA", "/nodes/n/const"),
    ("no type", _tree({"n": {"const": {"value": 1}}}), "SCHEMA", "/nodes/n/const"),
    ("a type of 30,000 letters", _constant("Table<{" + "a" * 30_000 + ": int}>", value=[]), "SCHEMA",
     "/nodes/n/const/type"),
    ("a type of 40 levels", _constant("Value<" + "array<" * 40 + "int" + ">" * 41, value=[]), "SCHEMA",
     "/nodes/n/const/type"),
    ("code as a type", _constant("__import__('os')", value=[]), "SCHEMA", "/nodes/n/const/type"),
    ("a named type of nobody", _constant("Table<Order@1>", value=[]), "SCHEMA", "/nodes/n/const/type"),
    ("a type variable", _constant("Table<{a: int | R}>", value=[]), "SCHEMA", "/nodes/n/const/type"),
    ("anything", _constant("Table<Any>", value=[]), "AMBIGUOUS_TYPE", "/nodes/n/const/type"),
]  # fmt: skip

CIRCLES: list[Attack] = [
    ("a node that feeds itself", _tree({"n": {"prog": "merge"}}, [["n.out", "n.in"]]), "CYCLE_DETECTED", "/edges/0"),
    ("a long circle", _tree({f"n{number}": {"prog": "merge"} for number in range(400)},
                            [[f"n{number}.out", f"n{(number + 1) % 400}.in"] for number in range(400)]),
     "CYCLE_DETECTED", "/edges/0"),
    ("a handler of its own panic", _tree({"n": {"prog": "handle"}}, [["n.panic", "n.in"]]), "CYCLE_DETECTED",
     "/edges/0"),
]  # fmt: skip

_LONG = "k" * 400_000
WEIGHTS: list[Attack] = [
    ("a long key above many elements",
     _constant("Value<map<string, array<int>>>", value={_LONG: [0] * 100_000 + ["x"]}),
     "TYPE_MISMATCH", f"/nodes/n/const/value/{_LONG}/100000"),
    ("long keys above many texts",
     _node("rows", columns={"a" * 10_000: {"b" * 10_000: {"c" * 10_000: ["x"] * 90_000}}}),
     "PARAMS_SCHEMA", "/nodes/n/params/columns/" + "a" * 10_000),
    ("many wrong values", _constant("Table<{a: int}>", value=[{"a": "x"}] * 60_000), "TYPE_MISMATCH",
     "/nodes/n/const/value/0/a"),
    ("many wrong columns", _node("rows", columns={f"c{number}": "nonsense(" for number in range(40_000)}),
     "PARAMS_SCHEMA", "/nodes/n/params/columns/c0"),
    ("many unexpected keys", _tree({"n": _TABLE}, **{f"k{number}": 1 for number in range(60_000)}), "SCHEMA", ""),
    ("many nodes that are none", json.dumps({"version": 1, "nodes": {f"n{number}": [] for number in range(500)}}),
     "SCHEMA", "/nodes/n0"),
]  # fmt: skip
"""What would take for ever if somebody wrote a pointer for every element, or told every problem."""

CORPUS = [*WEIGHTS, *SHAPES, *NAMES, *PLACES, *EXPRESSIONS, *VALUES, *CIRCLES]
