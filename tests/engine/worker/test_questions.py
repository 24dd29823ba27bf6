"""Questions in processes of their own: who claims them, for how long they may run, and what a cancelled one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pondage.engine.process.config import WorkerConfig
from pondage.engine.process.questions import GRACE_S, for_questions
from pondage.engine.worker.watch import Watch
from pondage.kernel.demand.events import Tap
from pondage.ledger.act import questions
from pondage.ledger.kinds.kind import Answered
from pondage.ledger.queue import processes
from pondage.ledger.tables.history import Caller
from pondage.ledger.upkeep.reap import reap_process
from pondage.operations import questions as asking
from pondage.operations.operation import Context, Level
from pondage.project.project import load_project
from pondage.project.questions import QuestionsTable
from pondage.spark.jvm.settings import SparkSettings
from pondage.work.progress import JobProgress
from tests.engine.plain import Gate, PlainExecutor, engine_config, join_slots, make_worker
from tests.ledger.harness import World, pond


def test_a_worker_never_claims_a_question(world: World, tmp_path: Path, executor: PlainExecutor) -> None:
    world.deploy(pond("orders"))
    questions.submit(world.ledger, "main", "select 1", limit=1)
    assert not make_worker(world, tmp_path, executor).claim_one()


def test_a_process_for_questions_claims_nothing_else_and_needs_no_code(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    executor.act = lambda attempt: Answered('{"rows":[[1]]}')
    world.deploy(pond("orders"))
    asked = questions.submit(world.ledger, "main", "select 1", limit=1)
    world.send(Tap(pond="orders@1"))
    apart = make_worker(world, tmp_path, executor, role="questions")
    assert apart.claim_one()
    join_slots()
    assert not apart.claim_one(), "the Ripple is left to a worker"
    answer = questions.result(world.ledger, asked)
    assert answer is not None
    assert answer.result == '{"rows":[[1]]}'
    assert world.one("SELECT role FROM processes") == "questions"


def test_one_that_nobody_waits_for_any_more_is_stopped_and_says_cancelled(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders"))
    gate = Gate(lambda attempt: Answered("{}"))
    executor.act = gate
    asked = questions.submit(world.ledger, "main", "select 1", limit=1)
    apart = make_worker(world, tmp_path, executor, role="questions")
    assert apart.claim_one()
    gate.wait_entered()
    questions.withdraw(world.ledger, asked)
    now_s = [1e6]
    watch = Watch(
        world.ledger, executor, apart.slots, process=apart.process, cancel_grace_s=GRACE_S,
        on_stuck=lambda reason: None, clock=lambda: now_s[0],
    )  # fmt: skip
    now_s[0] += 2.0
    watch.look()
    assert len(executor.cancelled) == 1, "its jobs are stopped"
    gate.opened.set()
    join_slots()
    answer = questions.result(world.ledger, asked)
    assert answer is not None
    assert answer.failure is not None
    assert answer.failure.code == "CANCELLED"
    assert "cancelled" in answer.failure.message


def test_one_that_took_its_process_down_is_lost_and_not_tried_again(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders"))
    gate = executor.act = Gate(lambda attempt: Answered("{}"))
    asked = questions.submit(world.ledger, "main", "select repeat('x', 2000000000)", limit=1)
    apart = make_worker(world, tmp_path, executor, role="questions")
    assert apart.claim_one()
    gate.wait_entered()
    with world.ledger.reading() as tx:
        (row,) = processes.alive(tx)
    assert reap_process(world.ledger, row, reason="Spark ran out of memory") is not None
    gate.opened.set()
    join_slots()
    answer = questions.result(world.ledger, asked)
    assert answer is not None
    assert answer.failure is not None
    assert answer.failure.code == "QUERY_LOST"
    assert "Spark ran out of memory" in answer.failure.message
    assert not make_worker(world, tmp_path, executor, role="questions").claim_one()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pondage.toml").write_text("[questions]\ntimeout_s = 40\n[questions.timeouts]\nadmin = 500\n")
    return root


@pytest.mark.parametrize(("level", "limit_s"), [(Level.DEMAND, 40.0), (Level.OPERATE, 40.0), (Level.ADMIN, 500.0)])
def test_a_question_may_run_as_long_as_the_level_of_its_asker_lets_it(
    world: World, project: Path, level: Level, limit_s: float
) -> None:
    world.deploy(pond("orders"))
    context = Context(
        ledger=world.ledger, environment="main", warehouse=project, by=Caller("me"), project=load_project(project),
        level=level,
    )  # fmt: skip
    asking.query.do(context, asking.query.asked(sql="select 1"))
    assert world.one("SELECT timeout_s FROM dispatches") == limit_s


def test_a_question_of_a_ledger_without_a_project_has_a_minute(world: World, tmp_path: Path) -> None:
    world.deploy(pond("orders"))
    context = Context(ledger=world.ledger, environment="main", warehouse=tmp_path, by=Caller("me"))
    asking.query.do(context, asking.query.asked(sql="select 1"))
    assert world.one("SELECT timeout_s FROM dispatches") == 60.0


def test_its_process_has_little_of_the_machine_and_is_on_it(tmp_path: Path) -> None:
    engine = engine_config(
        tmp_path,
        spark=SparkSettings(
            master="spark://far:7077",
            memory="8g",
            isolated=True,
            packages=("a:b:1",),
            conf={
                "spark.executor.memory": "8g", "spark.cores.max": "16", "spark.driver.memory": "8g",
                "spark.hadoop.fs.s3a.secret.key": "secret:env:STORE",
            },
        ),
        questions=QuestionsTable(slots=3, memory="600m", cores=6, answer="10m"),
        env=("CRM_*",),
        components=("a",),
        secret_key="env:KEY",
    )  # fmt: skip
    apart = for_questions(engine)
    assert (apart.spark.master, apart.spark.heap, apart.slots) == ("local[6]", "600m", 3)
    assert apart.spark.packages == ("a:b:1",)
    assert apart.spark.conf["spark.hadoop.fs.s3a.secret.key"] == "secret:env:STORE"
    assert not {"spark.executor.memory", "spark.cores.max"} & apart.spark.conf.keys()
    assert apart.spark.conf["spark.sql.leafNodeDefaultParallelism"] == "2", "a question has its share of the threads"
    assert apart.spark.conf["spark.driver.maxResultSize"] == "10m"
    assert apart.env == ()
    assert WorkerConfig(engine=apart, public_id="p", code="", parent=0, role="questions").variables == {}


def test_the_time_of_a_question_counts_when_it_has_got_a_thread(
    world: World, tmp_path: Path, executor: PlainExecutor
) -> None:
    world.deploy(pond("orders"))
    gate = executor.act = Gate(lambda attempt: Answered("{}"))
    asked = questions.submit(world.ledger, "main", "select 1", limit=1, timeout_s=60)
    apart = make_worker(world, tmp_path, executor, role="questions")
    now_s = [0.0]
    watch = Watch(
        world.ledger, executor, apart.slots, process=apart.process, cancel_grace_s=GRACE_S,
        on_stuck=lambda reason: None, clock=lambda: now_s[0],
    )  # fmt: skip
    apart._clock = lambda: now_s[0]
    assert apart.claim_one()
    gate.wait_entered()

    def look(at_s: float, begun: int) -> str | None:
        now_s[0] = at_s
        executor.jobs = JobProgress(jobs=1, stages=1, tasks_all=1, tasks_begun=begun)
        watch.look()
        answer = questions.result(world.ledger, asked)
        return None if answer is None or answer.failure is None else answer.failure.code

    assert look(1, 0) is None
    assert look(59, 0) is None
    assert look(59.5, 1) is None, "the others have ended, and its minute begins"
    assert look(119, 1) is None
    assert look(119.5, 1) == "TIMEOUT"
    gate.opened.set()
    join_slots()
