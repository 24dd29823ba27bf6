"""One try of a piece of work in this process: who may end it, how far it is, whether it was taken away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pondage.engine.attempt.log import AttemptLog
from pondage.ledger.kinds.kind import Work

GO_ON_LOOK_S = 0.02
"""How often somebody looks whether there is room to go on."""


def _at_once(unpark: Callable[[], None]) -> bool:
    unpark()
    return True


class Attempt:
    """A claimed piece of work while this process has it. Shared by its slot, the watch and the drain.

    Exactly one of them ends it: whoever gets True from `settle` writes the outcome and sets `is_written`, the others
    leave it alone.
    """

    def __init__(
        self, work: Work, log: AttemptLog, *, clock: Callable[[], float], on_phase: Callable[[str], None]
    ) -> None:
        self.work = work
        self.log = log
        self.began_s = clock()
        self.timed_from_s: float | None = self.began_s
        self.progressed_s = self.began_s
        self.phase = ""
        self.written_progress = ""
        self.summary: str | None = None
        """What Spark did for it, once that is known: it is committed with the outcome."""
        self.taken_away: str | None = None
        self.taken_away_s: float | None = None
        self.is_stuck = False
        """It was taken away and does not end: nothing can end its thread but the end of the process."""
        self.is_written = threading.Event()
        self.stopping = threading.Event()
        if work.claim.is_stopped:
            self.stopping.set()
        self._clock = clock
        self._on_phase = on_phase
        self._lock = threading.Lock()
        self._is_settled = False
        self._parked = 0
        self.go_on: Callable[[Callable[[], None]], bool] = _at_once
        """Given what ends its waiting: does it if there is room for one more that runs, and answers whether it did."""
        self.healthy_until_s: float | None = None
        """Of an external program: until when it said that it is well."""

    @property
    def token(self) -> str:
        """Answer the token of the claim."""
        return self.work.claim.token

    @property
    def is_settled(self) -> bool:
        """Answer whether somebody has begun to write the outcome."""
        return self._is_settled

    @property
    def is_parked(self) -> bool:
        """Answer whether it only waits for another component of its run, and so needs no slot."""
        return self._parked > 0

    @contextmanager
    def parked(self) -> Iterator[None]:
        """Wait for another component of the run: others may have the slot meanwhile, above all that one.

        Whoever took its place, where places are limited, keeps it until it ends or waits itself.
        """
        with self._lock:
            self._parked += 1
        try:
            yield
        finally:
            while not self.go_on(self._unpark):
                if self.taken_away is not None or self._is_settled:
                    self._unpark()
                    break
                time.sleep(GO_ON_LOOK_S)

    def _unpark(self) -> None:
        with self._lock:
            self._parked -= 1

    def enter(self, phase: str) -> None:
        """Say what is being done now, in the log and in the progress that people see."""
        self.phase = phase
        self.log.write("INFO", phase)
        self._on_phase(phase)

    def be_healthy(self, for_s: float) -> None:
        """Note that the program is well for so long from now, by its own word."""
        self.healthy_until_s = self._clock() + for_s

    def hold_timeout(self) -> None:
        """Do not count the time from now on: an author's timeout is for his own work, not for the start of Spark."""
        self.timed_from_s = None

    def start_timeout(self) -> None:
        """Count the time from now on."""
        self.timed_from_s = self._clock()

    def settle(self) -> bool:
        """Take the right to end this attempt. True for the first caller only."""
        with self._lock:
            was_settled, self._is_settled = self._is_settled, True
            return not was_settled

    def ask_to_stop(self) -> None:
        """Let the component know that it should close its outputs and return."""
        if not self.stopping.is_set():
            self.log.write("INFO", "asked to stop: it may close its outputs and return")
            self.stopping.set()

    def take_away(self, reason: str, now_s: float) -> None:
        """Note that the attempt no longer counts (cancelled, timed out, fenced): its Spark jobs are to be stopped.

        Whoever waits for a stop hears of it, too: nothing that it could still do is wanted.
        """
        if self.taken_away is None:
            self.taken_away = reason
            self.taken_away_s = now_s
            self.log.write("WARNING", f"stopping: {reason}")
            self.stopping.set()


def log_path(logs: Path, work: Work) -> Path:
    """Answer the file for the log of an attempt. Every part of it is an id of the ledger, never an author's text."""
    return logs / work.task.folder / f"{work.claim.dispatch}-{work.claim.epoch}.log"
