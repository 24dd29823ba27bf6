"""Keeping live hosts: a supervisor has one process for each code archive with deployed reactors.

A reactor whose code was being called when a host died, twice lately, has a process of its own: its neighbours go on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from pondage.engine.live.calls import calls_path, under_way
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.engine.process.spawn import spawn, sweep_logs
from pondage.engine.supervise.children import Restarts, hold_words
from pondage.engine.supervise.own_children import ChildProcess, OwnChild, ended, kill_silent
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import reactors
from pondage.ledger.upkeep import reap
from pondage.private import make_private

LOST = 3
"""The exit code of a host that the ledger took for dead."""


class OwnHost(OwnChild, kw_only=True):
    """A live host among a supervisor's processes. `reactor`: the actor of the one that it runs alone."""

    reactor: int = 0

    @property
    def serves(self) -> tuple[str, int]:
        """Answer whose host it is."""
        return self.code, self.reactor


def _restart_key(code: str, reactor: int) -> str:
    return f"{code} {reactor}" if reactor else code


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
        self._children: dict[str, OwnHost] = {}
        self._restarts = Restarts()

    @property
    def children(self) -> list[OwnHost]:
        """Answer the live hosts of this supervisor."""
        return list(self._children.values())

    def tick(self, *, reaper: int) -> None:
        """Look once. Called by the supervisor's main thread."""
        self.bury(reaper=reaper)
        with self._ledger.reading() as tx:
            needed = {(row.host, row.actor if row.is_alone else 0) for row in reactors.deployed(tx)}
            beats = {row.public_id: tx.beat - row.heartbeat_at for row in processes.alive(tx)}
        kill_silent(
            self.children,
            beats,
            limit_s=self._ledger.durability.fence_after_s,
            now_s=self._clock(),
            tell=lambda child, what: self._say(f"live host {child.public_id} {what}"),
        )
        serving = {child.serves for child in self.children if not child.is_ending}
        held_back = self._restarts.held_back(self._clock())
        for code, reactor in sorted(needed - serving):
            if _restart_key(code, reactor) not in held_back:
                self._start(code, reactor)
        for child in self.children:
            if child.serves not in needed and not child.is_ending:
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
            # Whoever was taken for dead by the ledger ends by itself: that is nobody's fault.
            is_explained = code != LOST and not child.is_ending and self._blame(child)
            calls_path(self._config.state, child.public_id).unlink(missing_ok=True)
            del self._children[child.public_id]
            if not child.is_ending and not is_explained:
                now_s, key = self._clock(), _restart_key(child.code, child.reactor)
                hold_s = self._restarts.died(key, lived_s=now_s - child.started_s, now_s=now_s)
                if hold_s > 0:
                    self._say(hold_words(f"live hosts for code {child.code[:12]}", hold_s))

    def terminate(self) -> None:
        """Ask every live host to drain and end."""
        for child in self.children:
            child.is_ending = True
            child.process.terminate()

    def kill(self) -> None:
        """End every live host now; the next one goes on from the journals."""
        for child in self.children:
            child.process.kill()

    def _blame(self, child: OwnHost) -> bool:
        """Count the death against those that were being called; answer whether that takes a reactor out of its host."""
        actors = under_way(calls_path(self._config.state, child.public_id))
        if not actors:
            return False
        with self._ledger.transaction() as tx:
            alone = [actor for actor in actors if reactors.blame(tx, actor)]
        for actor in alone:
            self._say(f"live host {child.public_id}: reactor {actor} gets a process of its own")
        return bool(alone)

    def _start(self, code: str, reactor: int) -> None:
        public_id = self._ledger.ids.new("p")
        config = WorkerConfig(engine=self._config, public_id=public_id, code=code, parent=os.getpid(), reactor=reactor)
        self._children[public_id] = OwnHost(
            process=self._start_process(config),
            public_id=public_id,
            code=code,
            started_s=self._clock(),
            reactor=reactor,
        )
        what = f"reactor {reactor} alone" if reactor else "the reactors"
        self._say(f"live host {public_id} started for {what} of code {code[:12]}")


def start_live(config: WorkerConfig) -> ChildProcess:
    """Start a live host as a process of its own, with its output under the state directory."""
    logs = config.engine.state / "logs"
    make_private(logs)
    sweep_logs(logs, "live-*.log")
    return spawn(
        "pondage.engine.live.process", config,
        output=logs / f"live-{config.public_id}.log", directory=config.engine.state,
    )  # fmt: skip
