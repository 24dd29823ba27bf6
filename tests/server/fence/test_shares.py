"""What a token may take of the threads and of the room for bodies, so that the others find some left."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pondage.errors import PondageError
from pondage.server.fence.shares import LARGE, SMALL, Bodies, Room, Threads
from tests.patience import PATIENCE_S


def code_of(bodies: Bodies, token: str, size: int) -> str:
    try:
        with bodies.held(token, size):
            return ""
    except PondageError as error:
        return error.code


def test_large_bodies_are_limited_in_number_of_one_token_and_of_all() -> None:
    bodies = Bodies(Room(large=3, large_of_one=2))
    size = LARGE + 1
    with bodies.held("a", size), bodies.held("a", size):
        assert code_of(bodies, "a", size) == "TOO_MANY_BODIES"
        with bodies.held("b", size):
            assert code_of(bodies, "c", size) == "NO_ROOM"
            assert code_of(bodies, "c", LARGE) == ""
    assert code_of(bodies, "a", size) == ""


def test_bodies_are_limited_in_sum_and_small_ones_always_find_room() -> None:
    bodies = Bodies(Room(sum_bytes=LARGE))
    with bodies.held("a", LARGE - SMALL):
        assert code_of(bodies, "b", SMALL + 1) == "NO_ROOM"
        assert code_of(bodies, "b", SMALL) == ""
    assert bodies.held_bytes == 0


def test_room_is_given_back_also_by_a_request_that_fails() -> None:
    bodies = Bodies()
    with pytest.raises(ValueError, match="broken"), bodies.held("a", LARGE * 2):
        raise ValueError("broken")
    assert bodies.held_bytes == 0


def test_a_token_that_asks_for_everything_at_once_waits_for_itself_and_nobody_for_it() -> None:
    threads = Threads(at_once=3, of_one=2)
    go = threading.Event()

    async def scene() -> list[str]:
        greedy = [asyncio.create_task(threads.run("a", go.wait, PATIENCE_S)) for _ in range(10)]
        try:
            return await asyncio.wait_for(threads.run("b", lambda: ["b is answered"]), PATIENCE_S)
        finally:
            go.set()
            assert all(await asyncio.gather(*greedy))

    assert asyncio.run(scene()) == ["b is answered"]
