"""Work of reactors in the ledger: dispatched once, adopted or cancelled by the next life, batches and jobs once."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.reactor.reaction import AccumulatorDeclaration, JobDeclaration, ReactorDeclaration
from pondage.ledger.commit import guarded, polling, reactor_jobs, reactor_said, reactor_work, work
from pondage.ledger.commit.stream_batches import begin_stream, commit_batch
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.fire import FireTask, GraphEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.stream import StreamEnded, StreamTask
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes
from pondage.ledger.tables import actors, reactors
from pondage.ledger.tables.reactors import Lease, LedgerRow
from pondage.ledger.upkeep import reap
from pondage.plan.job.stored_job import StoredJob
from pondage.work.failure import Failure
from tests.ledger import jobs as harness
from tests.ledger.harness import MakeDriver, World

DECLARED = ReactorDeclaration(
    name="quote",
    accumulators=(AccumulatorDeclaration(name="clicks", kind="stream", is_spark=True),),
    graphs=("rebuild",),
    dispatched=("rebuild",),
    jobs=(JobDeclaration(file="a.yaml", when="clicks.n > 3"),),
)


class Desk:
    """A deployed reactor that is owned, and a worker."""

    def __init__(self, ledger: Ledger, jobs: tuple[str, ...] = ()) -> None:
        self.ledger = ledger
        with ledger.transaction() as tx:
            environment = actors.made_environment(tx, "main")
            actor = reactors.put(
                tx, environment=environment, project="p", declaration=DECLARED, entry="m:quote", code="c", jobs=jobs
            )
            host = processes.register(tx, public_id="p-live", machine="m", pid=1, pid_started=1, role="live")
            lease = reactors.claim(tx, actor=actor, process=host, token="t-live")
            self.worker = processes.register(tx, public_id="p-w", machine="m", pid=2, pid_started=1, role="worker")
        assert lease is not None
        self.lease: Lease = lease

    def say(self, kind: str, **said: object) -> None:
        row = LedgerRow(kind, msgspec.json.encode(said).decode())
        with self.ledger.transaction() as tx:
            reactor_said.take_rows(tx, self.lease, [row])

    def dispatch(self, fire: int, attempt: int = 1) -> None:
        self.say("dispatch", code="c", entry="m:quote", graphs=["rebuild"], fire=fire, attempt=attempt,
                 reason="when_any", inputs={"clicks": {"n": 5}})  # fmt: skip

    def claim(self) -> Work | None:
        queues = polling.queues_for(self.ledger, code="c")
        token = self.ledger.ids.new("t")
        return work.claim_work(self.ledger, process=self.worker, queues=queues, token=token, is_alone=True)

    def claimed(self) -> Work:
        found = self.claim()
        assert found is not None
        return found

    def signals(self) -> list[list[object]]:
        with self.ledger.reading() as tx:
            return [msgspec.json.decode(each.payload) for each in reactors.signals(tx, self.lease.actor)]


@pytest.fixture
def desk(make_driver: MakeDriver) -> Desk:
    return Desk(World(make_driver).ledger)


def test_a_graph_that_ended_well_is_told_to_its_fire_with_its_rows(desk: Desk) -> None:
    desk.dispatch(7)
    held = desk.claimed()
    assert isinstance(held.task, FireTask)
    assert (held.task.fire, held.task.inputs) == (7, {"clicks": {"n": 5}})
    assert guarded.commit(desk.ledger, held, GraphEnded([{"px": 1.0}]), process=desk.worker)
    assert desk.signals() == [["done", 7, 1, "rebuild", True, None]]
    with desk.ledger.reading() as tx:
        rows = tx.rows("SELECT fire, graph, rows FROM reactor_results")
    assert [dict(row) for row in rows] == [{"fire": 7, "graph": "rebuild", "rows": '[{"px":1.0}]'}]


def test_a_graph_that_failed_is_told_to_its_fire(desk: Desk) -> None:
    desk.dispatch(7)
    failure = Failure(code="VALUE_ERROR", message="no such book")
    assert guarded.commit(desk.ledger, desk.claimed(), Failed(failure), process=desk.worker)
    assert desk.signals() == [["done", 7, 1, "rebuild", False, "no such book"]]


def test_a_crashed_execution_of_a_graph_is_repeated_unseen(desk: Desk) -> None:
    desk.dispatch(7)
    desk.claimed()
    with desk.ledger.reading() as tx:
        row = next(row for row in processes.alive(tx) if row.id == desk.worker)
    reap.reap_process(desk.ledger, row, reason="test")
    assert desk.signals() == []
    with desk.ledger.transaction() as tx:
        desk.worker = processes.register(tx, public_id="p-x", machine="m", pid=3, pid_started=1, role="worker")
    assert desk.claimed().claim.number == 1


def test_the_next_life_adopts_what_its_open_fire_dispatched_and_cancels_the_rest(desk: Desk) -> None:
    desk.dispatch(6)
    desk.dispatch(7)
    old, kept = desk.claimed(), desk.claimed()
    desk.say("adopt", fire=7, graphs=["rebuild"], numbers=[1], sources=[])
    assert not guarded.commit(desk.ledger, old, GraphEnded(None), process=desk.worker)
    assert guarded.commit(desk.ledger, kept, GraphEnded(None), process=desk.worker)
    assert desk.signals() == [["done", 7, 1, "rebuild", True, None]]


def test_a_fire_that_is_given_up_cancels_its_dispatch(desk: Desk) -> None:
    desk.dispatch(7)
    held = desk.claimed()
    desk.say("cancel", fire=7, graphs=["rebuild"], numbers=[1])
    assert not guarded.commit(desk.ledger, held, GraphEnded(None), process=desk.worker)
    assert desk.signals() == []


def streaming(desk: Desk) -> Work:
    desk.say("dispatch stream", code="c", entry="m:quote", source="clicks", every=None)
    return desk.claimed()


def test_each_micro_batch_commits_one_boundary_by_query_and_batch(desk: Desk) -> None:
    held = streaming(desk)
    for query, batch in [("q1", 0), ("q1", 0), ("q1", 1), ("q1", 0), ("q2", 0)]:
        assert commit_batch(desk.ledger, held, query=query, batch=batch, value={"n": batch})
    assert [(each[7], each[4]) for each in desk.signals()] == [("q1", 0), ("q1", 1), ("q2", 0)]


def test_a_batch_without_a_boundary_counts_as_taken(desk: Desk) -> None:
    held = streaming(desk)
    assert commit_batch(desk.ledger, held, query="q1", batch=0, value=None)
    assert commit_batch(desk.ledger, held, query="q1", batch=0, value={"n": 1})
    assert desk.signals() == []


def test_a_stream_that_was_taken_away_commits_nothing(desk: Desk) -> None:
    held = streaming(desk)
    desk.say("cancel stream", source="clicks")
    assert not begin_stream(desk.ledger, held)
    assert not commit_batch(desk.ledger, held, query="q1", batch=0, value={"n": 1})
    assert not guarded.commit(desk.ledger, held, StreamEnded(), process=desk.worker)
    assert desk.signals() == []


def test_a_stream_is_dispatched_once_and_the_next_life_hears_that_it_is_read(desk: Desk) -> None:
    held = streaming(desk)
    assert isinstance(held.task, StreamTask)
    assert begin_stream(desk.ledger, held)
    desk.say("adopt", fire=0, graphs=[], numbers=[], sources=["clicks"])
    desk.say("dispatch stream", code="c", entry="m:quote", source="clicks", every=None)
    assert desk.claim() is None
    assert desk.signals() == [["acc", "clicks", "connected"], ["acc", "clicks", "connected"]]


@pytest.mark.parametrize(("code", "what"), [("BATCH_FAILED", "crashed"), ("SPARK", "lost")])
def test_a_stream_that_failed_is_a_crash_when_its_own_code_did_it(desk: Desk, code: str, what: str) -> None:
    first = streaming(desk)
    assert guarded.commit(desk.ledger, first, Failed(Failure(code=code, message="no")), process=desk.worker)
    assert desk.signals() == [["acc", "clicks", what, "no"]]
    again = streaming(desk)
    assert isinstance(first.task, StreamTask)
    assert isinstance(again.task, StreamTask)
    assert (again.claim.number, again.task.place) == (2, first.task.place)


def test_a_worker_that_dies_or_drains_loses_its_streams_and_another_reads_on(desk: Desk) -> None:
    assert guarded.release(desk.ledger, streaming(desk), reason="draining")
    desk.claimed()
    with desk.ledger.reading() as tx:
        row = next(row for row in processes.alive(tx) if row.id == desk.worker)
    reap.reap_process(desk.ledger, row, reason="test")
    assert [each[:3] for each in desk.signals()] == [["acc", "clicks", "lost"]] * 2
    with desk.ledger.transaction() as tx:
        desk.worker = processes.register(tx, public_id="p-x", machine="m", pid=3, pid_started=1, role="worker")
    assert desk.claimed().claim.kind == "stream"


def test_ended_dispatches_of_a_reactor_do_not_pile_up(desk: Desk) -> None:
    for fire in range(120):
        desk.dispatch(fire)
        assert guarded.commit(desk.ledger, desk.claimed(), GraphEnded(None), process=desk.worker)
    with desk.ledger.reading() as tx:
        count = tx.row("SELECT count(*) AS n FROM dispatches")
    assert count is not None
    assert count["n"] == 101


@pytest.fixture
def rebuild() -> StoredJob:
    return harness.job("job: {name: rebuild}\ncomponents: [{name: a, type: task}]")


def starting(make_driver: MakeDriver, job: StoredJob) -> Desk:
    return Desk(World(make_driver).ledger, jobs=(msgspec.json.encode(job).decode(),))


def runs(desk: Desk) -> list[dict[str, object]]:
    with desk.ledger.reading() as tx:
        rows = tx.rows("SELECT reason, context FROM job_runs ORDER BY id")
    return [{"reason": row["reason"], **msgspec.json.decode(str(row["context"]))} for row in rows]


def test_each_good_fire_starts_its_job_once_when_the_condition_is_true(
    make_driver: MakeDriver, rebuild: StoredJob
) -> None:
    desk = starting(make_driver, rebuild)
    for fire, clicks in [(1, {"n": 2}), (2, {"n": 5}), (2, {"n": 5}), (3, None), (4, {"n": 9})]:
        desk.say("good fire", fire=fire, inputs={"clicks": clicks})
    assert reactor_jobs.start_due(desk.ledger, desk.lease) == 2
    assert reactor_jobs.start_due(desk.ledger, desk.lease) == 0
    assert [(run["fire"], run["inputs"]) for run in runs(desk)] == [
        (2, {"clicks": {"n": 5}}),
        (4, {"clicks": {"n": 9}}),
    ]
    assert runs(desk)[0]["reason"] == "fire 2 of reactor quote"


def test_a_fire_whose_condition_fails_three_times_is_a_dead_letter_and_holds_up_nobody(
    make_driver: MakeDriver, rebuild: StoredJob
) -> None:
    desk = starting(make_driver, rebuild)
    desk.say("good fire", fire=1, inputs={"clicks": {"n": "many"}})
    desk.say("good fire", fire=2, inputs={"clicks": {"n": 5}})
    assert reactor_jobs.start_due(desk.ledger, desk.lease) == 1
    with desk.ledger.reading() as tx:
        (dead,) = reactor_jobs.dead_fires(tx, desk.lease.actor)
        said = tx.rows("SELECT kind FROM history WHERE kind LIKE 'reactor%'")
    assert (dead.fire, dead.inputs) == (1, {"clicks": {"n": "many"}})
    assert [row["kind"] for row in said] == ["reactor job not started"]
    with desk.ledger.transaction() as tx:
        reactor_jobs.try_again(tx, desk.lease.actor, 1)
        tx.write("UPDATE reactor_fires SET inputs = :inputs", inputs='{"clicks": {"n": 7}}')
    assert reactor_jobs.start_due(desk.ledger, desk.lease) == 1


def test_an_owner_that_lost_its_lease_starts_no_job(make_driver: MakeDriver, rebuild: StoredJob) -> None:
    desk = starting(make_driver, rebuild)
    desk.say("good fire", fire=1, inputs={"clicks": {"n": 5}})
    with desk.ledger.transaction() as tx:
        reactors.release(tx, desk.lease)
    assert reactor_jobs.start_due(desk.ledger, desk.lease) == 0
    assert runs(desk) == []


def test_a_removed_reactor_leaves_no_work_behind(desk: Desk) -> None:
    held = streaming(desk)
    desk.dispatch(7)
    with desk.ledger.transaction() as tx:
        reactor_work.cancel_all(tx, desk.lease.actor)
        assert len(reactor_work.places(tx, desk.lease.actor)) == 1
        reactors.forget(tx, desk.lease)
        assert executions.open_tokens(tx, desk.worker) == set()
    assert not commit_batch(desk.ledger, held, query="q1", batch=0, value={"n": 1})
