"""Keeping live hosts: a supervisor has one process for each code archive with deployed reactors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.engine.process.spawn import spawn, sweep_logs
from pondage.engine.supervise.children import Restarts
from pondage.engine.supervise.own_children import ChildProcess, OwnChild, ended, kill_silent
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import reactors
from pondage.ledger.upkeep import reap
from pondage.private import make_private


class LiveKeeper:
    """Starts a live host for each archive that needs one, ends those that nobody needs, buries the dead at once."""

    def __init__(
        self,
        config: EngineConfig,
        ledger: Ledger,
        *,
        say: Callable[[str], None],
        start: Callable[[WorkerConfig], ChildProcess] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._ledger = ledger
        self._say = say
        self._start_process = start or start_live
        self._clock = clock
        self._children: dict[str, OwnChild] = {}
        self._restarts = Restarts()

    @property
    def children(self) -> list[OwnChild]:
        """Answer the live hosts of this supervisor."""
        return list(self._children.values())

    def tick(self, *, reaper: int) -> None:
        """Look once. Called by the supervisor's main thread."""
        self.bury(reaper=reaper)
        with self._ledger.reading() as tx:
            needed = {row.host for row in reactors.deployed(tx)}
            beats = {row.public_id: tx.beat - row.heartbeat_at for row in processes.alive(tx)}
        kill_silent(
            self.children,
            beats,
            limit_s=self._ledger.durability.fence_after_s,
            now_s=self._clock(),
            tell=lambda child, what: self._say(f"live host {child.public_id} {what}"),
        )
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
            reason = ended(code)
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
        self._children[public_id] = OwnChild(
            process=self._start_process(config), public_id=public_id, code=code, started_s=self._clock()
        )
        self._say(f"live host {public_id} started for the reactors of code {code[:12]}")


def start_live(config: WorkerConfig) -> ChildProcess:
    """Start a live host as a process of its own, with its output under the state directory."""
    logs = config.engine.state / "logs"
    make_private(logs)
    sweep_logs(logs, "live-*.log")
    return spawn(
        "pondage.engine.live.process", config,
        output=logs / f"live-{config.public_id}.log", directory=config.engine.state,
    )  # fmt: skip
