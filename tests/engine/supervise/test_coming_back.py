"""A machine that was lost comes back when the ledger can be written again, not when it can merely be read."""

from __future__ import annotations

import pytest

from pondage.engine.supervise.supervisor import LOST, come_back
from pondage.ledger.database import patience
from pondage.ledger.database.driver import LedgerUnavailable


def test_a_full_disk_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the chaos run "disk full": the ledger answered every question, and registering failed again."""
    waits: list[float] = []
    monkeypatch.setattr(patience.time, "sleep", waits.append)
    answers: list[int | Exception] = [LOST, LedgerUnavailable("disk I/O error"), LedgerUnavailable("disk I/O error"), 0]

    def serve() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert come_back(serve, is_over=lambda: False, say=lambda line: None) == 0
    assert len(waits) == 2, "it never spins"


def test_who_is_told_to_end_does_not_wait() -> None:
    answers: list[int | Exception] = [LOST, LedgerUnavailable("disk I/O error")]
    has_ended: list[bool] = []

    def serve() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            has_ended.append(True)
            raise answer
        return answer

    with pytest.raises(LedgerUnavailable):
        come_back(serve, is_over=lambda: bool(has_ended), say=lambda line: None)
