"""The parameters of an iterator."""

from __future__ import annotations

import re

from pondage.define.job.job import Call, JobConfig
from pondage.expr import ExprSyntax, compile_text
from pondage.kernel.control.shape import IteratorShape
from pondage.plan.job.graph import Findings

MODES = ("rows", "groups", "files", "while")
MOST = {"parallel": 10_000, "max_iterations": 1_000_000_000}
GLOBALS = ("accumulate", "reset", "override")


def check_iterator(call: Call, findings: Findings) -> None:
    """Note every parameter that an iterator cannot use."""
    params = call.params
    for name, allowed in (("mode", MODES), ("globals", GLOBALS), ("fail_strategy", ("halt", "continue"))):
        if name in params and params[name] not in allowed:
            _wrong(call, name, f"one of {', '.join(allowed)}", findings)
    for name, most in MOST.items():
        value = params.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            _wrong(call, name, f"a number from 1 to {most:,}", findings)
    tolerate = params.get("tolerate", 0)
    is_number = isinstance(tolerate, int) and not isinstance(tolerate, bool) and tolerate >= 0
    if not is_number and not (isinstance(tolerate, str) and re.fullmatch(r"\d+(\.\d+)?%", tolerate)):
        _wrong(call, "tolerate", "a number, or a text like 5%", findings)
    needed = {"while": ("condition",), "groups": ("key",), "files": ("location", "glob")}
    for name in needed.get(str(params.get("mode", "rows")), ()):
        if name not in params:
            _wrong(call, name, f"given in mode {params['mode']}", findings)
    if "condition" in params:
        try:
            compile_text(str(params["condition"]))
        except ExprSyntax as error:
            findings.wrong("EXPR_SYNTAX", f"{call.name} (condition): {error}", call.place)


def _wrong(call: Call, name: str, wanted: str, findings: Findings) -> None:
    findings.wrong("PARAMS_SCHEMA", f"{call.name}: params.{name} must be {wanted}", call.place)


def iterator_shape(call: Call, config: JobConfig) -> IteratorShape:
    """Give how an iterator repeats its body; the job's config gives what its own params leave open."""
    params = call.params
    tolerate = params.get("tolerate")
    condition = params.get("condition")
    return IteratorShape(
        mode=str(params.get("mode", "rows")),
        condition=None if condition is None else compile_text(str(condition)),
        parallel=_number(params.get("parallel"), 1),
        halts=params.get("fail_strategy", config.fail_strategy) == "halt",
        tolerate=tolerate if isinstance(tolerate, int) else None,
        tolerate_percent=float(tolerate[:-1]) if isinstance(tolerate, str) else None,
        globals=str(params.get("globals", "accumulate")),
        max_iterations=_number(params.get("max_iterations"), 10_000),
    )


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
