"""Seeded trees that must be accepted, with the types on their edges computed here by other means than inference."""

from __future__ import annotations

import random
from typing import Any

Columns = tuple[tuple[str, str, bool], ...]
"""Name, type and nullability."""

_KINDS = {"int": 7, "bigint": 1 << 40, "string": "x", "boolean": True, "date": "2026-01-31", "decimal(7,2)": "10.50",
          "timestamp": "2026-01-31T12:00:00Z", "array<int>": [1, None], "double": 1.5}  # fmt: skip


class Output:
    """An output that may be connected: `a.out`, what it is and its columns."""

    def __init__(self, end: str, head: str, columns: Columns = (), *, is_discardable: bool = False) -> None:
        self.end = end
        self.head = head
        self.columns = columns
        self.is_discardable = is_discardable

    def __str__(self) -> str:
        inner = (
            "{" + ", ".join(f"{name}: {kind}{'' if null else ' not null'}" for name, kind, null in self.columns) + "}"
        )
        return {
            "Table": f"Table<{inner}>",
            "Stream": f"Stream<{inner}>",
            "Results": f"Stream<Result<{inner}>>",
            "Bytes": "Bytes<text/csv>",
            "Value": "Value<bigint>",
        }[self.head]


class RandomTree:
    """A tree that is right, and what must be known of it: the types of its outputs, and who handles whose panic."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.nodes: dict[str, Any] = {}
        self.edges: list[list[Any]] = []
        self.extract: dict[str, Any] = {}
        self.outputs: list[Output] = []
        self.handled: dict[str, set[str]] = {}
        for _ in range(self.dice.randint(1, 4)):
            self.dice.choice([self.rows, self.rows, self.constant, self.constant, self.ticks, self.file])()
        for _ in range(self.dice.randint(0, 14)):
            self.dice.choice([
                self.keep, self.dedupe, self.scan, self.external, self.unwrap, self.pair, self.merge, self.strict,
                self.wide, self.lines, self.fan, self.cond, self.maybe,
            ])()  # fmt: skip
        for _ in range(self.dice.randint(0, 2)):
            self.dice.choice([self.panic, self.stop])()
        self.finish()

    def document(self) -> dict[str, Any]:
        """Give the tree as JSON has it."""
        return {"version": 1, "nodes": self.nodes, "edges": self.edges, "extract": self.extract}

    def expected(self) -> dict[str, str]:
        """Give the type on each edge by its pointer."""
        types = {one.end: str(one) for one in self.outputs}
        return {f"/edges/{number}": types[edge[0]] for number, edge in enumerate(self.edges)
                if not edge[0].endswith(".panic")}  # fmt: skip

    def add(self, prog: str, params: dict[str, Any] | None = None, **inputs: Output) -> str:
        """Add a node with its edges."""
        name = f"n{len(self.nodes)}_{prog.partition('@')[0]}"
        self.nodes[name] = {"prog": prog, **({"params": params} if params else {})}
        for port, one in inputs.items():
            self.connect(one, f"{name}.{port.rstrip('_')}")
        return name

    def connect(self, one: Output, target: str) -> None:
        limits = [{"max_in_flight_rows": 1000}] if self.dice.random() < 0.1 else []
        self.edges.append([one.end, target, *limits])

    def gives(self, name: str, port: str, head: str, columns: Columns = (), *, is_discardable: bool = False) -> None:
        self.outputs.append(Output(f"{name}.{port}", head, columns, is_discardable=is_discardable))

    def one(self, *heads: str, with_id: bool = False) -> Output | None:
        """Choose an output of such a kind; with `with_id` one whose `id` is a bigint."""
        fitting = [
            one for one in self.outputs
            if one.head in heads and (not with_id or any(c[:2] == ("id", "bigint") for c in one.columns))
        ]  # fmt: skip
        return self.dice.choice(fitting) if fitting else None

    def columns(self) -> Columns:
        names = self.dice.sample(["id", "name", "amount", "day", "`order no`", "flags"], self.dice.randint(1, 4))
        return tuple(
            (name, "bigint" if name == "id" else self.dice.choice(list(_KINDS)), self.dice.random() < 0.7)
            for name in sorted(names)
        )

    def rows(self) -> None:
        columns = tuple((name, kind, True) for name, kind, _ in self.columns() if not name.startswith("`"))
        columns = columns or (("id", "bigint", True),)
        self.gives(self.add("rows", {"columns": {name: kind for name, kind, _ in columns}}), "out", "Table", columns)

    def constant(self) -> None:
        name = f"n{len(self.nodes)}_const"
        kind = self.dice.choice(["Table", "Table", "Stream", "Bytes", "Value"])
        found = Output(f"{name}.out", kind, self.columns() if kind in ("Table", "Stream") else ())
        row = {
            one.strip("`"): _KINDS[kind_] for one, kind_, null in found.columns if not null or self.dice.random() < 0.5
        }
        value: dict[str, Any] = {"value": [row] * self.dice.randint(0, 2)}
        if kind == "Bytes":
            value = self.dice.choice([{"bytes": "aWQKMQo="}, {"ref": "sha256:" + "ab" * 32}])
        elif kind == "Value":
            value = {"value": 7}
        self.nodes[name] = {"const": {"type": str(found), **value}}
        self.outputs.append(found)

    def ticks(self) -> None:
        self.gives(self.add("ticks"), "out", "Stream", (("id", "bigint", True), ("n", "int", True)))

    def file(self) -> None:
        params = {"location": "landing", "file": "2026/orders.csv"}
        self.gives(self.add("reader", params), "out", "Table", (("line", "string", True),))

    def keep(self) -> None:
        if one := self.one("Table", "Stream"):
            self.gives(self.add("keep", in_=one), "out", "Table", one.columns)

    def cond(self) -> None:
        if one := self.one("Table", "Stream"):
            self.gives(self.add("cond", {"where": "id > 3 and name == 'x'"}, in_=one), "out", "Table", one.columns)

    def dedupe(self) -> None:
        if one := self.one("Table", "Stream", with_id=True):
            name = self.add(self.dice.choice(["dedupe", "dedupe@1", "dedupe@1.2.0"]), in_=one)
            self.gives(name, "out", "Table", _with_id(one.columns))
            self.gives(name, "dups", "Table", (("id", "bigint", True), ("n", "bigint", True)), is_discardable=True)

    def scan(self) -> None:
        if one := self.one("Table", "Stream"):
            self.gives(self.add("scan", in_=one), "out", "Stream", one.columns)

    def external(self) -> None:
        if one := self.one("Stream", with_id=True):
            self.gives(self.add("external", in_=one), "out", "Results", _with_id(one.columns))

    def unwrap(self) -> None:
        if one := self.one("Results"):
            name = self.add("unwrap", in_=one)
            self.gives(name, "ok", "Stream", one.columns)
            self.gives(name, "err", "Table", (("code", "string", True),))

    def pair(self) -> None:
        if one := self.one("Table", "Stream"):
            self.gives(self.add("pair", left=one, right=one), "out", "Table", one.columns)

    def merge(self) -> None:
        one = self.one("Table", "Stream")
        if one is None:
            return
        alike = [other for other in self.outputs if other.head in ("Table", "Stream")
                 and [c[:2] for c in other.columns] == [c[:2] for c in one.columns]]  # fmt: skip
        chosen = self.dice.sample(alike, self.dice.randint(1, len(alike)))
        name = self.add("merge")
        for other in chosen:
            self.connect(other, f"{name}.in")
        joined = tuple(
            (column[0], column[1], any(other.columns[at][2] for other in chosen))
            for at, column in enumerate(one.columns)
        )
        self.gives(name, "out", "Table", joined)

    def maybe(self) -> None:
        if one := self.one("Table"):
            self.gives(self.add("maybe", in_=one), "out", "Table", one.columns, is_discardable=True)

    def fan(self) -> None:
        if one := self.one("Table"):
            name = self.add("fan", in_=one)
            parts = [Output(f"{name}.part_{number}", "Table", one.columns) for number in range(1, 3)]
            self.outputs += parts
            gathered = self.add("gather", part_a=parts[0], part_b=parts[1])
            self.gives(gathered, "out", "Table", one.columns)

    def strict(self) -> None:
        fitting = [one for one in self.outputs if one.head == "Table"
                   and [(c[0], c[1]) for c in one.columns] == [("id", "bigint"), ("name", "string")]
                   and not one.columns[0][2]]  # fmt: skip
        if fitting:
            self.gives(self.add("strict", in_=fitting[0]), "out", "Value")

    def wide(self) -> None:
        if one := self.one("Table", with_id=True):
            self.gives(self.add("wide", in_=one), "out", "Table", (("id", "bigint", True),))

    def lines(self) -> None:
        if one := self.one("Bytes"):
            self.gives(self.add("lines", in_=one), "out", "Table", (("line", "string", True),))

    def panic(self) -> None:
        sources = self.dice.sample(list(self.nodes), min(len(self.nodes), self.dice.randint(1, 2)))
        name = self.add("handle")
        for source in sources:
            self.edges.append([f"{source}.panic", f"{name}.in"])
            self.handled.setdefault(source, set()).add(name)

    def stop(self) -> None:
        if one := self.one("Table", "Stream"):
            self.connect(one, f"{self.dice.choice(list(self.nodes))}.stop")

    def finish(self) -> None:
        """Read what nobody reads."""
        read = {edge[0] for edge in self.edges}
        sink = ""
        for one in self.outputs:
            if one.end in read or one.is_discardable:
                continue
            if one.end.partition(".")[2].startswith("part_") or self.dice.random() < 0.3:
                sink = sink or self.add("sink")
                self.connect(one, f"{sink}.in")
                continue
            formats = {"Bytes": ["bytes"], "Value": ["ndjson"]}.get(one.head, ["arrow", "parquet", "ndjson"])
            self.extract[f"x{len(self.extract)}"] = {"from": one.end, "format": self.dice.choice(formats)}


def _with_id(columns: Columns) -> Columns:
    return (("id", "bigint", True), *(column for column in columns if column[0] != "id"))
