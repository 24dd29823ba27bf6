"""A tree evaluated straight on: DataFrames in the order of the edges, without a plan, a machine or a ledger."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.flows.running_programs import VALUES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Unclear(Exception):
    """What such a tree must give is not decided here."""


class Evaluation:
    """What each output of a tree is; a node that fails or is skipped has none."""

    def __init__(self, document: dict[str, Any], broken: set[str], spark: SparkSession, landing: Path) -> None:
        self.document = document
        self.broken = broken
        self.spark = spark
        self.landing = landing
        self.outputs: dict[str, Any] = {}
        self.states: dict[str, str] = {}
        self.handlers: dict[str, set[str]] = {}
        for edge in document["edges"]:
            source, _, port = edge[0].partition(".")
            if port == "panic" and not edge[1].endswith(".stop"):
                self.handlers.setdefault(source, set()).add(edge[1].partition(".")[0])
        for name in self.order():
            self.states[name] = self.evaluated(name)

    @property
    def is_panicking(self) -> bool:
        """Must the flow end with PANIC: does a node fail that nobody handles?"""
        return any(state == "ERROR" and name not in self.handlers for name, state in self.states.items())

    def order(self) -> list[str]:
        """Give the nodes, each behind those that feed it."""
        left, found = dict.fromkeys(self.document["nodes"]), []
        while left:
            ready = [name for name in left if not any(source in left for source, _, _ in self.sources(name))]
            found += ready
            for name in ready:
                del left[name]
        return found

    def sources(self, name: str) -> list[tuple[str, str, str]]:
        """Give what leads to a node: source, its port, the input."""
        ends = [(*edge[0].partition("."), *edge[1].partition(".")) for edge in self.document["edges"]]
        return [(one[0], one[2], one[5]) for one in ends if one[3] == name and one[5] != "stop"]

    def evaluated(self, name: str) -> str:
        node = self.document["nodes"][name]
        if "const" in node:
            self.outputs[f"{name}.out"] = self.constant(node["const"])
            return "OK"
        given: dict[str, list[Any]] = {}
        for source, port, target in self.sources(name):
            state = self.states[source]
            if port == "panic":
                given.setdefault(target, []).extend(["panic"] if state == "ERROR" else [])
            elif state == "OK":
                given.setdefault(target, []).append(self.outputs.get(f"{source}.{port}"))
            elif node["prog"] == "maybe":
                raise Unclear(name)
            elif state == "ERROR" or node["prog"] not in ("merge", "sink"):
                return "SKIPPED"
            else:
                given.setdefault(target, [])
        if any(not found for found in given.values()):
            return "SKIPPED"
        if name in self.broken:
            return "ERROR"
        found = getattr(self, node["prog"].partition("@")[0])(given, node.get("params", {}))
        self.outputs |= {f"{name}.{port}": value for port, value in (found or {}).items()}
        return "OK"

    def constant(self, const: dict[str, Any]) -> Any:
        if "bytes" in const:
            return base64.b64decode(const["bytes"])
        if const["type"].startswith("Value"):
            return const["value"]
        inside = const["type"].partition("<{")[2].rpartition("}")[0]
        columns = dict(_column(text) for text in inside.split(", "))
        return self.frame(columns, [{name: row.get(name) for name in columns} for row in const["value"]])

    def frame(self, columns: dict[str, str], data: list[dict[str, Any]]) -> DataFrame:
        schema = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
        made = [tuple(_parsed(row[name], kind) for name, kind in columns.items()) for row in data]
        return self.spark.createDataFrame(made, schema)

    def rows(self, _given: Any, params: Any) -> dict[str, Any]:
        columns = params["columns"]
        return {"out": self.frame(columns, [{name: VALUES[kind][at] for name, kind in columns.items()}
                                            for at in range(3)])}  # fmt: skip

    def keep(self, given: Any, _params: Any) -> dict[str, Any]:
        return {"out": given["in"][0]}

    maybe = keep

    def cond(self, given: Any, params: Any) -> dict[str, Any]:
        frame = given["in"][0]
        return {"out": frame.where("id > 1") if params["where"] == "id > 1" else frame}

    def dedupe(self, given: Any, _params: Any) -> dict[str, Any]:
        frame = given["in"][0]
        columns = ["id", *(name for name in frame.columns if name != "id")]
        quoted = ", ".join(f"`{name}`" for name in columns)
        frame.createOrReplaceTempView("given")
        return {
            "out": self.spark.sql(
                f"SELECT {quoted} FROM given QUALIFY row_number() OVER (PARTITION BY id ORDER BY {quoted}) = 1"
            ),
            "dups": self.spark.sql("SELECT id, count(*) AS n FROM given GROUP BY id HAVING count(*) > 1"),
        }

    def ticks(self, _given: Any, _params: Any) -> dict[str, Any]:
        rows = [(number, number * 10) for number in range(4)]
        return {"out": self.spark.createDataFrame(rows, "id bigint, n int")}

    scan = keep

    def external(self, given: Any, _params: Any) -> dict[str, Any]:
        frame = given["in"][0]
        columns = ", ".join(f"`{name}`" for name in ["id", *(one for one in frame.columns if one != "id")])
        error = "named_struct('code', 'NO_ID', 'message', CAST(NULL AS string), 'detail', CAST(NULL AS string))"
        ok = f"CASE WHEN id IS NOT NULL THEN struct({columns}) END AS ok"
        return {"out": frame.selectExpr(ok, f"CASE WHEN id IS NULL THEN {error} END AS err")}

    def unwrap(self, given: Any, _params: Any) -> dict[str, Any]:
        frame = given["in"][0]
        return {
            "ok": frame.where("ok IS NOT NULL").select("ok.*"),
            "err": frame.where("ok IS NULL").select("err.code"),
        }

    def pair(self, given: Any, _params: Any) -> dict[str, Any]:
        return {"out": given["left"][0].unionAll(given["right"][0])}

    def merge(self, given: Any, _params: Any) -> dict[str, Any]:
        first, *others = given["in"]
        for other in others:
            first = first.unionAll(other)
        return {"out": first}

    def strict(self, given: Any, _params: Any) -> dict[str, Any]:
        return {"out": len(given["in"][0].collect())}

    def wide(self, given: Any, _params: Any) -> dict[str, Any]:
        return {"out": given["in"][0].selectExpr("CAST(id AS bigint) AS id")}

    def lines(self, given: Any, _params: Any) -> dict[str, Any]:
        return {"out": self.spark.createDataFrame([(line,) for line in given["in"][0].decode().split()], "line string")}

    def handle(self, _given: Any, _params: Any) -> None:
        return None

    def sink(self, _given: Any, _params: Any) -> None:
        return None

    def fan(self, given: Any, _params: Any) -> dict[str, Any]:
        frame = given["in"][0]
        quoted = ", ".join(f"`{name}`" for name in frame.columns)
        part = f"abs(hash(to_json(struct({quoted})))) % 2"
        return {"part_1": frame.where(f"{part} = 0"), "part_2": frame.where(f"{part} = 1")}

    def gather(self, given: Any, _params: Any) -> dict[str, Any]:
        return {"out": given["part_a"][0].unionAll(given["part_b"][0])}

    def reader(self, _given: Any, params: Any) -> dict[str, Any]:
        text = (self.landing / params["file"]).read_text(encoding="utf-8")
        return {"out": self.spark.createDataFrame([(line,) for line in text.splitlines()], "line string")}


def _column(text: str) -> tuple[str, str]:
    name, _, kind = text.partition(": ")
    return name.strip("`"), kind.removesuffix(" not null")


def _parsed(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind.startswith("decimal"):
        return Decimal(value)
    if kind == "date":
        return date.fromisoformat(value)
    return datetime.fromisoformat(value).astimezone(UTC) if kind == "timestamp" else value
