"""Operating-system signals, delivered to an ordinary thread."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from types import FrameType


class SignalWatch:
    """Calls `on_signal(number)` in a thread of its own for each signal that arrives.

    A Python handler runs between two instructions of the main thread, which may hold any lock. It therefore only puts
    the number on a `SimpleQueue`, the one primitive that is made for that; locks, events and the ledger are touched by
    the thread.
    """

    def __init__(self, numbers: tuple[signal.Signals, ...], on_signal: Callable[[int], None]) -> None:
        self._numbers = numbers
        self._on_signal = on_signal
        self._arrived: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._previous: dict[int, object] = {}
        self._thread = threading.Thread(target=self._deliver, name="signals", daemon=True)

    def __enter__(self) -> SignalWatch:
        for number in self._numbers:
            self._previous[number] = signal.signal(number, self._handle)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() answered before
        self._arrived.put(None)
        self._thread.join()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._arrived.put(number)

    def _deliver(self) -> None:
        while (number := self._arrived.get()) is not None:
            self._on_signal(number)
