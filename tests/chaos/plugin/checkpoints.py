"""Checkpoints: the first process that comes to one says so through a pipe, and waits there until it is killed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


def reached() -> None:
    """Tell the test that the checkpoint is reached, and never go on. Only the first call counts; later ones pass."""
    try:
        descriptor = os.open(os.environ["PONDAGE_CHAOS_MARK"], os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    os.close(descriptor)
    with Path(os.environ["PONDAGE_CHAOS_PIPE"]).open("w") as pipe:
        pipe.write(f"{os.getpid()}\n")
    threading.Event().wait()


def install(point: str) -> None:
    """Replace the function around the checkpoint. `while_spark_runs` is in the author's code of the test project."""
    if point in _INSTALLERS:
        _INSTALLERS[point]()


def _before_claim() -> None:
    from pondage.ledger.commit import work
    from pondage.ledger.queue import queues

    real = work.claim_work

    def claim_work(ledger: Any, **given: Any) -> Any:
        with ledger.reading() as tx:
            is_waiting = bool(queues.needs(tx))
        if is_waiting:
            reached()
        return real(ledger, **given)

    work.claim_work = claim_work


def _after_claim() -> None:
    from pondage.ledger.commit import work

    real = work.claim_work

    def claim_work(ledger: Any, **given: Any) -> Any:
        claimed = real(ledger, **given)
        if claimed is not None:
            reached()
        return claimed

    work.claim_work = claim_work


def _in_attempt() -> None:
    from pondage.engine.execute.spark_executor import SparkExecutor

    real = SparkExecutor.execute

    def execute(self: Any, attempt: Any) -> Any:
        reached()
        return real(self, attempt)

    SparkExecutor.execute = execute  # type: ignore[method-assign]


def _around_commit(*, is_before: bool) -> Callable[[], None]:
    def installer() -> None:
        from pondage.ledger.commit import guarded
        from pondage.ledger.kinds.ripple import Written

        real = guarded.commit

        def commit(ledger: Any, claimed: Any, ending: Any, **given: Any) -> bool:
            is_meant = isinstance(ending, Written) and claimed.claim.node in ("clean", "middle_0", "trips")
            if is_meant and is_before:
                reached()
            is_ours = real(ledger, claimed, ending, **given)
            if is_meant and not is_before:
                reached()
            return is_ours

        guarded.commit = commit

    return installer


def _in_fan_out() -> None:
    """Behind the second chunk, whose transaction is still open; the first one is committed."""
    from pondage.ledger.step.job_advance import RunActor

    real, chunks = RunActor.is_open, []

    def is_open(self: Any, tx: Any, actor: int) -> bool:
        is_left = real(self, tx, actor)
        if is_left:
            chunks.append(actor)
            if len(chunks) > 1:
                reached()
        return is_left

    RunActor.is_open = is_open  # type: ignore[method-assign]


def _around_decision(*, is_before: bool) -> Callable[[], None]:
    """Before or behind the moment at which it is durable which files a Run reads."""

    def installer() -> None:
        from pondage.ledger.commit.positions import Positions

        real = Positions.decide

        def decide(self: Any, name: str, value: str) -> str:
            if is_before:
                reached()
            found = real(self, name, value)
            if not is_before:
                reached()
            return found

        Positions.decide = decide  # type: ignore[method-assign]

    return installer


_INSTALLERS: dict[str, Callable[[], None]] = {
    "before_claim": _before_claim,
    "after_claim": _after_claim,
    "in_attempt": _in_attempt,
    "after_write_before_commit": _around_commit(is_before=True),
    "after_commit": _around_commit(is_before=False),
    "in_fan_out": _in_fan_out,
    "before_decision": _around_decision(is_before=True),
    "after_decision": _around_decision(is_before=False),
}
