from pathlib import Path

from pondage.kernel.demand.events import Force, Pulse
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.views.ponds.trend import trend
from tests.ledger.harness import World, pond


def test_the_last_runs_oldest_first_with_what_each_gave(tmp_path: Path) -> None:
    world = World(lambda clock: SqliteDriver(tmp_path / "ledger.db", clock))
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), project="shop")
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    world.send(Force(pond="sales@1"))
    world.worker().drain()
    with world.ledger.reading() as tx:
        view = trend(tx, "main", "sales", most=10)
        newest = trend(tx, "main", "sales", most=1)
    assert [point.number for point in view.points] == [1, 2]
    assert [point.number for point in newest.points] == [2]
    assert all(point.state == "completed" and point.tables[0].ripple == "sales" for point in view.points)
    assert [point.tables[0].is_reused for point in view.points] == [False, False]
    world.ledger.close()
