"""What may go wrong in a process of a chaos run, what is switched off in a control, and a record of what happened."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any


def install(text: str) -> None:
    """Replace what the test asked for."""
    asked = json.loads(text)
    executor = ModuleType("pondage.engine.execute.spark_executor")
    if asked.get("executor") == "plain":
        import marking

        executor.SparkExecutor = marking.MarkingExecutor  # type: ignore[attr-defined]
        sys.modules["pondage.engine.execute.spark_executor"] = executor
    _record(asked["events"])
    _shorten_leases()
    if asked.get("loses"):
        _lose_answers(asked["loses"], asked["seed"])
    if asked.get("clock"):
        _step_clock(asked["clock"])
    if asked.get("slow_beats_s"):
        _beat_slowly(asked["slow_beats_s"])
    if asked.get("zombie"):
        _be_a_zombie(asked["zombie"])
    if asked.get("late"):
        _be_late(**asked["late"])
    for control in asked.get("controls", []):
        _CONTROLS[control]()


def _record(path: str) -> None:
    """Write a line for every process that is reaped and every commit that is fenced."""
    from pondage.ledger.commit import guarded
    from pondage.ledger.upkeep import reap

    def note(line: str) -> None:
        descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        try:
            os.write(descriptor, f"{line}\n".encode())
        finally:
            os.close(descriptor)

    real_reap, real_commit = reap.reap_process, guarded.commit

    def reap_process(ledger: Any, dead: Any, *, reason: str, **given: Any) -> Any:
        reaped = real_reap(ledger, dead, reason=reason, **given)
        is_own = dead.pid == os.getpid()
        if reaped is not None and (reaped.executions or not is_own) and "exit code 0" not in reason:
            note(f"reaped {dead.role} {dead.public_id} {reaped.executions} {reason}")
        return reaped

    def commit(*given: Any, **named: Any) -> bool:
        is_ours = real_commit(*given, **named)
        if not is_ours:
            note(f"fenced {given[1].claim.token}")
        return is_ours

    reap.reap_process = reap_process
    guarded.commit = commit


def _shorten_leases() -> None:
    """Whoever died is followed sooner, a carrier of the outbox, too: a run takes seconds, and has no Spark."""
    from pondage.define.project import durability
    from pondage.engine.services import outbox

    durability.LEAST_LEASE_S = 0.0
    outbox.LEASE_S = 2.0


def _lose_answers(shares: dict[str, float], seed: int) -> None:
    """Cut connections: before the database saw the transaction, after it committed, after it committed a claim."""
    from pondage.ledger.database.driver import LedgerUnavailable
    from pondage.ledger.ledger import Ledger
    from pondage.ledger.queue import claims

    luck = random.Random(seed * 1_000_003 + os.getpid())
    real, real_claim = Ledger.transaction, claims.claim
    this = threading.local()

    def claim(*given: Any, **named: Any) -> Any:
        found = real_claim(*given, **named)
        this.has_claimed = found is not None
        return found

    @contextmanager
    def transaction(self: Any) -> Any:
        if luck.random() < shares["before"]:
            raise LedgerUnavailable("the connection was cut before the database saw anything")
        this.has_claimed = False
        with real(self) as tx:
            yield tx
        if luck.random() < shares["claims" if this.has_claimed else "after"]:
            raise LedgerUnavailable("the connection was cut after the commit")

    claims.claim = claim
    Ledger.transaction = transaction  # type: ignore[method-assign,assignment]


def _step_clock(path: str) -> None:
    """The wall clock of this process is off by what the file says, now and after every change of it."""
    real, real_ns = time.time, time.time_ns

    def offset_s() -> float:
        try:
            with open(path, encoding="ascii") as file:  # noqa: PTH123 - the clock must not import anything
                return float(file.read() or 0)
        except OSError:
            return 0.0

    time.time = lambda: real() + offset_s()
    time.time_ns = lambda: real_ns() + int(offset_s() * 1e9)


def _beat_slowly(seconds: float) -> None:
    """Every heartbeat comes late."""
    from pondage.engine.process.heartbeat import Heartbeat

    real = Heartbeat.beat

    def beat(self: Any) -> None:
        threading.Event().wait(seconds)
        real(self)

    Heartbeat.beat = beat  # type: ignore[method-assign]


def _leave_mark(path: str, claimed: Any) -> None:
    """Write down which attempt is the first one here; raises `FileExistsError` for every other one."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    try:
        os.write(descriptor, claimed.claim.token.encode())
    finally:
        os.close(descriptor)


def _replace(place: Any, name: str, other: Any) -> None:
    """Put something in the place of what is there; what is not there any more is an error, not a fault unplayed."""
    getattr(place, name)
    setattr(place, name, other)


def _be_a_zombie(mark: str) -> None:
    """The first worker that wants to publish falls silent without noticing it, and publishes when others have."""
    from pondage.engine.process.heartbeat import Heartbeat
    from pondage.engine.supervise import supervisor
    from pondage.ledger.commit import guarded
    from pondage.ledger.kinds.ripple import Written

    is_silent = threading.Event()
    real_beat, real_check, real_commit = Heartbeat.beat, Heartbeat.check, guarded.commit

    def commit(ledger: Any, claimed: Any, ending: Any, **given: Any) -> bool:
        if not isinstance(ending, Written):
            return real_commit(ledger, claimed, ending, **given)
        try:
            _leave_mark(mark, claimed)
        except FileExistsError:
            return real_commit(ledger, claimed, ending, **given)
        is_silent.set()
        while True:
            with ledger.reading() as tx:
                row = tx.row("SELECT outcome FROM dispatches WHERE id = :id", id=claimed.claim.dispatch)
            if row is not None and row["outcome"] is not None:
                return real_commit(ledger, claimed, ending, **given)
            time.sleep(0.05)

    Heartbeat.beat = lambda self: None if is_silent.is_set() else real_beat(self)  # type: ignore[method-assign]
    Heartbeat.check = lambda self: None if is_silent.is_set() else real_check(self)  # type: ignore[method-assign]
    _replace(supervisor, "kill_silent", lambda *_, **__: None)
    guarded.commit = commit


def _be_late(mark: str, until: str) -> None:
    """No process of this machine stops by itself, and its first publication waits until a file is there."""
    from pondage.engine.process.heartbeat import Heartbeat
    from pondage.engine.supervise import supervisor
    from pondage.ledger.commit import guarded
    from pondage.ledger.kinds.ripple import Written

    real = guarded.commit

    def commit(ledger: Any, claimed: Any, ending: Any, **given: Any) -> bool:
        if not isinstance(ending, Written):
            return real(ledger, claimed, ending, **given)
        with suppress(FileExistsError):
            _leave_mark(mark, claimed)
            while not os.path.exists(until):  # noqa: PTH110 - as small as it can be
                time.sleep(0.05)
        return real(ledger, claimed, ending, **given)

    Heartbeat._lose = lambda self, reason: None  # type: ignore[method-assign]
    _replace(supervisor, "kill_silent", lambda *_, **__: None)
    guarded.commit = commit


def _without_fence() -> None:
    from pondage.ledger.queue import executions

    real = executions.close

    def close(tx: Any, *, execution: int, token: str, **given: Any) -> bool:
        tx.change("UPDATE executions SET token = :token, completed_at = NULL WHERE id = :id", id=execution, token=token)
        return real(tx, execution=execution, token=token, **given)

    executions.close = close


def _without_look_up() -> None:
    from pondage.engine.worker import process as worker
    from pondage.ledger.commit import work

    _replace(work, "_resolved", lambda ledger, token: None)
    _replace(worker, "close_unknown_claims", lambda ledger, slots, *, process: 0)


def _without_reaper() -> None:
    from pondage.engine.services.reaper import Reaper
    from pondage.engine.supervise import supervisor
    from pondage.ledger.upkeep import reap

    Reaper.run_once = lambda self: 1.0  # type: ignore[method-assign]
    reap.reap_process = lambda ledger, dead, **given: None
    assert supervisor.reap is reap


_CONTROLS = {"fence": _without_fence, "look-up": _without_look_up, "reaper": _without_reaper}
