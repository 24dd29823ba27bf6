"""What `doctor` finds: looked for by a process of its own, which may load Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from pondage.views.answers import CheckView, DoctorView

TIMEOUT_S = 120.0
CLUSTER_TIMEOUT_S = 300.0


def examined(directory: Path, *, is_replaying: bool = False, has_cluster: bool = False) -> DoctorView:
    """Let the engine look at this machine and at a project, and answer what it found."""
    checks = tuple(_checks(directory, is_replaying=is_replaying, has_cluster=has_cluster))
    return DoctorView(ok=all(each.ok for each in checks), checks=checks)


def _checks(directory: Path, *, is_replaying: bool, has_cluster: bool) -> list[CheckView]:
    command = [sys.executable, "-m", "pondage.engine.services.doctor", "--json", "--project", str(directory)]
    command += [*(["--replay"] if is_replaying else []), *(["--cluster"] if has_cluster else [])]
    timeout_s = CLUSTER_TIMEOUT_S if has_cluster else TIMEOUT_S
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False, env=child_environment())
    except subprocess.TimeoutExpired:
        return [CheckView(check="doctor", ok=False, detail=f"no answer within {timeout_s:g} s")]
    try:
        return msgspec.json.decode(done.stdout, type=list[CheckView])
    except msgspec.MsgspecError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        detail = said[-1] if said else "the checks ended without an answer"
        return [CheckView(check="doctor", ok=False, detail=detail, hint="python -m pondage.engine.services.doctor")]


def child_environment() -> dict[str, str]:
    """Answer the environment of a child that imports what we import, also when Pondage is on the path only."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
