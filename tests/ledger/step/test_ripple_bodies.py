"""A Ripple may name a Job: its dispatch has no execution, and the run's last transaction closes it and publishes."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition, Retries
from pondage.define.values.names import PondKey
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Kill, Pulse
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Same
from pondage.ledger.upkeep import health, job_pruning, pruning
from pondage.views.ponds.status import status
from pondage.views.ponds.why import why
from pondage.views.runs.runs import run as run_view
from pondage.work.component import ComponentTask
from tests.ledger.harness import SECOND, World, pond
from tests.ledger.jobs import component_result, job

ENRICH = """
job: {name: enrich}
inputs: {orders: clean.input}
outputs: {main: last.main}
components:
  - {name: clean, type: transform}
  - {name: last, type: transform}
connections:
  data: [clean.main -> last.input]
"""
KEY = PondKey("reports@1")


def reports(text: str = ENRICH, *, retries: Retries | None = None, timeout_s: float | None = None) -> PondDefinition:
    """A Pond with one Ripple, whose body is a job that reads the Source `orders`."""
    made = pond("reports", sources={"orders": True}, retries=retries)
    body = msgspec.json.encode(job(text, fuses=False)).decode()
    (ripple,) = made.ripples
    bodied = msgspec.structs.replace(ripple, kind="job", job=body, timeout_s=timeout_s)
    return msgspec.structs.replace(made, ripples=(bodied,))


class Bodies:
    """A world with an Inlet, a Pond whose Ripple is a job, and one worker for both kinds of work."""

    def __init__(self, world: World, definition: PondDefinition) -> None:
        self.world = world
        world.deploy(pond("orders"), definition)
        self.worker = world.worker()

    def pulse(self) -> None:
        self.world.send(Pulse(pond=KEY))

    def do(self, *failing: str) -> str | None:
        """Do one piece of work and answer what it was."""
        held = self.worker.claim()
        if held is None:
            return None
        assert self.finish(held, *failing)
        return held.claim.node

    def finish(self, held: Work, *failing: str) -> bool:
        self.world.clock.time += SECOND
        if not isinstance(held.task, ComponentTask):
            return self.worker.finish(held)
        return guarded.commit(
            self.world.ledger, held, ComponentEnded(component_result(held, failing)), process=self.worker.id
        )

    def drain(self, *failing: str) -> list[str]:
        done: list[str] = []
        while (node := self.do(*failing)) is not None:
            done.append(node)
            assert len(done) < 100
        return done

    def job_runs(self) -> list[tuple[str, str | None]]:
        rows = self.world.rows("SELECT state, code FROM job_runs ORDER BY id")
        return [(str(row["state"]), row["code"]) for row in rows]  # type: ignore[misc]

    def stuck(self) -> list[object]:
        with self.world.ledger.reading() as tx:
            return list(health.stuck_work(tx))


def test_the_jobs_table_is_published_with_the_ripples_report(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    assert bodies.do() == "orders"
    held = bodies.worker.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    (clean,) = held.task.members
    # The Ripple's pinned input is the job's input port.
    assert [one.content.path for one in clean.inputs["input"]] == [world.one("SELECT path FROM snapshots")]  # type: ignore[union-attr]
    assert clean.publishes == {}
    assert bodies.stuck() == []
    assert bodies.finish(held)
    held = bodies.worker.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    (last,) = held.task.members
    assert last.publishes["main"].where == "reports@1.reports"
    assert bodies.finish(held)
    assert world.runs("reports")[-1][0] == "completed"
    assert bodies.job_runs() == [("OK", None)]
    (shown,) = world.rows(
        """SELECT s.execution AS execution, s.path AS path, d.outcome AS outcome FROM run_outputs o
           JOIN snapshots s ON s.id = o.snapshot JOIN dispatches d ON d.run = o.run WHERE o.node = 'reports'"""
    )
    assert shown["outcome"] == "ok"
    assert shown["execution"] == held.claim.execution
    # The files are the snapshot's now, and no longer the job's.
    assert world.rows("SELECT path FROM run_tables WHERE path = :path", path=shown["path"]) == []


def test_the_same_job_with_the_same_inputs_is_not_run_again(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    assert bodies.drain() == ["orders", "clean", "last"]
    bodies.pulse()
    held = bodies.worker.claim()
    assert held is not None
    assert guarded.commit(world.ledger, held, Same(), process=bodies.worker.id)
    assert bodies.drain() == []
    assert bodies.job_runs() == [("OK", None)]
    assert [state for state, _ in world.runs("reports")] == ["completed", "completed"]


def test_a_failed_component_fails_the_attempt_with_its_error(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    assert bodies.drain("last") == ["orders", "clean", "last"]
    assert bodies.job_runs() == [("ERROR", None)]
    assert world.runs("reports")[-1][0] == "failed"
    public_id = str(world.one("SELECT public_id FROM runs WHERE state = 'failed'"))
    with world.ledger.reading() as tx:
        shown = run_view(tx, "main", public_id)
    assert shown.run.ripple == "reports"
    assert shown.run.error is not None
    assert shown.run.error.code == "Boom"
    assert "last: it went wrong" in shown.run.error.message
    assert shown.attempts[0].job_run in shown.run.error.message
    assert shown.attempts[0].executions == ()


def test_a_retry_is_a_new_run_of_the_job(world: World) -> None:
    bodies = Bodies(world, reports(retries=Retries(immediately=1)))
    bodies.pulse()
    assert [bodies.do(), bodies.do(), bodies.do("last")] == ["orders", "clean", "last"]
    assert bodies.drain() == ["clean", "last"]
    assert bodies.job_runs() == [("ERROR", None), ("OK", None)]
    assert world.runs("reports")[-1][0] == "completed"


def test_a_job_that_wrote_no_main_is_a_failure(world: World) -> None:
    text = ENRICH.replace("- {name: clean, type: transform}", "- {name: clean, type: transform, die_on_error: false}")
    text = text.replace("connections:", "  - {name: other, type: task}\nconnections:").replace(
        "data: [clean.main -> last.input]", "data: [clean.main -> last.input]\n  control: [clean (error) other]"
    )
    bodies = Bodies(world, reports(text))
    bodies.pulse()
    bodies.drain("clean")
    assert bodies.job_runs() == [("OK", None)]
    assert world.runs("reports")[-1][0] == "failed"
    error = str(world.one("SELECT error FROM runs WHERE state = 'failed'"))
    assert msgspec.json.decode(error)["code"] == "NO_OUTPUT"


def test_killing_the_pond_kills_the_job_and_publishes_nothing(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    assert bodies.do() == "orders"
    held = bodies.worker.claim()
    assert held is not None
    world.send(Kill(pond=KEY))
    assert world.one("SELECT outcome FROM dispatches WHERE node = 'reports'") == "cancelled"
    assert bodies.job_runs() == [("RUNNING", None)]
    # What runs has 30 s; what it still reports changes nothing for the Pond.
    assert bodies.finish(held)
    assert bodies.job_runs() == [("ABORTED", "KILLED")]
    assert bodies.worker.claim() is None
    assert world.rows("SELECT node FROM run_outputs WHERE node = 'reports'") == []
    assert world.runs("reports")[-1][0] == "killed"


def test_a_job_that_ends_after_its_ripple_was_cancelled_publishes_nothing(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    assert [bodies.do(), bodies.do()] == ["orders", "clean"]
    held = bodies.worker.claim()
    assert held is not None
    assert held.claim.node == "last"
    world.send(Kill(pond=KEY))
    assert bodies.finish(held)
    assert world.rows("SELECT node FROM run_outputs WHERE node = 'reports'") == []


def test_a_kill_before_a_delayed_retry_begins_leaves_nothing_behind(world: World) -> None:
    bodies = Bodies(world, reports(retries=Retries(on_change=1)))
    bodies.pulse()
    bodies.drain("last")
    bodies.pulse()
    bodies.drain()
    world.send(Kill(pond=KEY))
    world.pass_time(60)
    assert "RUNNING" not in [state for state, _ in bodies.job_runs()]
    assert world.rows("SELECT id FROM dispatches WHERE outcome IS NULL") == []


def test_the_timeout_of_the_ripple_is_the_jobs(world: World) -> None:
    bodies = Bodies(world, reports(timeout_s=5.0))
    bodies.pulse()
    assert bodies.do() == "orders"
    held = bodies.worker.claim()
    assert held is not None
    world.pass_time(6)
    world.pass_time(40)
    assert [code for _, code in bodies.job_runs()] == ["TIMEOUT"]
    assert world.runs("reports")[-1][0] == "failed"
    assert msgspec.json.decode(str(world.one("SELECT error FROM runs WHERE state = 'failed'")))["code"] == "TIMEOUT"


def test_killing_the_job_fails_the_attempt(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    assert bodies.do() == "orders"
    run = str(world.one("SELECT public_id FROM job_runs"))
    jobs.kill(world.ledger, "main", run)
    world.pass_time(31)
    assert world.runs("reports")[-1][0] == "failed"


def test_status_and_why_name_the_job(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    assert bodies.do() == "orders"
    run = str(world.one("SELECT public_id FROM job_runs"))
    with world.ledger.reading() as tx:
        (shown,) = [one for one in status(tx, world.ledger, "main").ponds if one.key == KEY]
        explained = why(tx, world.ledger, "main", "reports")
    (ripple,) = shown.active[0].ripples
    assert (ripple.state, ripple.job_run) == ("running", run)
    assert any(gate.gate == "queue" for gate in explained.gates)


def test_a_body_is_not_resumed_and_a_job_with_inputs_not_started_by_hand(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    bodies.drain("last")
    run = str(world.one("SELECT public_id FROM job_runs"))
    with pytest.raises(LedgerError) as refused:
        jobs.resume(world.ledger, "main", run)
    assert refused.value.code == "RUN_OF_RIPPLE"
    with pytest.raises(LedgerError) as refused:
        jobs.start_job(world.ledger, "main", job(ENRICH))
    assert refused.value.code == "JOB_HAS_INPUTS"


def test_a_body_lives_as_long_as_the_run_of_the_pond(world: World) -> None:
    bodies = Bodies(world, reports())
    bodies.pulse()
    bodies.drain()
    world.clock.time += 40 * 86_400 * SECOND
    job_pruning.mark(world.ledger)
    with world.ledger.reading() as tx:
        doomed = [one.id for one in job_pruning.sweepable(tx, before=tx.now + 1)]
    with world.ledger.transaction() as tx:
        job_pruning.swept(tx, doomed)
    pruning.prune(world.ledger)
    job_pruning.prune(world.ledger)
    assert len(bodies.job_runs()) == 1
