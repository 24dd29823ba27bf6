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


class Hours:
    """A clock that only a pause moves."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.starts_s: list[float] = []
        self.said: list[str] = []

    def pause(self, seconds: float) -> None:
        self.now_s += seconds

    def come_back(self, lives_s: float, *, times: int) -> int:
        """Be lost so often, each time after so long, and then end."""

        def serve() -> int:
            self.starts_s.append(self.now_s)
            self.now_s += lives_s
            return LOST if len(self.starts_s) < times else 0

        return come_back(serve, is_over=lambda: False, say=self.said.append, clock=lambda: self.now_s, pause=self.pause)


def test_a_supervisor_that_no_setting_lets_live_comes_back_five_times_a_minute_and_says_so() -> None:
    """Before, one whose settings contradicted each other wrote 5,259 lines in ten seconds."""
    hours = Hours()
    assert hours.come_back(0.0, times=50) == 0
    for first_s, sixth_s in zip(hours.starts_s[1:], hours.starts_s[6:], strict=False):
        assert sixth_s - first_s >= 60
    assert len([line for line in hours.said if "end again and again: the next one starts in" in line]) == 48


def test_a_supervisor_that_was_lost_once_comes_back_at_once() -> None:
    hours = Hours()
    assert hours.come_back(3_600.0, times=3) == 0
    assert hours.starts_s == [0.0, 3_600.0, 7_200.0]


def test_who_is_told_to_end_while_it_waits_to_come_back_does_not_start_again() -> None:
    hours, starts = Hours(), []

    def serve() -> int:
        starts.append(hours.now_s)
        return LOST

    assert (
        come_back(
            serve, is_over=lambda: hours.now_s > 0, say=hours.said.append, clock=lambda: hours.now_s, pause=hours.pause
        )
        == LOST
    )
    assert starts == [0.0, 0.0]
