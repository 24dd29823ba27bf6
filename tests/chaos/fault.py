"""Running a real `pondage dev` that stops at a checkpoint, and killing it there."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pondage.engine.process.config import config_of
from pondage.ledger.ledger import Ledger
from pondage.project.project import Project
from tests.patience import PATIENCE_S

PLUGIN = Path(__file__).parent / "plugin"
ROOT = Path(__file__).parents[2]

_PONDAGE = "from pondage.cli.main import main; main()"


class Dev:
    """`pondage dev` in a process group of its own, stopped at `point` when one is given, without Spark if plain."""

    def __init__(self, project: Project, *, point: str | None = None, is_plain: bool = False) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PLUGIN), str(ROOT / "src")])}
        if is_plain:
            events = str(project.root / "events")
            environment["PONDAGE_CHAOS"] = json.dumps({"executor": "plain", "events": events})
        self._pipe: int | None = None
        if point is not None:
            pipe, mark = project.root / "checkpoint.pipe", project.root / "checkpoint.mark"
            for left in (pipe, mark):  # by one that was killed here before
                left.unlink(missing_ok=True)
            os.mkfifo(pipe)
            # Opened before anybody writes, so that the writer never waits for us.
            self._pipe = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            environment |= {
                "PONDAGE_CHAOS_POINT": point,
                "PONDAGE_CHAOS_PIPE": str(pipe),
                "PONDAGE_CHAOS_MARK": str(mark),
            }
        self._output = (project.root / "dev.out").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PONDAGE, "dev"],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT,
            env=environment, cwd=project.root, start_new_session=True,
        )  # fmt: skip

    def wait_reached(self) -> int:
        """Wait until some process is at the checkpoint and answer its pid."""
        assert self._pipe is not None
        readable, _, _ = select.select([self._pipe], [], [], PATIENCE_S)
        assert readable, "the checkpoint was never reached"
        return int(os.read(self._pipe, 100))

    def kill_group(self) -> None:
        """Kill everything at once, as the kernel or a power switch does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self._end()

    def kill(self) -> None:
        """Kill the supervisor alone."""
        self.process.kill()
        self._end()

    def drain(self) -> int:
        """Ask it to end, and answer the exit code."""
        self.process.terminate()
        return self._end()

    def _end(self) -> int:
        code = self.process.wait(PATIENCE_S)
        self._output.close()
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        return code


def parent_of(pid: int) -> int:
    """Answer the pid of a process's parent."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def wait_ended(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = select.select([descriptor], [], [], PATIENCE_S)
        assert readable, f"process {pid} does not end"
    finally:
        os.close(descriptor)


def wait_for(ledger: Ledger, is_reached: Callable[[], bool]) -> None:
    """Wait until a change of the ledger makes something true."""
    changes = ledger.driver.changes()
    deadline = time.monotonic() + PATIENCE_S
    while not is_reached():
        assert time.monotonic() < deadline, "it never came true"
        changes.wait(1.0)


def opened(project: Project) -> Ledger:
    """Open the project's ledger, as an onlooker."""
    return config_of(project).open_ledger()
