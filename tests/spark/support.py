"""Small helpers of the Spark tests: works to run, and waiting for a condition."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pondage.define.pond.definition import ExpectationDefinition, ReadDefinition, RippleDefinition
from pondage.define.pond.run import Run
from pondage.spark.ripple.ripple import RippleWork
from pondage.work.snapshot import SnapshotContent
from tests.patience import PATIENCE_S


def until(condition: Callable[[], Any], what: str = "the condition") -> Any:
    """Answer the first true value of `condition`; fail when it does not come."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true in {PATIENCE_S:.0f} s")


def work(
    function: Callable[..., object] | None,
    destination: Path | str,
    *,
    inputs: Mapping[str, SnapshotContent | None] | None = None,
    rules: tuple[ExpectationDefinition, ...] = (),
    columns: tuple[str, ...] | None = None,
    sql: str | None = None,
    injects: tuple[str, ...] = ("spark",),
    run: Run | None = None,
    checks: Mapping[str, Callable[[], Any]] | None = None,
    contract: str | None = None,
    volumes: tuple[int, ...] = (),
) -> RippleWork:
    """Answer the work of a Ripple `sales.clean` that reads each of the inputs."""
    reads = tuple(
        ReadDefinition(parameter=name, ripple=name, columns=columns, by_check=name.startswith("check:"))
        for name in inputs or {}
    )
    return RippleWork(
        pond="sales",
        ripple=RippleDefinition(
            name="clean", kind="function" if sql is None else "sql", reads=reads, sql=sql, expectations=rules,
            injects=injects if sql is None else (),  # type: ignore[arg-type]
        ),
        function=function,
        inputs=inputs or {},
        run=run or Run(freshness_us=0),
        destination=str(destination),
        checks=checks or {},
        contract=contract,
        volumes=volumes,
    )  # fmt: skip


def rule(kind: str, **fields: Any) -> ExpectationDefinition:
    fields.setdefault("name", f"{kind}({fields.get('column', '')})")
    return ExpectationDefinition(kind=kind, **fields)  # type: ignore[arg-type]


def python(script: str, *arguments: object, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a Python process that can import what we can, with pipes for what it says."""
    path = os.pathsep.join(part for part in sys.path if part)
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, **(environment or {}), "PYTHONPATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def is_running(pid: int) -> bool:
    """Answer whether a process lives; one that has ended and is waited for by nobody does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    return state != "Z"
