"""Which workers a supervisor should have."""

from __future__ import annotations

import pytest

from pondage.engine.supervise.children import (
    IDLE_S,
    LONGEST_HOLD_S,
    QUICK_DEATH_S,
    Child,
    Decision,
    Restarts,
    RetireWorker,
    StartWorker,
    decide,
)
from pondage.ledger.queue.queues import Need


def idle(code: str) -> Child:
    return Child(public_id=f"p-{code}", code=code)


def busy(code: str) -> Child:
    return Child(public_id=f"p-{code}", code=code, held=1)


def ending(code: str) -> Child:
    return Child(public_id=f"p-{code}", code=code, is_ending=True)


@pytest.mark.parametrize(
    ("children", "waiting", "expected"),
    [
        ([], [], []),
        ([], ["a"], ["+a"]),
        ([], ["a", "b", "c"], ["+a", "+b"]),
        ([idle("a")], ["a"], []),
        ([busy("a")], ["a"], []),
        ([busy("a")], ["b"], ["+b"]),
        # A warm worker that nobody needs is kept while there is room.
        ([idle("a")], ["b"], ["+b"]),
        ([idle("a"), idle("b")], ["c"], ["-a"]),
        ([busy("a"), idle("b")], ["c"], ["-b"]),
        ([busy("a"), busy("b")], ["c"], []),
        ([idle("a"), idle("b")], ["a", "c"], ["-b"]),
        # One that ends already makes the room: nobody else must go.
        ([ending("a"), idle("b")], ["c"], []),
        ([ending("a")], ["a"], ["+a"]),
        # Queries go to any worker, and to one for the newest code when there is none.
        ([idle("a")], [""], []),
        ([], [""], ["+new"]),
        ([], ["", "a"], ["+a"]),
        # A code whose workers die at once waits.
        ([], ["bad"], []),
    ],
)
def test_every_code_with_waiting_work_gets_a_worker(
    children: list[Child], waiting: list[str], expected: list[str]
) -> None:
    needs = [Need(code=code) for code in waiting]
    decisions = decide(children, needs, limit=2, newest="new", held_back=frozenset({"bad"}))
    assert shown(decisions) == expected
    assert all(isinstance(each, StartWorker | RetireWorker) and each.reason for each in decisions)


def shown(decisions: list[Decision]) -> list[str]:
    return [
        f"+{each.code}" if isinstance(each, StartWorker) else f"-{each.public_id.removeprefix('p-')}"
        for each in decisions
    ]


@pytest.mark.parametrize(
    ("waiting", "held", "workers"),
    [(0, [0], 0), (1, [0], 0), (2, [0], 0), (3, [0], 1), (1, [2], 1), (9, [2], 3), (1000, [2, 2], 2), (0, [2, 1], 0)],
)
def test_a_queue_gets_as_many_workers_as_its_depth_needs_within_its_bounds(
    waiting: int, held: list[int], workers: int
) -> None:
    need = Need(code="a", waiting=waiting, concurrency=2, least=1, most=4)
    children = [Child(public_id=f"p-{at}", code="a", held=each) for at, each in enumerate(held)]
    decisions = decide(children, [need], limit=10, slots=4)
    assert shown(decisions) == ["+a"] * workers
    assert all(isinstance(each, StartWorker) and each.is_extra for each in decisions)


def test_the_least_workers_of_a_queue_are_there_before_anything_waits_and_the_machine_has_the_last_word() -> None:
    assert shown(decide([], [Need(code="a", least=2, most=5)], limit=9)) == ["+a", "+a"]
    assert shown(decide([], [Need(code="a", waiting=50, most=5)], limit=3)) == ["+a"] * 3
    # One more of a kind is no reason to send another kind away.
    assert shown(decide([idle("b"), busy("a")], [Need(code="a", waiting=50, most=5)], limit=2)) == []


def test_a_worker_that_a_long_queue_was_the_reason_for_ends_when_it_has_had_nothing_to_do() -> None:
    first = idle("a")
    extra = Child(public_id="p-extra", code="a", is_extra=True, idle_s=IDLE_S)
    assert shown(decide([first, extra], [], limit=4)) == ["-extra"]
    assert shown(decide([first, extra], [Need(code="a", least=2, most=4)], limit=4)) == []
    assert shown(decide([extra], [Need(code="a", least=1, most=4)], limit=4)) == []
    early = Child(public_id="p-extra", code="a", is_extra=True, idle_s=IDLE_S - 1)
    assert shown(decide([first, early], [], limit=4)) == []


def test_work_that_needs_more_memory_gets_a_worker_that_has_it() -> None:
    small, large = (Child(public_id=f"p-{size}", code="a", mebibytes=size) for size in (1024, 4096))
    need = Need(code="a", mebibytes=2048)
    assert decide([large], [need], limit=2) == []
    (started,) = decide([small], [need, Need(code="a")], limit=2)
    assert isinstance(started, StartWorker)
    assert (started.code, started.mebibytes, started.is_extra) == ("a", 2048, False)
    # In a full house the small one goes, because nothing that waits is for it.
    assert shown(decide([small], [need], limit=1)) == ["-1024"]
    # One that was started for the large work does the small one, too.
    assert shown(decide([], [Need(code="a"), need], limit=4)) == ["+a"]


def test_a_worker_that_lived_is_replaced_at_once_and_one_that_dies_at_once_waits_longer() -> None:
    restarts = Restarts()
    restarts.died("a", lived_s=60.0, now_s=0.0)
    restarts.died("a", lived_s=1.0, now_s=0.0)
    assert restarts.held_back(0.0) == frozenset()
    assert restarts.died("a", lived_s=1.0, now_s=0.0) == 1.0
    assert restarts.held_back(0.9) == {"a"}
    assert restarts.held_back(1.0) == frozenset()
    assert restarts.died("a", lived_s=1.0, now_s=2.0) == 2.0
    assert restarts.died("b", lived_s=1.0, now_s=2.0) == 0.0, "the codes of others are others"


def test_a_worker_may_die_at_once_for_days_and_its_hold_stays_the_longest() -> None:
    restarts, now_s, hold_s = Restarts(), 0.0, 0.0
    for _ in range(2_000):
        hold_s = restarts.died("a", lived_s=0.0, now_s=now_s)
        now_s += hold_s
    assert hold_s == LONGEST_HOLD_S


@pytest.mark.parametrize(
    "lives_s",
    [
        (0.0,),
        (1.0,),
        (QUICK_DEATH_S - 0.1,),
        (QUICK_DEATH_S,),
        (11.9,),
        (12.0,),
        (QUICK_DEATH_S, 0.0, 0.0),
        (59.0, 0.0),
    ],
)
def test_nobody_is_started_more_than_five_times_within_a_minute(
    lives_s: tuple[float, ...],
) -> None:
    restarts, now_s, starts_s = Restarts(), 0.0, []
    for life_s in lives_s * 200:
        now_s += life_s
        now_s += restarts.died("a", lived_s=life_s, now_s=now_s)
        assert restarts.held_back(now_s) == frozenset()
        starts_s.append(now_s)
    for first_s, sixth_s in zip(starts_s, starts_s[5:], strict=False):
        assert sixth_s - first_s > 60 - 0.001


def test_a_worker_that_died_of_its_work_is_replaced_at_once_however_often() -> None:
    restarts = Restarts()
    for _ in range(20):
        assert restarts.died("a", lived_s=0.5, now_s=0.0, held=1) == 0.0
    assert restarts.held_back(0.0) == frozenset(), "the work has a budget of its own"


def test_work_that_waits_for_its_next_try_never_keeps_the_only_place_from_other_work() -> None:
    crashing, other = Need(code="a", turn=None), Need(code="b")
    assert shown(decide([], [crashing, other], limit=1)) == ["+b"]
    assert shown(decide([idle("a")], [crashing, other], limit=1)) == ["-a"]
    assert shown(decide([ending("a")], [crashing, other], limit=1)) == [], "its place is as good as free"
    assert shown(decide([busy("a")], [crashing, other], limit=1)) == []
    # The other way round nobody leaves: who waits for a try has time.
    assert shown(decide([idle("b")], [crashing, other], limit=1)) == []
    assert shown(decide([idle("b")], [crashing], limit=1)) == ["-b"], "nobody needs it"
    assert shown(decide([], [crashing], limit=1)) == ["+a"], "it is ready when the next try is"


def test_of_what_can_be_done_now_whoever_waits_longest_gets_the_place() -> None:
    assert shown(decide([], [Need(code="a", turn=1), Need(code="b", turn=0)], limit=1)) == ["+b"]
