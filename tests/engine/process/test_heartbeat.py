"""Heartbeats and the self-fence, with a clock that the test moves."""

from __future__ import annotations

import queue

from pondage.engine.process.heartbeat import Heartbeat
from pondage.ledger.database.driver import LedgerUnavailable
from tests.ledger.harness import World
from tests.patience import PATIENCE_S


class Beating:
    def __init__(self, world: World) -> None:
        self.now_s = 0.0
        self.lost: queue.Queue[str] = queue.Queue()
        self.process = world.worker()
        self.heartbeat = Heartbeat(
            world.ledger,
            self.process.id,
            fence_after_s=50.0,
            state=lambda: "busy 1/2",
            on_lost=self.lost.put,
            clock=lambda: self.now_s,
        )


def test_a_beat_writes_time_and_state(world: World) -> None:
    beating = Beating(world)
    world.clock.time += 7_000_000
    beating.heartbeat.beat()
    assert beating.process.row.heartbeat_at == world.clock.time
    assert beating.process.row.state == "busy 1/2"


def test_it_beats_by_itself_and_a_process_that_was_declared_dead_is_told(world: World) -> None:
    beating = Beating(world)
    with world.ledger.transaction() as tx:
        tx.change("UPDATE processes SET dead_at = 1")
    beating.heartbeat.start()
    assert beating.lost.get(timeout=PATIENCE_S) == "it was declared dead"
    beating.heartbeat.stop()


def test_who_cannot_beat_fences_itself_before_anybody_reaps_it(world: World, monkeypatch) -> None:
    beating = Beating(world)
    beating.heartbeat.beat()

    def transaction() -> object:
        raise LedgerUnavailable("the disk is full")

    monkeypatch.setattr(world.ledger, "transaction", transaction)
    beating.now_s = 49.0
    beating.heartbeat.beat()
    assert beating.lost.empty()
    beating.now_s = 50.0
    beating.heartbeat.beat()
    beating.heartbeat.beat()
    assert beating.lost.get_nowait() == "it could not reach the ledger for 50 s"
    assert beating.lost.empty(), "told once"


def test_a_beat_that_hangs_is_noticed_by_whoever_looks(world: World) -> None:
    beating = Beating(world)
    beating.now_s = 51.0
    beating.heartbeat.check()
    assert "51 s" in beating.lost.get_nowait()
