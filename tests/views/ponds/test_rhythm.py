from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.views.ponds.rhythm import rhythm
from tests.ledger.harness import SECOND, World


def test_without_a_schedule_runs_are_counted_and_compared_with_nothing(world: World) -> None:
    worker = world.worker()
    since = world.clock.time
    for _ in range(3):
        world.send(Pulse(pond=PondKey("reports@1")))
        worker.drain()
        world.clock.time += 6 * SECOND
    with world.ledger.reading() as tx:
        view = rhythm(tx, "main", since=since, until=world.clock.time)
    by_key = {each.key: each for each in view.ponds}
    assert {key: each.runs for key, each in by_key.items()} == {"orders@1": 3, "sales@1": 3, "reports@1": 3}
    assert by_key["sales@1"].mean_period_us == 10 * SECOND
    assert by_key["sales@1"].mean_run_us == 2 * SECOND
    assert (view.schedule, view.scheduled_runs) == (None, None)
    assert {each.scheduled_runs for each in view.ponds} == {None}


def test_the_pond_with_the_slowest_ripple_is_the_bottleneck(world: World) -> None:
    worker = world.worker()
    since = world.clock.time
    for _ in range(2):
        world.send(Pulse(pond=PondKey("reports@1")))
        while (held := worker.claim()) is not None:
            world.clock.time += (4 if held.claim.node == "clean" else 1) * SECOND
            worker.finish(held)
    with world.ledger.reading() as tx:
        view = rhythm(tx, "main", since=since, until=since + 16 * SECOND)
    assert view.bottleneck == "sales@1"
    assert [(each.key, each.pace_us) for each in view.ponds] == [
        ("orders@1", SECOND),
        ("reports@1", SECOND),
        ("sales@1", 4 * SECOND),
    ]


def test_a_time_without_runs_has_no_rhythm(world: World) -> None:
    with world.ledger.reading() as tx:
        view = rhythm(tx, "main", since=0, until=10)
    assert (view.bottleneck, view.ponds, view.scheduled_runs) == (None, (), None)


def test_a_cron_line_of_the_project_is_what_is_compared_with_and_would_run_everything(world: World) -> None:
    worker = world.worker()
    since = world.clock.time
    world.send(Pulse(pond=PondKey("sales@1")))
    while (held := worker.claim()) is not None:
        world.clock.time += 20 * SECOND
        worker.finish(held)
    until = since + 600 * SECOND
    with world.ledger.reading() as tx:
        view = rhythm(tx, "main", since=since, until=until, compare=("*/2 * * * *", "UTC"))
        slow = rhythm(tx, "main", since=since, until=since + 50 * SECOND, compare=("* * * * *", "UTC"))
    assert (view.schedule, view.rounds, view.deployed) == ("*/2 * * * * (UTC)", 5, 4)
    assert {each.key: (each.runs, each.scheduled_runs) for each in view.ponds} == {
        "orders@1": (1, 5),
        "sales@1": (1, 5),
    }
    assert view.scheduled_runs == 20, "the Ponds that nobody asked for would have run, too"
    assert slow.rounds <= 1
