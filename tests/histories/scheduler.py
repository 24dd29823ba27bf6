"""A world that one seed decides: simulated processes whose threads take turns, and a clock that nobody else moves.

Every thread of a simulated process is a real thread, but only one of all of them runs at any moment, and it gives the
turn away in a few places only: before and after each transaction, and where it would wait. Which thread is next, how
long things take, who dies, who freezes and which answer is lost comes from the seed. The same seed gives the same
history, whatever the machine does.
"""

from __future__ import annotations

import random
import threading
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from enum import Enum
from typing import Any

SECOND = 1_000_000


class Died(BaseException):
    """The simulated process is gone. It is no Exception: no code of ours may catch it."""


class Stuck(Exception):
    """The history does not end: what should be done is not done, however long one waits."""


class Fate(Enum):
    """What happens to one transaction of a process."""

    FINE = "fine"
    DIES_BEFORE = "dies before"
    DIES_INSIDE = "dies inside"
    DIES_AFTER = "dies after its commit"
    UNREACHED = "does not reach the database"
    ANSWER_LOST = "loses the answer"
    FREEZES_BEFORE = "freezes before"
    FREEZES_AFTER = "freezes after its commit"


class SimulatedClock:
    """The clock of the one host: `beat` only goes forward, `now` may be stepped by somebody."""

    boot = "simulated"

    def __init__(self) -> None:
        self.time = 1_000 * SECOND
        self.step = 0

    def now(self) -> int:
        return self.time + self.step

    def beat(self) -> int:
        return self.time


class Task:
    """One thread of a simulated process."""

    def __init__(self, scheduler: Scheduler, process: Process, name: str, body: Callable[[], None]) -> None:
        self.process = process
        self.name = name
        self.wake_at = scheduler.clock.time
        self.is_over = False
        self.is_woken = False
        self._scheduler = scheduler
        self._body = body
        self._turn = _held_lock()
        self._thread = threading.Thread(target=self._run, name=f"{process.name}/{name}", daemon=True)
        self._thread.start()

    def give_turn(self) -> None:
        """Let whoever is next run; called by this thread. Raises `Died` when its process has died meanwhile."""
        if not self._pass_on():
            self._turn.acquire()
        self._scheduler.current = self
        if self.process.is_dead:
            raise Died

    def start_turn(self) -> None:
        """Let this thread run; called by whoever had the turn."""
        self._turn.release()

    def _pass_on(self) -> bool:
        """Hand the turn to the next thread, or to the scheduler's own. True when it is ours again at once."""
        following = self._scheduler.following()
        if following is self and not self.is_over:
            return True
        if following is None:
            self._scheduler.turn.release()
        else:
            following.start_turn()
        return False

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        self._turn.acquire()
        self._scheduler.current = self
        try:
            if not self.process.is_dead:
                self._body()
        except Died:
            pass
        except BaseException:  # noqa: BLE001 - an error that no process should have: the history fails with it
            self._scheduler.errors.append(f"{self.process.name}/{self.name}: {traceback.format_exc()}")
        finally:
            self.is_over = True
            self._pass_on()


class Process:
    """A simulated process: its threads live, freeze and die together."""

    def __init__(self, scheduler: Scheduler, name: str, *, weight: float = 1.0, is_mortal: bool = True) -> None:
        self.scheduler = scheduler
        self.name = name
        self.weight = weight
        self.is_mortal = is_mortal
        self.is_dead = False
        self.frozen_until = 0
        self.exit_code: int | None = None
        self.pid = scheduler.new_pid(self)

    def spawn(self, name: str, body: Callable[[], None]) -> Task:
        """Start a thread."""
        task = Task(self.scheduler, self, name, body)
        self.scheduler.tasks.append(task)
        return task

    def die(self, code: int = -9) -> None:
        """End at once: none of its threads gets another turn."""
        if not self.is_dead:
            self.is_dead = True
            self.exit_code = code
            self.scheduler.log(f"{self.name} ends with {code}")

    def freeze(self, us: int) -> None:
        """Stop for a while without noticing it, as SIGSTOP, a paused machine or a long collection does."""
        self.frozen_until = max(self.frozen_until, self.scheduler.clock.time + us)
        self.scheduler.log(f"{self.name} freezes for {us / SECOND:.0f} s")


class Scheduler:
    """Gives turns, moves the clock when nobody can run, and keeps the history."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = SimulatedClock()
        self.tasks: list[Task] = []
        self.turn = _held_lock()
        self.current: Task | None = None
        self.errors: list[str] = []
        self.history: list[str] = []
        self.processes: dict[int, Process] = {}
        self.turns = 0
        self._until: Callable[[], bool] = lambda: False
        self._last_turn = 0
        self._stuck: str | None = None
        self._is_closing = False
        self.fates: dict[Fate, int] = {}
        self.choose_fate: Callable[[Process], Fate] = lambda _: Fate.FINE

    def new_pid(self, process: Process) -> int:
        pid = len(self.processes) + 1
        self.processes[pid] = process
        return pid

    def log(self, what: str) -> None:
        """Write a line of the history."""
        self.history.append(f"{(self.clock.time - 1_000 * SECOND) / SECOND:10.3f} {what}")

    def task(self) -> Task:
        """Answer whose turn it is."""
        assert self.current is not None, "only a simulated thread can wait"
        return self.current

    def pause(self) -> None:
        """Let others run; come back some time later."""
        self.task().give_turn()

    def sleep(self, seconds: float) -> None:
        """Wait this long on the simulated clock, or until somebody wakes this thread."""
        task = self.task()
        task.is_woken = False
        task.wake_at = self.clock.time + max(0, int(seconds * SECOND))
        task.give_turn()

    def wake(self, task: Task) -> None:
        """End a thread's sleep."""
        task.is_woken = True
        task.wake_at = min(task.wake_at, self.clock.time)

    def run(self, *, until: Callable[[], bool], turns: int) -> None:
        """Give turns until `until` holds; it is asked whenever everybody waits. Raises `Stuck` after so many turns."""
        self._until = until
        self._last_turn = self.turns + turns
        self._stuck = None
        following = self.following()
        if following is not None:
            following.start_turn()
            self.turn.acquire()
        if self._stuck is not None:
            raise Stuck(self._stuck)

    def following(self) -> Task | None:
        """Choose whose turn is next; None when the run is over."""
        self.clock.time += self.random.randrange(20_000)
        while not self.errors and not self._is_closing:
            now = self.clock.time
            ready = [
                task
                for task in self.tasks
                if not task.is_over
                and (task.process.is_dead or (task.wake_at <= now and task.process.frozen_until <= now))
            ]
            if ready:
                return self._chosen(ready)
            self.tasks = [task for task in self.tasks if not task.is_over]
            if self._until():
                return None
            times = [max(task.wake_at, task.process.frozen_until) for task in self.tasks]
            if not times:
                self._stuck = "nobody is left"
                return None
            self.clock.time = max(self.clock.time, min(times))
        return None

    def _chosen(self, ready: list[Task]) -> Task | None:
        if self.turns >= self._last_turn:
            self._stuck = "still not done after all these turns"
            return None
        self.turns += 1
        return self.random.choices(ready, [task.process.weight for task in ready])[0]

    def close(self) -> None:
        """End every thread that is left."""
        self._is_closing = True
        for process in self.processes.values():
            process.is_dead = True
        for task in self.tasks:
            while not task.is_over:
                task.start_turn()
                self.turn.acquire()
            task.join()


def _held_lock() -> threading.Lock:
    """Answer a turn that nobody has yet: whoever takes it waits until it is given."""
    made = threading.Lock()
    made.acquire()
    return made


@contextmanager
def replaced(*changes: tuple[object, str, Any]) -> Any:
    """Replace attributes of modules for the time of a block: how a simulation gets between a module and the world."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    for owner, name, value in changes:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)
