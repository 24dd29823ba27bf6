"""Samples and analyses in the ledger: code that is not deployed, work without a machine, nothing changed."""

import msgspec
import pytest

from pondage.define.values.names import PondKey
from pondage.errors import NotFound
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import questions, trials
from pondage.ledger.commit import guarded
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.infer import InferTask, TypesFound
from pondage.ledger.kinds.kind import Answered
from pondage.ledger.kinds.sample import SampleTask
from pondage.ledger.tables import inferred_types
from pondage.operations import inference
from pondage.work.failure import Failure
from pondage.work.inference import Inferred, Question
from tests.ledger.harness import SCHEMA, SECOND, Worker, World, pond
from tests.operations.calling import Here

SALES = pond("sales", sources={"orders": True, "rates": False}, ripples={"clean": [], "sales": ["clean"]}, code="new")


@pytest.fixture
def published_once(world: World) -> Worker:
    """`orders` and `sales` have published, `rates` (optional) never has."""
    world.deploy(
        pond("orders"),
        pond("rates"),
        pond("sales", sources={"orders": True, "rates": False}, ripples={"clean": [], "sales": ["clean"]}),
    )
    worker = world.worker()
    world.send(Pulse(pond=PondKey("sales@1")))
    assert worker.drain() == ["orders", "clean", "sales"]
    return worker


def sample(world: World, ripple: str | None = None) -> int:
    return trials.submit_sample(world.ledger, "main", SALES, archive=b"new", ripple=ripple, rows=100, limit=5)


def states(world: World) -> list[dict[str, object]]:
    return world.rows("SELECT id, state, definition FROM ponds ORDER BY id")


def test_a_sample_is_claimed_with_the_snapshots_it_reads_and_changes_nothing(
    world: World, published_once: Worker
) -> None:
    before, runs = states(world), world.one("SELECT count(*) FROM runs")
    asked = sample(world)
    assert questions.result(world.ledger, asked) is None
    held = published_once.claim()
    assert held is not None
    task = held.task
    assert task is not None
    assert task.ripples == ("clean", "sales")
    assert task.inputs["clean"]["orders"] is not None
    assert task.inputs["clean"]["rates"] is None
    assert task.inputs["sales"] == {}, "its parent is part of the sample"
    assert task.contracts == {"clean": SCHEMA, "sales": SCHEMA}
    assert guarded.commit(world.ledger, held, Answered("[]"), process=published_once.id)
    answer = questions.result(world.ledger, asked)
    assert answer is not None
    assert answer.result == "[]"
    assert states(world) == before
    assert world.one("SELECT count(*) FROM runs") == runs
    assert published_once.claim() is None


def test_one_ripple_reads_what_its_sibling_published(world: World, published_once: Worker) -> None:
    sample(world, "sales")
    held = published_once.claim()
    assert held is not None
    assert isinstance(held.task, SampleTask)
    assert held.task.ripples == ("sales",)
    assert held.task.inputs["sales"]["clean"] is not None


def test_a_sibling_that_never_published_is_run_too(world: World) -> None:
    world.deploy(pond("orders"))
    worker = world.worker()
    world.send(Pulse(pond=PondKey("orders@1")))
    worker.drain()
    sample(world, "sales")
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, SampleTask)
    assert held.task.ripples == ("clean", "sales")


def test_a_source_that_never_published_is_an_error_with_what_to_type(world: World) -> None:
    with pytest.raises(NotFound, match=r"sales\.clean reads orders\.orders, which has never published") as refused:
        sample(world)
    assert refused.value.code == "NEVER_PUBLISHED"
    assert "pondage run orders" in (refused.value.hint or "")


def test_a_sample_that_fails_is_not_tried_again(world: World, published_once: Worker) -> None:
    asked = sample(world)
    held = published_once.claim()
    assert held is not None
    failure = Failure(code="RIPPLE_FAILED", message="no", place="ponds.py:3")
    assert guarded.commit(world.ledger, held, Failed(failure), process=published_once.id)
    answer = questions.result(world.ledger, asked)
    assert answer is not None
    assert answer.failure == failure
    assert published_once.claim() is None


def test_the_code_of_a_sample_is_kept_for_a_worker_and_goes_after_a_day(world: World, published_once: Worker) -> None:
    sample(world)
    held = published_once.claim()
    assert held is not None
    guarded.commit(world.ledger, held, Answered("[]"), process=published_once.id)
    assert world.one("SELECT count(*) FROM archives") == 2
    world.clock.time += 90_000 * SECOND
    trials.submit_sample(world.ledger, "main", SALES, archive=b"newer", ripple=None, rows=1, limit=1)
    left = {bytes(row["data"]) for row in world.rows("SELECT data FROM archives")}  # type: ignore[call-overload]
    assert left == {b"a", b"newer"}, "deployed code stays"


def test_an_analysis_brings_its_ponds_and_what_is_known(world: World, published_once: Worker) -> None:
    with world.ledger.reading() as tx:
        known = trials.published_schemas(tx, "main")
        assert trials.published_schemas(tx, "elsewhere") == {}
    assert known == {"orders@1.orders": SCHEMA, "sales@1.clean": SCHEMA, "sales@1.sales": SCHEMA}
    trials.submit_infer(world.ledger, "main", [SALES], asked=["sales@1.clean"], known=known, archive=b"new")
    held = published_once.claim()
    assert held is not None
    assert isinstance(held.task, InferTask)
    assert held.task.asked == ("sales@1.clean",)
    assert held.task.ponds == (SALES,)
    assert held.task.known == known


def about(key: str) -> Question:
    return Question(key=key, component=key, entry=f"shop:{key}", inputs={"in": ("Table<{a: int}>",)}, params={"n": 1})


def known_types(world: World, environment: str = "main") -> dict[str, dict[str, str]]:
    with world.ledger.reading() as tx:
        return {one.key: one.outputs for one in inferred_types.known(tx, environment, ["fits", "bad", "odd", "new"])}


def answered(world: World, worker: Worker, *answers: Inferred) -> tuple[Question, ...]:
    """Let the worker answer, and say what it was asked."""
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, InferTask)
    assert guarded.commit(world.ledger, held, TypesFound(msgspec.json.encode(answers).decode()), process=worker.id)
    return held.task.questions


def test_types_that_spark_told_are_kept_for_the_environment_and_never_asked_for_again(
    world: World, published_once: Worker
) -> None:
    questions = [about("fits"), about("bad"), about("odd")]
    begun = Here(world.ledger).ask(inference.infer, questions=questions, archive=b"new")
    assert begun.known == ()
    assert begun.answer is not None
    fits = Inferred(key="fits", outputs={"out": "Table<{b: int}>"})
    others = Inferred(key="bad", problem="no such column"), Inferred(key="odd", why="it fails on nothing")
    assert answered(world, published_once, fits, *others) == tuple(questions)
    assert known_types(world) == {"fits": {"out": "Table<{b: int}>"}}, "what failed may not fail again"
    assert known_types(world, "elsewhere") == {}
    begun = Here(world.ledger).ask(inference.infer, questions=[about("fits")], archive=b"new")
    assert (begun.known, begun.answer) == ((fits,), None)
    begun = Here(world.ledger).ask(inference.infer, questions=[about("fits"), about("odd")], archive=b"new")
    assert begun.known == (fits,)
    assert answered(world, published_once) == (about("odd"),)


def test_types_that_spark_told_go_with_the_retention_of_runs(world: World, published_once: Worker) -> None:
    Here(world.ledger).ask(inference.infer, questions=[about("fits")], archive=b"new")
    answered(world, published_once, Inferred(key="fits", outputs={"out": "Table<{b: int}>"}))
    world.clock.time += int(world.ledger.durability.retention_days + 1) * 86_400 * SECOND
    Here(world.ledger).ask(inference.infer, questions=[about("new")], archive=b"new")
    answered(world, published_once, Inferred(key="new", outputs={"out": "Table<{c: int}>"}))
    assert known_types(world) == {"new": {"out": "Table<{c: int}>"}}


def test_deployed_code_is_asked_by_its_digest(world: World, published_once: Worker) -> None:
    digest = str(world.one("SELECT digest FROM archives"))
    Here(world.ledger).ask(inference.infer, questions=[about("fits")], archive=b"", code=digest)
    assert world.one("SELECT q.code FROM dispatches d JOIN queues q ON q.id = d.queue WHERE d.kind = 'infer'") == digest
    assert world.one("SELECT count(*) FROM archives") == 1
