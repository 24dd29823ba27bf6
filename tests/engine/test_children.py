"""Which workers a supervisor should have."""

from __future__ import annotations

import pytest

from pondage.engine.children import Child, Restarts, RetireWorker, StartWorker, decide


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
    decisions = decide(children, waiting, limit=2, newest="new", held_back=frozenset({"bad"}))
    shown = [
        f"+{each.code}" if isinstance(each, StartWorker) else f"-{each.public_id.removeprefix('p-')}"
        for each in decisions
    ]
    assert shown == expected
    assert all(isinstance(each, StartWorker | RetireWorker) and each.reason for each in decisions)


def test_a_worker_that_lived_is_replaced_at_once_and_one_that_dies_at_once_waits_longer() -> None:
    restarts = Restarts()
    restarts.died("a", lived_s=60.0, now_s=0.0)
    restarts.died("a", lived_s=1.0, now_s=0.0)
    assert restarts.held_back(0.0) == frozenset()
    restarts.died("a", lived_s=1.0, now_s=0.0)
    assert restarts.held_back(0.9) == {"a"}
    assert restarts.held_back(1.0) == frozenset()
    for _ in range(20):
        restarts.died("a", lived_s=1.0, now_s=10.0)
    assert restarts.held_back(39.9) == {"a"}
    assert restarts.held_back(40.0) == frozenset()
