import msgspec

from pondage.define.pond.definition import ScheduleDefinition, TideDefinition, Triggers
from pondage.kernel.demand.events import Clear, Kill, Pulse, Tap, Wave
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.queue import executions
from pondage.views.ponds.status import PondView, StatusView, status
from tests.ledger.harness import SECOND, World, pond


def look(world: World, environment: str = "main") -> StatusView:
    with world.ledger.reading() as tx:
        return status(tx, world.ledger, environment)


def at(world: World, key: str) -> PondView:
    found = look(world).pond(key)
    assert found is not None
    return found


def test_an_environment_that_nobody_deployed_to_is_empty(world: World) -> None:
    assert look(world, "nowhere").ponds == ()


def test_ponds_that_nobody_asks_for_are_idle_and_have_never_run(world: World) -> None:
    view = look(world)
    assert [(each.key, each.state, each.kind) for each in view.ponds] == [
        ("orders@1", "idle", "inlet"),
        ("rates@1", "idle", "inlet"),
        ("reports@1", "idle", "outlet"),
        ("sales@1", "idle", "pond"),
    ]
    assert {each.freshness for each in view.ponds} == {None}
    assert {each.next.text for each in view.ponds} == {"nobody asks for it"}


def test_a_pulse_queues_the_inlet_and_everything_below_waits_for_its_source(world: World) -> None:
    world.send(Pulse(pond=PondKey("reports@1")))
    assert at(world, "reports@1").state == "queued"
    assert at(world, "reports@1").demand.targets == (1_000 * SECOND,)
    assert at(world, "reports@1").next.text == "waits for sales"
    assert at(world, "orders@1").state == "queued"
    assert at(world, "orders@1").next.text == "no process runs: pondage dev"
    world.worker()
    assert at(world, "orders@1").next.text == "waits for a free slot"


def test_a_claimed_ripple_makes_its_pond_running_and_shows_its_progress(world: World) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    with world.ledger.transaction() as tx:
        progress = '{"phase":"writing","jobs":1,"stages":2,"tasks_done":3,"tasks_all":8}'
        assert executions.put_progress(tx, execution=held.claim.execution, token=held.claim.token, progress=progress)
    view = at(world, "orders@1")
    assert view.state == "running"
    (run,) = view.active
    (ripple,) = run.ripples
    assert (ripple.state, ripple.attempt, ripple.epoch) == ("running", held.claim.number, 1)
    assert ripple.progress is not None
    assert (ripple.progress.phase, ripple.progress.tasks_done, ripple.progress.tasks_all) == ("writing", 3, 8)
    assert ripple.process == worker.row.public_id
    assert view.next.text == "runs orders"
    assert look(world).processes[0].busy == 1


def test_progress_that_cannot_be_read_is_left_out(world: World) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    held = world.worker().claim()
    assert held is not None
    with world.ledger.transaction() as tx:
        executions.put_progress(tx, execution=held.claim.execution, token=held.claim.token, progress='{"phase":3}')
    assert at(world, "orders@1").active[0].ripples[0].progress is None


def test_the_ripples_of_a_run_are_shown_in_the_order_of_the_definition(world: World) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    worker = world.worker()
    while (held := worker.claim()) is not None and held.claim.node != "clean":
        worker.finish(held)
    assert [(each.name, each.state) for each in at(world, "sales@1").active[0].ripples] == [
        ("clean", "running"),
        ("sales", "waiting"),
    ]
    assert held is not None
    worker.finish(held)
    assert [(each.name, each.state) for each in at(world, "sales@1").active[0].ripples] == [
        ("clean", "done"),
        ("sales", "queued"),
    ]


def test_a_completed_run_gives_freshness_staleness_and_the_last_run(world: World) -> None:
    world.send(Pulse(pond=PondKey("reports@1")))
    world.worker().drain()
    world.clock.time += 60 * SECOND
    view = at(world, "reports@1")
    assert view.state == "idle"
    assert view.freshness == 1_000 * SECOND
    assert view.staleness == world.clock.time - 1_000 * SECOND
    assert view.last_run is not None
    assert (view.last_run.number, view.last_run.state, view.last_run.error) == (1, "completed", None)
    assert view.active == ()


def test_a_failure_shows_on_the_pond_and_blocks_its_sinks_until_cleared(world: World) -> None:
    world.send(Pulse(pond=PondKey("reports@1")))
    worker = world.worker()
    held = worker.claim()
    assert held is not None
    worker.fail(held)
    assert at(world, "orders@1").state == "failed"
    assert "pondage clear orders" in at(world, "orders@1").next.text
    last = at(world, "orders@1").last_run
    assert last is not None
    assert last.error is not None
    assert last.state == "failed"
    assert at(world, "reports@1").state == "blocked"
    assert at(world, "sales@1").next.text == "blocked by orders: pondage why sales"
    world.send(Clear(pond=PondKey("orders@1")))
    assert {each.state for each in look(world).ponds if each.name != "rates"} == {"queued"}


def test_a_killed_pond_says_how_it_comes_back(world: World) -> None:
    world.send(Kill(pond=PondKey("orders@1")))
    assert at(world, "orders@1").state == "killed"
    assert at(world, "orders@1").next.text == "stays killed until: pondage clear orders"


def test_standing_triggers_are_listed_with_their_next_time(world: World) -> None:
    triggers = Triggers(
        tides=(TideDefinition(limit_us=60 * SECOND),), schedules=(ScheduleDefinition(cron="0 6 * * *"),)
    )
    world.deploy(pond("solo", triggers=triggers), project="other")
    world.send(Wave(pond=PondKey("solo@1")))
    wave, tide, schedule = at(world, "solo@1").triggers
    assert (wave.kind, wave.pacing) == ("wave", "eager")
    assert (tide.kind, tide.limit_us) == ("tide", 60 * SECOND)
    assert (schedule.kind, schedule.cron, schedule.next_at) == ("schedule", "0 6 * * *", 6 * 3600 * SECOND)


def test_a_halted_catchment_says_so_on_its_ponds(world: World) -> None:
    with world.ledger.transaction() as tx:
        tx.change("UPDATE actors SET halted = 'it broke'")
    assert at(world, "orders@1").halted == "it broke"
    assert at(world, "orders@1").next.text.startswith("halted: it broke")


def test_the_view_goes_through_json_and_back(world: World) -> None:
    world.send(Tap(pond=PondKey("reports@1")))
    world.worker().claim()
    view = look(world)
    assert msgspec.json.decode(msgspec.json.encode(view), type=StatusView) == view


def test_some_ponds_are_shown_as_among_all_of_them(world: World) -> None:
    world.send(Pulse(pond=PondKey("reports@1")))
    whole = look(world)
    with world.ledger.reading() as tx:
        first = status(tx, world.ledger, "main", most=2)
        one = status(tx, world.ledger, "main", keys=["sales@1", "sales@2", "nothing@1"])
        all_of_them = status(tx, world.ledger, "main", most=4)
        none = status(tx, world.ledger, "main", keys=[])
    assert (first.ponds, first.has_more) == (whole.ponds[:2], True)
    assert (one.ponds, one.has_more) == (whole.ponds[3:], False)
    assert (all_of_them.ponds, all_of_them.has_more) == (whole.ponds, False)
    assert none.ponds == ()
