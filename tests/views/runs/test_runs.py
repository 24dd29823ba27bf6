import msgspec
import pytest

from pondage.errors import NotFound
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.queue import executions
from pondage.views.runs.runs import RunDetailView, RunsView, run, runs
from tests.ledger.harness import SECOND, World


def pulsed(world: World, times: int = 1) -> None:
    worker = world.worker()
    for _ in range(times):
        world.send(Pulse(pond=PondKey("reports@1")))
        worker.drain()
        world.clock.time += 10 * SECOND


def listed(world: World, **filters: object) -> RunsView:
    with world.ledger.reading() as tx:
        return runs(tx, "main", **filters)  # type: ignore[arg-type]


def one(world: World, given: str) -> RunDetailView:
    with world.ledger.reading() as tx:
        return run(tx, "main", given)


def test_the_newest_run_comes_first(world: World) -> None:
    pulsed(world, 2)
    assert [(each.pond, each.number) for each in listed(world).runs] == [
        ("reports@1", 2),
        ("sales@1", 2),
        ("orders@1", 2),
        ("reports@1", 1),
        ("sales@1", 1),
        ("orders@1", 1),
    ]


def test_a_list_is_narrowed_to_a_pond_a_state_and_a_length(world: World) -> None:
    pulsed(world, 3)
    assert [each.number for each in listed(world, pond="sales").runs] == [3, 2, 1]
    assert listed(world, pond="sales", state="failed").runs == ()
    short = listed(world, limit=2)
    assert len(short.runs) == 2
    assert short.has_more
    assert not listed(world, limit=9).has_more


def test_a_failed_run_names_the_ripple_and_the_reason(world: World) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    worker = world.worker()
    while (held := worker.claim()) is not None and held.claim.node != "clean":
        worker.finish(held)
    assert held is not None
    worker.fail(held, "EXPECTATION")
    (failed,) = listed(world, state="failed").runs
    assert failed.ripple == "clean"
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == ("EXPECTATION", "it went wrong")
    assert failed.duration_us is not None


def test_a_run_in_full_has_its_pins_attempts_and_outputs(world: World) -> None:
    pulsed(world)
    view = one(world, "sales#1")
    assert view.run.state == "completed"
    pins = {pin.source: pin.number for pin in view.pins}
    assert pins == {"orders@1": 1, "rates@1": None}
    assert [(each.ripple, each.outcome) for each in view.attempts] == [("clean", "ok"), ("sales", "ok")]
    assert {each.ripple: each.rows for each in view.outputs} == {"clean": 1, "sales": 1}
    (execution,) = view.attempts[0].executions
    assert execution.log is not None
    assert execution.log.startswith(f"logs/{view.run.id}/")
    assert execution.log.endswith("-1.log")


def test_a_run_is_found_by_its_id_and_by_the_beginning_of_it(world: World) -> None:
    pulsed(world)
    identity = listed(world).runs[0].id
    assert one(world, identity).run.id == identity
    assert one(world, identity[:8]).run.id == identity


@pytest.mark.parametrize("given", ["rffffffffffffffff", "sales#99", "r'; DROP TABLE runs; --", "r"])
def test_a_run_that_is_not_there_is_not_found(world: World, given: str) -> None:
    pulsed(world)
    with pytest.raises(NotFound):
        one(world, given)


def test_the_beginning_of_several_runs_is_refused(world: World) -> None:
    pulsed(world)
    with world.ledger.transaction() as tx:
        tx.change("UPDATE runs SET public_id = 'rsame' || id")
    with pytest.raises(NotFound, match="several Runs"):
        one(world, "rsame")


def test_an_environment_without_a_deploy_has_no_runs(world: World) -> None:
    with world.ledger.reading() as tx:
        assert runs(tx, "nowhere").runs == ()


def test_a_run_that_is_over_still_tells_what_spark_did_for_it_or_how_far_it_came(world: World) -> None:
    world.send(Pulse(pond=PondKey("orders@1")))
    worker = world.worker()
    first = worker.claim()
    assert first is not None
    did = '{"phase":"done","stages":1,"tasks_done":3,"tasks_all":3,"done":[{"id":7,"tasks":3,"work_us":900}]}'
    worker.finish(msgspec.structs.replace(first, summary=did))
    (execution,) = one(world, "orders#1").attempts[0].executions
    assert execution.progress is not None
    assert [(stage.id, stage.tasks, stage.work_us) for stage in execution.progress.done] == [(7, 3, 900)]
    world.clock.time += 10 * SECOND
    world.send(Pulse(pond=PondKey("orders@1")))
    second = worker.claim()
    assert second is not None
    with world.ledger.transaction() as tx:
        came = '{"phase":"writing","tasks_done":1,"tasks_all":3}'
        executions.put_progress(tx, execution=second.claim.execution, token=second.claim.token, progress=came)
    worker.fail(second)
    (execution,) = one(world, "orders#2").attempts[0].executions
    assert execution.progress is not None
    assert (execution.progress.tasks_done, execution.progress.done) == (1, ())
