"""The loop that runs the maintenance services of a process, each at its own pace."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from pondage.engine.process.backoff import Backoff, jittered
from pondage.ledger.database.driver import Changes

BREATH_S = 0.02

_log = logging.getLogger(__name__)


class Service(Protocol):
    """Something that is done again and again. A pass is short, may be repeated, and two processes may do it at once."""

    name: str
    is_woken: bool
    """Whether a change in the ledger is a reason to look at once."""

    def run_once(self) -> float:
        """Do one pass and answer after how many seconds, at the latest, the next one is due."""


class Maintenance:
    """Runs services in one thread. An error of one is logged and holds up nobody else; it is tried again, ever later.

    `on_pass(name)` is called after each pass.
    """

    def __init__(
        self,
        services: Sequence[Service],
        changes: Changes,
        *,
        on_pass: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._services = services
        self._changes = changes
        self._on_pass = on_pass
        self._clock = clock
        self._due_s = {service.name: 0.0 for service in services}
        self._backoffs = {service.name: Backoff(first_s=0.5, longest_s=30.0) for service in services}
        self._is_stopping = False
        self._paused = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the pass that is under way."""
        self._is_stopping = True
        self._paused.set()
        self._changes.wake()
        self._thread.join(timeout=10.0)

    def run_due(self, *, is_changed: bool) -> float:
        """Run every service whose time has come, and answer how long nothing will be due."""
        for service in self._services:
            is_woken = is_changed and service.is_woken and not self._backoffs[service.name].failures
            if is_woken or self._due_s[service.name] <= self._clock():
                self._due_s[service.name] = self._clock() + self._pass(service)
                self._on_pass(service.name)
        return max(0.0, min(self._due_s.values(), default=1.0) - self._clock())

    def _pass(self, service: Service) -> float:
        backoff = self._backoffs[service.name]
        try:
            wait_s = service.run_once()
        except Exception:  # noqa: BLE001 - logged, and tried again
            _log.exception("maintenance service %s failed", service.name)
            return backoff.failed()
        backoff.succeeded()
        return jittered(wait_s)

    def _run(self) -> None:
        is_changed = False
        while not self._is_stopping:
            wait_s = self.run_due(is_changed=is_changed)
            try:
                is_changed = self._changes.wait(wait_s)
                # Under load somebody commits every few milliseconds: look at many changes at once.
                self._paused.wait(BREATH_S)
            except Exception:  # noqa: BLE001 - logged; the services go on by their own times
                _log.exception("cannot watch the ledger for changes")
                is_changed = False
                self._paused.wait(jittered(1.0))
