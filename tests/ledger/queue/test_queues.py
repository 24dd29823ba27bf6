"""Queues of components: who may take what, how much at a time, with how much memory, and with which code."""

from __future__ import annotations

import msgspec
import pytest

from pondage.conform.control_registry import TEST_REGISTRY
from pondage.define.job.component import Registry, Resources, Scaling
from pondage.errors import LedgerError
from pondage.ledger.act import rebinding
from pondage.ledger.commit import guarded, polling
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.queue import queues
from pondage.ledger.queue.queues import Need, Offer
from pondage.ledger.tables import actors
from pondage.ledger.tables.history import Caller
from pondage.ledger.tables.job_plans import StoredJob
from pondage.ledger.upkeep import reap
from pondage.views.jobs.queues import component_queues
from pondage.work.component import ComponentResult, MemberResult
from tests.ledger.harness import SECOND
from tests.ledger.jobs import FUSED, Jobs, component, job

CHAIN = """
components:
  - {name: read, type: source}
  - {name: change, type: transform}
connections: {data: [read.main -> change.input]}
"""
TWO = "components: [{name: a, type: source}, {name: b, type: source}]\n"


def names(run: Jobs, offer: Offer) -> list[str]:
    with run.world.ledger.reading() as tx:
        return [str(row["components"]) for row in queues.served(tx, offer)]


def coded(registry: Registry, code: str, text: str = CHAIN) -> StoredJob:
    return msgspec.structs.replace(job(text, registry=registry), archive=code)


def put_archives(run: Jobs, *codes: str) -> None:
    with run.world.ledger.transaction() as tx:
        for code in codes:
            tx.change(
                "INSERT INTO archives (digest, data, created_at) VALUES (:code, :data, :now)", code=code, data=b"zip"
            )


def test_a_worker_for_chosen_components_takes_nothing_else(run: Jobs) -> None:
    run.start(job(CHAIN))
    run.drain()
    assert sorted(names(run, Offer(code=""))) == ["source", "transform"]
    assert names(run, Offer(code="", components=frozenset({"transform"}))) == ["transform"]
    assert names(run, Offer(code="", components=frozenset({"other"}))) == []


def test_a_fused_group_is_for_whoever_serves_all_its_members(run: Jobs) -> None:
    run.start(job(CHAIN, registry=FUSED))
    run.drain()
    assert names(run, Offer(code="", components=frozenset({"transform"}))) == []
    assert names(run, Offer(code="", components=frozenset({"source", "transform", "x"}))) == ["source transform"]


def test_what_every_worker_has_comes_along_with_a_group_and_restricts_nobody(run: Jobs) -> None:
    library = msgspec.structs.replace(FUSED["source"], entry="pondage.components.constants:const")
    run.start(job(CHAIN, registry={**FUSED, "source": library}))
    run.drain()
    assert names(run, Offer(code="", components=frozenset({"transform"}))) == ["transform"]


def test_components_that_are_placed_differently_are_not_fused(run: Jobs) -> None:
    large = {**FUSED, "source": msgspec.structs.replace(FUSED["source"], resources=Resources(memory=("4g",)))}
    run.start(job(CHAIN, registry=large))
    assert run.drain() == ["read", "change"]


def test_work_that_ran_out_of_memory_is_done_again_with_the_next_size_and_counts_against_nothing(run: Jobs) -> None:
    hungry = component("source", resources=Resources(memory=("1g", "4g")), restartable=False)
    identity = run.start(job(TWO, registry={**TEST_REGISTRY, "source": hungry}))
    held = run.claim()
    assert held is not None
    assert guarded.enlarge(run.world.ledger, held, reason="Java heap space") is True
    assert guarded.enlarge(run.world.ledger, held, reason="Java heap space") is True, (
        "its own answer may have been lost"
    )
    small, large = Offer(code="", mebibytes=1024), Offer(code="", mebibytes=4096)
    with run.world.ledger.reading() as tx:
        assert [str(row["memory"]) for row in queues.served(tx, small)] == ["1g 4g"]
        assert [str(row["memory"]) for row in queues.served(tx, large)] == ["1g 4g", "4g"]
        assert [need.mebibytes for need in queues.needs(tx)] == [1024, 4096]
    again = claimed(run, held.claim.node)
    assert guarded.enlarge(run.world.ledger, again, reason="Java heap space") is None, "there is no larger size"
    run.commit(again)
    assert run.drain() == []
    assert run.row(identity).state == "OK"


def claimed(run: Jobs, node: str) -> Work:
    """Claim until it is this one; what else is found is done."""
    while (held := run.claim()) is not None:
        if held.claim.node == node:
            return held
        run.commit(held)
    raise AssertionError(f"{node} does not wait")


def test_a_process_whose_spark_ran_out_of_memory_leaves_its_work_to_a_larger_one(run: Jobs) -> None:
    hungry = component("source", resources=Resources(memory=("1g", "4g")), restartable=False)
    run.start(job("components: [{name: a, type: source}]\n", registry={**TEST_REGISTRY, "source": hungry}))
    assert run.claim() is not None
    reap.reap_process(run.world.ledger, run.worker.row, reason="Spark ran out of memory", is_out_of_memory=True)
    with run.world.ledger.reading() as tx:
        assert [need.mebibytes for need in queues.needs(tx)] == [4096]
    assert run.world.one("SELECT crashes FROM dispatches") == 0


def test_the_depth_of_a_queue_is_known_to_whoever_starts_workers(run: Jobs) -> None:
    scaled = component("source", scaling=Scaling(max_concurrency=2, min=1, max=3))
    registry = {**TEST_REGISTRY, "source": scaled}
    put_archives(run, "new")
    for _ in range(3):
        run.start(coded(registry, "new", TWO))
    with run.world.ledger.reading() as tx:
        expected = Need(code="new", waiting=6, concurrency=2, least=1, most=3)
        assert queues.needs(tx) == [expected]
        assert queues.needs(tx, Offer(code="", components=frozenset({"transform"}))) == []
    run.drain()
    with run.world.ledger.reading() as tx:
        assert queues.needs(tx) == []
        assert queues.needs(tx, newest="new") == [msgspec.structs.replace(expected, waiting=0, turn=None)], (
            "one is kept"
        )
        assert queues.needs(tx, newest="newer") == []


def test_the_concurrency_of_a_component_comes_with_its_queue(run: Jobs) -> None:
    scaled = component("source", scaling=Scaling(max_concurrency=2))
    run.start(job(TWO, registry={**TEST_REGISTRY, "source": scaled}))
    (queue,) = polling.poll(run.world.ledger, Offer(code=""), is_alone=True).queues
    assert queue.concurrency == 2
    held = run.claim()
    assert held is not None
    assert held.claim.queue == queue.id


class Old:
    """A run whose code is old: something of it waits, and newer code is deployed."""

    def __init__(self, run: Jobs, *, version: str = "1.1.0") -> None:
        self.run = run
        put_archives(run, "old", "new")
        self.identity = run.start(coded(TEST_REGISTRY, "old"))
        newer = {name: msgspec.structs.replace(one, version=version) for name, one in TEST_REGISTRY.items()}
        run.start(coded(newer, "new"))

    def rebind(self, queue: int, to: str | None = "new", *, is_back: bool = False) -> rebinding.Rebinding:
        ledger = self.run.world.ledger
        with ledger.transaction() as tx:
            environment = actors.environment(tx, "main")
            assert environment is not None
            return rebinding.rebind(
                ledger,
                tx,
                queue,
                to=to,
                environment=environment,
                is_back=is_back,
                by=Caller("ann", "the old one is broken"),
            )

    def deploy(self, code: str, project: str = "shop") -> None:
        self.run.world.clock.time += SECOND
        with self.run.world.ledger.transaction() as tx:
            tx.change(
                """INSERT INTO deployments (environment, project, archive, plan, deployed_at)
                   SELECT id, :project, :code, '{}', :now FROM environments WHERE name = 'main'""",
                code=code,
                project=project,
            )

    def queue(self) -> int:
        return int(str(self.run.world.one("SELECT id FROM queues WHERE code = 'old' AND components = 'source'")))


def test_left_over_work_is_bound_to_newer_code_with_all_that_still_comes_into_the_queue(run: Jobs) -> None:
    old = Old(run)
    assert [queue.id for queue in polling.queues_for(run.world.ledger, code="old")] == [old.queue()]
    old.rebind(old.queue())
    assert polling.queues_for(run.world.ledger, code="old") == []
    assert old.queue() in [queue.id for queue in polling.queues_for(run.world.ledger, code="new")]
    with run.world.ledger.reading() as tx:
        view = component_queues(tx, run.world.ledger)
    shown = {one.id: one for one in view.queues}[old.queue()]
    assert (shown.code, shown.served_by, shown.waiting, shown.components) == ("old", "new", 1, ("source",))
    run.start(coded(TEST_REGISTRY, "old"))
    assert polling.queues_for(run.world.ledger, code="old") == []
    assert run.world.one("SELECT note FROM audit WHERE verb = 'component rebind'") == "the old one is broken"


@pytest.mark.parametrize(
    ("to", "version", "code"),
    [("new", "2.0.0", "OTHER_MAJOR"), ("gone", "1.0.0", "NO_ARCHIVE"), ("bare", "1.0.0", "NO_COMPONENT")],
)
def test_code_that_cannot_do_the_work_is_refused(run: Jobs, to: str, version: str, code: str) -> None:
    old = Old(run, version=version)
    put_archives(run, "bare")
    with pytest.raises(LedgerError) as refused:
        old.rebind(old.queue(), to)
    assert refused.value.code == code
    assert [queue.id for queue in polling.queues_for(run.world.ledger, code="old")] == [old.queue()]


def test_a_queue_is_bound_to_the_newest_deployment_that_has_its_components_and_it_is_said_which(run: Jobs) -> None:
    old = Old(run)
    put_archives(run, "major", "bare")
    third = {name: msgspec.structs.replace(one, version="3.0.0") for name, one in TEST_REGISTRY.items()}
    run.start(coded(third, "major"))
    with pytest.raises(LedgerError) as refused:
        old.rebind(old.queue(), None)
    assert refused.value.code == "NO_COMPONENT", "nothing is deployed"
    old.deploy("old")
    old.deploy("new")
    deployed_at = run.world.clock.time
    old.deploy("major")
    old.deploy("bare", project="another")
    done = old.rebind(old.queue(), None)
    assert (done.code, done.before, done.components) == ("new", "old", {"source": "1.1.0"})
    assert done.deployed_at == deployed_at


def test_a_queue_is_bound_to_older_code_only_by_who_says_so(run: Jobs) -> None:
    old = Old(run)
    old.deploy("old")
    old.deploy("new")
    old.rebind(old.queue())
    with pytest.raises(LedgerError, match="code old is older than new") as refused:
        old.rebind(old.queue(), "old")
    assert (refused.value.code, refused.value.hint) == (
        "OLDER_CODE",
        "if that is what you want: pondage component rebind --back",
    )
    assert old.rebind(old.queue(), "old", is_back=True).code == "old"
    old.deploy("old")  # as a rollback of the project does
    assert old.rebind(old.queue(), None).code == "old", "what was deployed last is not older"


def test_only_what_newer_code_could_do_is_left_over(run: Jobs) -> None:
    old = Old(run)
    put_archives(run, "bare")

    def is_left_over() -> bool:
        with run.world.ledger.reading() as tx:
            view = component_queues(tx, run.world.ledger)
        return next(one.is_left_over for one in view.queues if one.id == old.queue())

    assert not is_left_over(), "code that came along with a run waits for nobody's deploy"
    old.deploy("old")
    old.deploy("bare", project="another")
    assert not is_left_over(), "another project was deployed, which has nothing to do with it"
    old.deploy("new")
    assert is_left_over()
    old.rebind(old.queue(), None)
    assert not is_left_over()


def test_what_is_left_over_is_shown_with_its_age(run: Jobs) -> None:
    Old(run)
    run.world.clock.time += 5_000_000
    with run.world.ledger.transaction() as tx:
        tx.change(
            """INSERT INTO deployments (environment, project, archive, plan, deployed_at)
               SELECT id, 'shop', 'new', '{}', :now FROM environments WHERE name = 'main'"""
        )
        view = component_queues(tx, run.world.ledger)
    assert view.newest == "new"
    assert [(one.code, one.waiting, one.oldest_us, one.is_left_over) for one in view.queues] == [
        ("old", 1, 5_000_000, True),
        ("new", 1, 5_000_000, False),
    ]


def test_a_result_without_memory_says_so() -> None:
    full = MemberResult(instance="a", raises="OutOfMemoryError: Java heap space", code="OUT_OF_MEMORY")
    assert ComponentEnded(ComponentResult(members=(full,))).lacked_memory == full.raises
    boom = MemberResult(instance="a", raises="boom", code="Boom")
    assert ComponentEnded(ComponentResult(members=(boom,))).lacked_memory is None


def test_what_waits_for_its_next_try_is_not_due_and_the_oldest_has_the_first_turn(run: Jobs) -> None:
    put_archives(run, "aaa", "bbb")
    run.start(coded(TEST_REGISTRY, "bbb", TWO))
    run.world.pass_time(1)
    run.start(coded(TEST_REGISTRY, "aaa", TWO))

    def turns() -> dict[str, int | None]:
        with run.world.ledger.reading() as tx:
            return {need.code: need.turn for need in queues.needs(tx)}

    assert turns() == {"bbb": 0, "aaa": 1}
    with run.world.ledger.transaction() as tx:
        queue = tx.one("SELECT id FROM queues WHERE code = 'bbb'", int)
        then = tx.now + 9_000_000
        tx.change("UPDATE availabilities SET available_at = :then WHERE queue = :queue", then=then, queue=queue)
    assert turns() == {"bbb": None, "aaa": 0}
