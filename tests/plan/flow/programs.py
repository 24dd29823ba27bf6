"""The programs of the tests: generic ones, streams, an external one, handlers of panics; none of them is ever run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pondage.define.job.component import ComponentDefinition, Registry, Schema
from pondage.define.job.flow import FlowRefused
from pondage.define.types.port import Port
from pondage.plan.flow.planner import PlannedFlow, plan_flow
from pondage.project.tree import load_tree

LOCATIONS = {"landing": "/data/landing"}
_ROW = {"R": "row"}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string", "format": "type"}}


def _program(name: str, inputs: Mapping[str, str | Port], outputs: Mapping[str, str | Port], **more: Any) -> Any:
    return ComponentDefinition(
        name=name, exposed=more.pop("exposed", True), after=(), globals=(), vars=more.pop("vars", _ROW),
        inputs={key: Port(type=one) if isinstance(one, str) else one for key, one in inputs.items()},
        outputs={key: Port(type=one) if isinstance(one, str) else one for key, one in outputs.items()},
        **more,
    )  # fmt: skip


def _params(*required: str, **properties: object) -> dict[str, object]:
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


_READER = _params(
    location={"type": "string", "format": "location"}, file={"type": "string", "format": "file"},
    path={"type": "string", "format": "path"},
)  # fmt: skip

PROGRAMS: Registry = {
    one.name: one
    for one in (
        _program("rows", {}, {"out": "Table<Any>"}, params=_params("columns", columns=_TEXTS), deterministic=True),
        _program("ticks", {}, {"out": "Stream<{id: bigint, n: int}>"}, mode="stream", deterministic=True),
        _program("keep", {"in": "Table<R>"}, {"out": "Table<R>"}, deterministic=True),
        _program("dedupe", {"in": "Table<{id: bigint | R}>"}, {
            "out": "Table<{id: bigint | R}>", "dups": Port("Table<{id: bigint, n: bigint}>", discardable=True),
        }, version="1.2.0", deterministic=True),
        _program("scan", {"in": "Stream<R>"}, {"out": "Stream<R>"}, mode="stream", deterministic=True),
        _program("external", {"in": "Stream<{id: bigint | R}>"}, {"out": "Stream<Result<{id: bigint | R}>>"},
                 mode="stream", restartable=False),
        _program("unwrap", {"in": "Stream<Result<R>>"}, {"ok": "Stream<R>", "err": "Table<{code: string}>"},
                 mode="stream"),
        _program("pair", {"left": "Table<R>", "right": "Table<R>"}, {"out": "Table<R>"}, deterministic=True),
        _program("merge", {"in": Port("Table<R>", multi=True)}, {"out": "Table<R>"}, deterministic=True),
        _program("maybe", {"in": Port("Table<R>", required=False)}, {"out": Port("Table<R>", discardable=True)}),
        _program("strict", {"in": "Table<{id: bigint not null, name: string}>"}, {"out": "Value<bigint>"}),
        _program("wide", {"in": Port("Table<{id: bigint}>", accept="upcast")}, {"out": "Table<{id: bigint}>"}),
        _program("lines", {"in": "Bytes<text/csv>"}, {"out": "Table<{line: string}>"}),
        _program("handle", {"in": Port("Table<Panic>", multi=True)}, {"out": Port("Table<Panic>", discardable=True)}),
        _program("sink", {"in": Port("Any", multi=True)}, {}),
        _program("fan", {"in": "Table<R>"}, {"part_*": "Table<R>"}),
        _program("gather", {"part_*": "Table<R>"}, {"out": "Table<R>"}),
        _program("cond", {"in": "Table<R>"}, {"out": "Table<R>"}, deterministic=True,
                 params=_params("where", where={"type": "string", "format": "expression"})),
        _program("reader", {}, {"out": "Table<{line: string}>"}, params=_READER),
        _program("element", {"in": Port("Value<Any>", required=False, job_only=True)}, {"out": "Table<{a: int}>"}),
        _program("guess", {"in": "Table<Any>"}, {"out": "infer"}),
        _program("secret", {}, {"out": "Table<{a: int}>"}, exposed=False),
        _program("loop", {}, {"item": "Value<Any>"}, kind="iterator"),
    )
}  # fmt: skip


def _rows(inputs: Mapping[str, str], params: Mapping[str, object]) -> Mapping[str, str]:
    del inputs
    columns: Any = params["columns"]
    return {"out": "Table<{" + ", ".join(f"{name}: {kind}" for name, kind in columns.items()) + "}>"}


SCHEMAS: Mapping[str, Schema] = {"rows": _rows}


def planned(document: object, *, registry: Registry = PROGRAMS, fuses: bool = True) -> PlannedFlow:
    """Load and plan a document; raises FlowRefused with everything that is wrong."""
    loaded = load_tree(document if isinstance(document, str | bytes) else json.dumps(document))
    if loaded.tree is None:
        raise FlowRefused(loaded.problems)
    return plan_flow(loaded.tree, registry, schemas=SCHEMAS, locations=LOCATIONS, fuses=fuses)
