"""The feed on PostgreSQL, where a later id may be committed first."""

import threading

from pondage.kernel.demand.events import Kill
from pondage.ledger.tables.environments import environment_id
from pondage.ledger.upkeep import feed
from pondage.views.installation import feed as views
from tests.ledger.harness import MakeDriver, World, pond
from tests.patience import PATIENCE_S


def test_what_a_transaction_wrote_that_is_still_open_is_read_later_and_never_skipped(make_driver: MakeDriver) -> None:
    world = World(make_driver)
    world.deploy(pond("early"))
    world.deploy(pond("late"), project="q")
    ledger = world.ledger
    with ledger.reading() as tx:
        seq = feed.marks(tx, ledger).until
    is_written, may_commit = threading.Event(), threading.Event()

    def slow() -> None:
        with ledger.transaction() as tx:
            tx.change(
                """INSERT INTO advancements (actor, at, signals, touched, effects)
                   SELECT actor, :now, '[]', '["early@1"]', '[]' FROM ponds WHERE name = 'early'"""
            )
            is_written.set()
            assert may_commit.wait(PATIENCE_S)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        assert is_written.wait(PATIENCE_S)
        world.send(Kill(pond="late@1"))
        with ledger.reading() as tx:
            marks = feed.marks(tx, ledger)
            first = feed.touched(tx, ledger, environment_id(tx, "main"), after=seq, until=marks.until, most=9)
        assert first is not None
        assert "early@1" not in first.ponds
    finally:
        may_commit.set()
        thread.join()
    with ledger.reading() as tx:
        found = views.changes(tx, ledger, "main", after=marks.until, seen=views.Seen())
    assert found is not None
    assert {each.key for each in found[0].ponds} >= {"early@1", "late@1"} - first.ponds
    assert "early@1" in {each.key for each in found[0].ponds}


def test_a_snapshot_and_its_changes_are_one_history(make_driver: MakeDriver) -> None:
    world = World(make_driver)
    world.deploy(pond("early"))
    with world.ledger.reading() as tx:
        snapshot = views.snapshot(tx, world.ledger, "main")
    world.send(Kill(pond="early@1"))
    with world.ledger.reading() as tx:
        found = views.changes(tx, world.ledger, "main", after=snapshot.seq, seen=views.Seen())
        lost = views.changes(tx, world.ledger, "main", after=snapshot.seq + 10**9, seen=views.Seen())
    assert found is not None
    assert [each.state for each in found[0].ponds] == ["killed"]
    assert lost is None
