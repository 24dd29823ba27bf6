"""Asking an executor from a thread that must never hang: a stopped JVM answers nobody, and the watch must go on."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.executor import Executor, Result
from pondage.work.failure import Failure
from pondage.work.progress import JobProgress

ANSWER_S = 0.2
"""How long a question waits for its answer; after that the last one stands."""

_log = logging.getLogger(__name__)


class Aside:
    """An executor around another one whose `cancel`, `progress` and `is_alive` never block.

    They are carried out by one thread, in order. A question that is not answered in time is answered as before; one
    that is already waiting is not asked twice.
    """

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self._waiting: queue.SimpleQueue[tuple[str, Callable[[], None], threading.Event]] = queue.SimpleQueue()
        self._pending: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._progress: dict[str, JobProgress] = {}
        self._is_alive = True
        threading.Thread(target=self._run, name="aside", daemon=True).start()

    def execute(self, attempt: Attempt) -> Result:
        """Do the work in the calling thread."""
        try:
            return self._inner.execute(attempt)
        finally:
            self._progress.pop(attempt.token, None)

    def failure(self, error: BaseException) -> Failure:
        """Say why `execute` raised."""
        return self._inner.failure(error)

    def cancel(self, token: str) -> None:
        """Have the attempt's jobs stopped, soon."""
        self._ask(f"cancel {token}", lambda: self._inner.cancel(token))

    def progress(self, token: str) -> JobProgress:
        """Answer how far the attempt is, or was when the driver last answered."""

        def look() -> None:
            self._progress[token] = self._inner.progress(token)

        self._ask(f"progress {token}", look)
        return self._progress.get(token, JobProgress())

    def discard(self, attempt: Attempt) -> None:
        """Throw away what an attempt wrote."""
        self._inner.discard(attempt)

    def is_alive(self) -> bool:
        """Answer whether work can be done, as far as is known: a driver that does not answer is not dead."""

        def look() -> None:
            self._is_alive = self._inner.is_alive()

        self._ask("is alive", look)
        return self._is_alive

    def ran_out_of_memory(self) -> bool:
        """Answer why the driver has died: only for one that is known to be dead."""
        return not self._is_alive and self._inner.ran_out_of_memory()

    def stop(self) -> None:
        """End the other one."""
        self._inner.stop()

    def _ask(self, key: str, action: Callable[[], None]) -> None:
        with self._lock:
            done = self._pending.get(key)
            if done is None:
                done = self._pending[key] = threading.Event()
                self._waiting.put((key, action, done))
        done.wait(ANSWER_S)

    def _run(self) -> None:
        while True:
            key, action, done = self._waiting.get()
            try:
                action()
            except Exception:  # noqa: BLE001 - logged; the next question may be answered
                _log.exception("the executor did not answer: %s", key)
            finally:
                with self._lock:
                    self._pending.pop(key, None)
                done.set()
