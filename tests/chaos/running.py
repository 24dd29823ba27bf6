"""One fault as a value, and one run of it: what was done, and what is wrong afterwards."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.arena import CHAINS, Arena, NotDone
from tests.services.postgres import PostgresServer

BOTH = ("sqlite", "postgres")
SERVER_ONLY = ("postgres",)
Play = Callable[[Arena], None]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One row of the matrix."""

    row: str
    name: str
    play: Play
    databases: tuple[str, ...] = BOTH
    arena: dict[str, object] = field(default_factory=dict)
    sign: str = ""
    """Of a control: what the checker must say about it. Whatever else goes wrong there proves nothing."""
    may_fail: bool = False
    """Whether Runs may end failed or killed: the fault is the author's, the operator's or the disk's."""

    @property
    def is_control(self) -> bool:
        return bool(self.sign)


@dataclass(kw_only=True)
class Result:
    """How one run of one fault ended."""

    fault: Fault
    database: str
    seed: int
    seconds: float
    steps: int = 0
    reaps: int = 0
    fenced: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)

    @property
    def is_caught(self) -> bool:
        """Whether the checker found what a control is about."""
        return any(self.fault.sign in found for found in (*self.lost, *self.doubled))

    @property
    def is_sound(self) -> bool:
        return not self.lost and not self.doubled


def run(fault: Fault, database: str, server: PostgresServer | None, seed: int, folder: Path | None = None) -> Result:
    """Run one fault once, and look at what is left."""
    with tempfile.TemporaryDirectory(prefix="pondage-chaos-") as made:
        arena = Arena((folder or Path(made)) / "arena", database, server, seed=seed, **fault.arena)  # type: ignore[arg-type]
        result = Result(fault=fault, database=database, seed=seed, seconds=0.0)
        began = time.monotonic()
        try:
            fault.play(arena)
            if not fault.is_control:  # what a control has broken may never end
                arena.wait_quiet()
                arena.wait("files that nobody published were collected", lambda: not arena.orphans())
        except NotDone as error:
            result.lost.append(str(error))
        except AssertionError as error:
            result.lost.append(f"{fault.name}: {error}")
        finally:
            for found in arena.violations():
                is_doubled = "successful executions" in found or "published" in found
                if is_doubled and " 0 successful" not in found:
                    result.doubled.append(found)
                elif not (fault.may_fail and ("run failed" in found or "successful executions" in found)):
                    result.lost.append(found)
            result.steps = arena.done()
            if result.steps < 3 * CHAINS and not fault.is_control:
                result.lost.append(f"only {result.steps} steps were done: that proves nothing")
            result.reaps = len(arena.noted("reaped"))
            result.fenced = len(arena.noted("fenced"))
            result.seconds = time.monotonic() - began
            if not result.is_sound:
                _keep_logs(arena, result)
            arena.close()
    return result


def _keep_logs(arena: Arena, result: Result) -> None:
    """Say what the processes said, before it is thrown away."""
    for machine in arena.machines:
        files = [machine.folder / "output.log", *sorted((machine.folder / ".pondage" / "logs").glob("*.log"))]
        for file in files:
            if file.exists() and (text := file.read_text(errors="replace").strip()):
                result.lost.append(f"--- {machine.name} {file.name}: …{text[-1500:]}")
