"""Keeping live hosts: a supervisor has one process for each code archive with deployed reactors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from pondage.engine.children import Restarts
from pondage.engine.config import EngineConfig, WorkerConfig
from pondage.engine.own_children import unheard_s
from pondage.engine.spawn import spawn, sweep_logs
from pondage.ledger import processes, reactors, reap
from pondage.ledger.ledger import Ledger


class LiveProcess(Protocol):
    """What a keeper needs of a child process; `subprocess.Popen` has it."""

    pid: int

    def poll(self) -> int | None:
        """Answer the exit code, or None while it runs."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


class LiveChild(msgspec.Struct, kw_only=True):
    """A live host that this supervisor started."""

    process: LiveProcess
    public_id: str
    code: str
    started_s: float
    is_ending: bool = False
    is_known: bool = False


class LiveKeeper:
    """Starts a live host for each archive that needs one, ends those that nobody needs, buries the dead at once."""

    def __init__(
        self,
        config: EngineConfig,
        ledger: Ledger,
        *,
        say: Callable[[str], None],
        start: Callable[[WorkerConfig], LiveProcess] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._say = say
        self._start_process = start or start_live
        self._clock = clock
        self._children: dict[str, LiveChild] = {}
        self._restarts = Restarts()

    @property
    def children(self) -> list[LiveChild]:
        """Answer the live hosts of this supervisor."""
        return list(self._children.values())

    def tick(self, *, reaper: int) -> None:
        """Look once. Called by the supervisor's main thread."""
        self.bury(reaper=reaper)
        with self._ledger.reading() as tx:
            needed = {row.host for row in reactors.deployed(tx)}
            beats = {row.public_id: tx.beat - row.heartbeat_at for row in processes.alive(tx)}
        self._kill_silent(beats)
        serving = {child.code for child in self.children if not child.is_ending}
        for code in sorted(needed - serving - self._restarts.held_back(self._clock())):
            self._start(code)
        for child in self.children:
            if child.code not in needed and not child.is_ending:
                self._say(f"live host {child.public_id} ends: no reactor needs its code")
                child.is_ending = True
                child.process.terminate()

    def bury(self, *, reaper: int) -> None:
        """Free at once what children owned that have ended: another host takes over in milliseconds."""
        for child in self.children:
            code = child.process.poll()
            if code is None:
                continue
            reason = f"ended with exit code {code}"
            if reap.bury(self._ledger, public_id=child.public_id, role="live", reason=reason, reaper=reaper):
                self._say(f"live host {child.public_id} {reason}")
            del self._children[child.public_id]
            if not child.is_ending:
                now_s = self._clock()
                self._restarts.died(child.code, lived_s=now_s - child.started_s, now_s=now_s)

    def terminate(self) -> None:
        """Ask every live host to drain and end."""
        for child in self.children:
            child.is_ending = True
            child.process.terminate()

    def kill(self) -> None:
        """End every live host now; the next one goes on from the journals."""
        for child in self.children:
            child.process.kill()

    def _start(self, code: str) -> None:
        public_id = self._ledger.ids.new("p")
        config = WorkerConfig(engine=self._config, public_id=public_id, code=code, parent=os.getpid())
        self._children[public_id] = LiveChild(
            process=self._start_process(config), public_id=public_id, code=code, started_s=self._clock()
        )
        self._say(f"live host {public_id} started for the reactors of code {code[:12]}")

    def _kill_silent(self, silent_us: dict[str, int]) -> None:
        durability = self._ledger.durability
        limit_s = durability.reap_after_s - durability.child_margin_s
        for child in self.children:
            child.is_known |= child.public_id in silent_us
            silent_s = unheard_s(
                silent_us=silent_us.get(child.public_id), is_known=child.is_known,
                started_s=child.started_s, now_s=self._clock(), limit_s=limit_s,
            )  # fmt: skip
            if silent_s is not None:
                self._say(f"live host {child.public_id} is silent for {silent_s:.0f} s and is killed")
                child.process.kill()


def start_live(config: WorkerConfig) -> LiveProcess:
    """Start a live host as a process of its own, with its output under the state directory."""
    logs = config.engine.state / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    sweep_logs(logs, "live-*.log")
    return spawn(
        "pondage.engine.live.process", config,
        output=logs / f"live-{config.public_id}.log", directory=config.engine.state,
    )  # fmt: skip
