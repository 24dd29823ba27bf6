"""The small registry of components that conformance scenarios and tests are written with (spec/control.md 3.1)."""

from __future__ import annotations

from pondage.define.job.component import ComponentDefinition, Registry
from pondage.define.types.port import Port

_NEEDED, _OPTIONAL = Port(required=True), Port(required=False)


def _component(name: str, inputs: dict[str, Port], *outputs: str, startable: bool = False) -> ComponentDefinition:
    return ComponentDefinition(
        name=name, inputs=inputs, outputs={port: Port() for port in outputs}, startable=startable
    )


_ALL = (
    _component("source", {}, "main"),
    _component("transform", {"input": _NEEDED}, "main", "reject"),
    _component("sink", {"input": _NEEDED}),
    _component("task", {"input": _OPTIONAL}, "main"),
    _component("always", {"input": _OPTIONAL}, "main", startable=True),
    _component("join2", {"left": _NEEDED, "right": _NEEDED}, "main"),
    _component("opt2", {"left": _NEEDED, "right": _OPTIONAL}, "main"),
    _component("union", {"input": Port(required=True, multi=True)}, "main"),
    _component("fanout", {"input": _OPTIONAL}, "output_*"),
    _component("split", {"input_*": _NEEDED}, "main"),
    ComponentDefinition(name="iterator", kind="iterator", inputs={"input": _OPTIONAL}, outputs={"item": Port()}),
)

TEST_REGISTRY: Registry = {component.name: component for component in _ALL}
