"""The worker processes of a supervisor."""

from __future__ import annotations

import signal
import subprocess
from typing import Protocol

import msgspec

from pondage.engine.config import WorkerConfig
from pondage.engine.spawn import spawn, sweep_logs


class WorkerProcess(Protocol):
    """What a supervisor needs of a child process; `subprocess.Popen` has it."""

    pid: int

    def poll(self) -> int | None:
        """Answer the exit code, or None while it runs."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


class OwnChild(msgspec.Struct, kw_only=True):
    """A worker that this supervisor started."""

    process: WorkerProcess
    public_id: str
    code: str
    started_s: float
    mebibytes: int | None
    is_extra: bool
    busy_s: float
    """When it last had something to do."""
    is_ending: bool = False


def start_process(config: WorkerConfig) -> subprocess.Popen[bytes]:
    """Start a worker as a process of its own, with its output under the state directory."""
    logs = config.engine.state / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    sweep_logs(logs, "worker-*.log")
    return spawn(
        "pondage.engine.worker", config,
        output=logs / f"worker-{config.public_id}.log", directory=config.engine.state,
    )  # fmt: skip


def ended(code: int) -> str:
    """Answer how a child ended, for people."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
