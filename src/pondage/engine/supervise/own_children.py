"""The processes that a supervisor starts: workers and live hosts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from pondage.connect.store_settings import variables_named
from pondage.define.project import variables
from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.spawn import spawn, sweep_logs
from pondage.ledger.queue.queues import Role
from pondage.private import make_private

START_S = 30.0
"""A child that has not registered yet has at least this long: a busy machine starts slowly, again and again."""


class ChildProcess(Protocol):
    """What a supervisor needs of a child process; `subprocess.Popen` has it."""

    pid: int

    def poll(self) -> int | None:
        """Answer the exit code, or None while it runs."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


class OwnChild(msgspec.Struct, kw_only=True):
    """A process that this supervisor started."""

    process: ChildProcess
    public_id: str
    code: str
    started_s: float
    is_ending: bool = False
    heard_s: float | None = None
    """When the ledger last knew it; None: it has never registered."""


class OwnWorker(OwnChild, kw_only=True):
    """A worker among them, or a process for questions."""

    role: Role = "worker"

    mebibytes: int | None
    is_extra: bool
    busy_s: float
    """When it last had something to do."""


def kill_silent(
    children: Iterable[OwnChild],
    silent_us: dict[str, int],
    *,
    limit_s: float,
    now_s: float,
    tell: Callable[[OwnChild, str], None],
) -> None:
    """Kill children that are stuck: silent in the ledger, or not even registered. The next look buries them."""
    for child in children:
        silent_s = _unheard_s(child, silent_us.get(child.public_id), now_s=now_s, limit_s=limit_s)
        if silent_s is not None:
            tell(child, f"is silent for {silent_s:.0f} s and is killed")
            child.process.kill()


def _unheard_s(child: OwnChild, silent_us: int | None, *, now_s: float, limit_s: float) -> float | None:
    """Answer for how long a child is silent when that is too long.

    One that has left the ledger, or was declared dead there, is about to end: its time begins when we see that.
    """
    if silent_us is not None:
        child.heard_s = now_s
        silent_s, most_s = silent_us / 1e6, limit_s
    elif child.heard_s is not None:
        silent_s, most_s = now_s - child.heard_s, limit_s
    else:
        silent_s, most_s = now_s - child.started_s, max(limit_s, START_S)
    return silent_s if silent_s >= most_s else None


def start_process(config: WorkerConfig) -> subprocess.Popen[bytes]:
    """Start a worker as a process of its own, with its output under the state directory.

    Of our environment it gets what is known to be no secret. The rest it is told aside, for the secrets that name
    variables; a process for questions is told only those that its Spark needs to reach the warehouse.
    """
    logs = config.engine.state / "logs"
    make_private(logs)
    sweep_logs(logs, f"{config.role}-*.log")
    environment = variables.given(os.environ, config.engine.env)
    withheld = {name: value for name, value in os.environ.items() if name not in environment}
    if config.role == "questions":
        environment["SPARK_USER"] = "pondage"  # what current_user() says
        needed = variables_named(config.engine.spark, config.engine.secret_key)
        withheld = {name: value for name, value in withheld.items() if name in needed}
    return spawn(
        "pondage.engine.worker.process", msgspec.structs.replace(config, variables=withheld),
        output=logs / f"{config.role}-{config.public_id}.log", directory=config.engine.state, environment=environment,
    )  # fmt: skip


def ended(code: int) -> str:
    """Answer how a child ended, for people."""
    if code < 0:
        names = {each.value: each.name for each in signal.Signals}  # most real-time signals have none
        return f"was killed by {names.get(-code, f'signal {-code}')}"
    return f"ended with exit code {code}"
