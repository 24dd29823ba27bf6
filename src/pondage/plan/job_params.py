"""Parameters against the JSON Schema that a component declares."""

from __future__ import annotations

from pondage.define.component import ComponentDefinition
from pondage.define.job import Call
from pondage.define.schema import violations
from pondage.plan.job_graph import Findings


def check_params(definition: ComponentDefinition, call: Call, findings: Findings) -> None:
    """Note every parameter that does not fit."""
    for path, message in violations(definition.params, call.params, "params"):
        findings.wrong("PARAMS_SCHEMA", f"{call.name}: {path}: {message}", call.place)
