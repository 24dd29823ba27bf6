"""Saying that a process is alive, and noticing when nobody can have heard it for too long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from pondage.engine.process.backoff import jittered
from pondage.errors import LedgerError
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes

_log = logging.getLogger(__name__)


def steady_clock() -> float:
    """Answer seconds that go on while the machine sleeps: a suspended laptop was silent, too."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Heartbeat:
    """Beats for one process, in a thread and on a connection of its own.

    `on_lost(reason)` is called once when the process must stop: it was declared dead, or it could not beat for
    `fence_after_s` by its own clock, so that somebody may declare it dead at any moment.
    """

    def __init__(
        self,
        ledger: Ledger,
        process: int,
        *,
        fence_after_s: float,
        state: Callable[[], str],
        on_lost: Callable[[str], None],
        clock: Callable[[], float] = steady_clock,
    ) -> None:
        self._ledger = ledger
        self._process = process
        self._fence_after_s = fence_after_s
        self._state = state
        self._on_lost = on_lost
        self._clock = clock
        self._heard_at = clock()
        self._lock = threading.Lock()
        self._is_lost = False
        self._is_stopping = False
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._guard = threading.Thread(target=self._watch, name="heartbeat guard", daemon=True)
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin to beat every `heartbeat_s`."""
        self._thread.start()
        self._guard.start()

    def stop(self) -> None:
        """Stop beating; the ledger goes on believing in the process until somebody tells it otherwise."""
        self._is_stopping = True
        self._woken.set()
        self._stopped.set()
        for thread in (self._thread, self._guard):
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(timeout=5.0)

    def poke(self) -> None:
        """Beat soon, because the state has changed and people look at it."""
        self._woken.set()

    def beat(self) -> None:
        """Beat once."""
        # The moment before the transaction counts: what the ledger stores cannot be older than that.
        began_at = self._clock()
        try:
            with self._ledger.transaction() as tx:
                is_known = processes.beat(tx, self._process, state=self._state())
        except LedgerError as error:
            _log.warning("no heartbeat: %s", error)
            self.check()
            return
        if is_known:
            self._heard_at = began_at
        else:
            self._lose("it was declared dead")

    def check(self) -> None:
        """Fence this process when it was silent too long."""
        silent_s = self._clock() - self._heard_at
        if silent_s >= self._fence_after_s:
            self._lose(f"it could not reach the ledger for {silent_s:.0f} s")

    def _lose(self, reason: str) -> None:
        with self._lock:
            if self._is_lost:
                return
            self._is_lost = True
        self._on_lost(reason)
        # Whoever waits for an answer of the ledger must learn of this, too.
        self._ledger.driver.sever()

    def _watch(self) -> None:
        """Look at the clock alone: behind a dead network every question to the ledger hangs, the beat itself too."""
        while not self._stopped.wait(min(1.0, self._fence_after_s / 10)) and not self._is_lost:
            self.check()

    def _run(self) -> None:
        while not self._is_stopping and not self._is_lost:
            self.beat()
            self._woken.wait(jittered(self._ledger.durability.heartbeat_s))
            self._woken.clear()
