"""Controls: with the fence, the look-up by token or the reaper taken away, the simulation must find what they prevent.

A checker that finds nothing proves nothing. The program has no switches for this: the tests replace its functions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from pondage.engine.services.reaper import Reaper
from pondage.ledger.commit import work
from pondage.ledger.database.driver import Transaction
from pondage.ledger.queue import executions
from pondage.ledger.queue.executions import Outcome
from pondage.ledger.upkeep import reap
from tests.histories import machines
from tests.histories.story import play

SEEDS = range(1, 121)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("pondage")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


def is_caught(*expected: str) -> bool:
    """Play seeds until every kind of violation that is expected was found, named by its first words."""
    missing = set(expected)
    for seed in SEEDS:
        for violation in play(seed).violations:
            missing.discard(violation.split(":")[0])
        if not missing:
            return True
    return False


guarded_close = executions.close


def unfenced(tx: Transaction, *, execution: int, token: str, outcome: Outcome, **given: Any) -> bool:
    """Close an execution whoever holds it, and however it ended before."""
    if not guarded_close(tx, execution=execution, token=token, outcome=outcome, **given):
        tx.change(
            "UPDATE executions SET completed_at = :now, outcome = :outcome WHERE id = :id",
            id=execution,
            outcome=outcome,
        )
    return True


def test_without_the_fence_work_is_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executions, "close", unfenced)
    assert is_caught("rule was broken", "dispatch has two good executions")


def test_without_the_look_up_by_token_claims_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_resolved", lambda ledger, token: None)
    monkeypatch.setattr(machines, "close_unknown_claims", lambda ledger, slots, process: 0)
    assert is_caught("execution is open")


def test_without_the_reaper_the_work_of_the_dead_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reap, "reap_process", lambda *given, **named: None)
    assert is_caught("execution is open")


def test_without_looking_for_silence_and_for_pids_the_work_of_orphans_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reaper, "run_once", lambda self: 1.0)
    assert is_caught("execution is open")
