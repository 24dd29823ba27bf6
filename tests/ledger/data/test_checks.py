"""Data checks in the ledger: what rules are told, what becomes of their results, and states to compare."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.pond.definition import ExpectationDefinition, PondDefinition
from pondage.define.values.names import PondKey
from pondage.errors import NotFound
from pondage.kernel.demand.events import Clear, Force, Pulse
from pondage.ledger.act import inspections, questions, verbs
from pondage.ledger.act.deploy import deploy
from pondage.ledger.commit import guarded
from pondage.ledger.data.checks import judgements
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Answered, Work
from pondage.ledger.kinds.query import QueryTask
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.views.ponds.checks import breaking, read_checks
from pondage.views.ponds.diff import comparison
from pondage.work.failure import RuleFailure
from pondage.work.snapshot import DataFile, ExpectationResult, SetAside
from tests.ledger.harness import SCHEMA, Worker, World, content, pond

RULE = ExpectationDefinition(name="not_null(n)", kind="not_null", column="n", quarantine=True)
VOLUME = ExpectationDefinition(name="volume", kind="volume", maximum=0.5, of_last=2)


def ruled(name: str, *rules: ExpectationDefinition) -> PondDefinition:
    plain = pond(name)
    ripple = msgspec.structs.replace(plain.ripples[0], expectations=rules)
    return msgspec.structs.replace(plain, ripples=(ripple,))


def result(broken: int, *, is_set_aside: bool = False) -> ExpectationResult:
    passed = broken == 0 or is_set_aside
    return ExpectationResult(
        name=RULE.name, severity="fail", passed=passed, observed=f"{broken}", broken=broken, is_set_aside=is_set_aside
    )


def claimed(world: World, worker: Worker, environment: str = "main") -> Work:
    verbs.send(world.ledger, environment, Force(pond=PondKey("orders@1")))
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, RippleTask)
    return held


def write(world: World, worker: Worker, rows: int, broken: int = 0) -> None:
    held = claimed(world, worker)
    files = (DataFile(name="b", rows=broken, bytes=1),)
    bad = SetAside(path=f"/warehouse/{held.claim.token}/_bad", files=files, schema=SCHEMA, rows=broken, bytes=1)
    written = msgspec.structs.replace(
        content(held, rows),
        expectations=(result(broken, is_set_aside=broken > 0),),
        set_aside=bad if broken else None,
    )
    assert guarded.commit(world.ledger, held, Written(written), process=worker.id)


def refuse(world: World, worker: Worker, broken: int) -> Work:
    held = claimed(world, worker)
    failure = RuleFailure(
        code="EXPECTATION", message="bad", results=(result(broken),), rejected=content(held, broken).plain
    )
    assert guarded.commit(world.ledger, held, Failed(failure), process=worker.id)
    world.send(Clear(pond=PondKey("orders@1")))
    return held


def test_a_rule_about_volume_is_told_the_last_sizes_and_no_other_work_is(world: World) -> None:
    world.deploy(ruled("orders", RULE, VOLUME))
    worker = world.worker()
    for rows in (5, 7, 9):
        write(world, worker, rows)
    held = claimed(world, worker)
    assert isinstance(held.task, RippleTask)
    assert held.task.volumes == (9, 7)
    assert worker.finish(held)
    world.deploy(ruled("orders", RULE))
    again = claimed(world, worker)
    assert isinstance(again.task, RippleTask)
    assert again.task.volumes == ()


def test_every_judgement_is_kept_published_or_not(world: World) -> None:
    world.deploy(ruled("orders", RULE))
    worker = world.worker()
    write(world, worker, 5)
    world.pass_time(1)
    write(world, worker, 6, broken=2)
    world.pass_time(1)
    held = refuse(world, worker, 4)
    with world.ledger.reading() as tx:
        past = judgements(tx, pond=1, ripple="orders", most=10)
        view = read_checks(tx, world.ledger, "main", subject="orders", most=10)
        [asked] = breaking(tx, world.ledger, "main", subject="orders", rule=None)
    assert [(each.run_number, each.results[0].broken, each.snapshot is not None) for each in past] == [
        (3, 4, False), (2, 2, True), (1, 0, True),
    ]  # fmt: skip
    assert past[0].rejected == content(held, 4).plain
    assert (view.rules[0].state, view.rules[0].trend, view.rules[0].kept) == ("broken", "worse", 1)
    assert (asked.rules, asked.judged.rejected) == ((RULE,), past[0].rejected)
    assert "rejected" not in str(world.one("SELECT error FROM runs WHERE number = 3")), "a machine keeps the words only"


def test_rows_that_were_set_aside_are_a_table_that_a_query_may_ask(world: World) -> None:
    world.deploy(ruled("orders", RULE), pond("plain"))
    worker = world.worker()
    write(world, worker, 6, broken=2)
    questions.submit(world.ledger, "main", "select * from orders__bad", limit=5)
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, QueryTask)
    assert {name: each.rows for name, each in held.task.views.items()} == {
        "orders": 6, "orders.orders": 6, "orders__bad": 2, "orders.orders__bad": 2,
    }  # fmt: skip
    assert guarded.commit(world.ledger, held, Answered("{}"), process=worker.id)
    write(world, worker, 6)
    questions.submit(world.ledger, "main", "select * from orders.orders__bad", limit=5)
    held = worker.claim()
    assert held is not None
    assert isinstance(held.task, QueryTask)
    nothing = held.task.views["orders__bad"]
    assert (nothing.rows, nothing.files) == (0, ())
    assert [each["name"] for each in msgspec.json.decode(nothing.schema)["fields"]][-1] == "_bad"


def test_a_state_is_a_run_of_the_pond_or_what_an_environment_shows(world: World) -> None:
    world.deploy(ruled("orders", RULE), pond("plain"))
    worker = world.worker()
    write(world, worker, 5)
    write(world, worker, 6)
    deploy(
        world.ledger, "dev", project="p", definitions=[ruled("orders", RULE)], removed=[], archive=b"a", summary="{}",
        expected=[],
    )  # fmt: skip
    with world.ledger.reading() as tx:
        found = comparison(tx, world.ledger, "main", "orders", against="orders#1", keys=())
        assert (found.before.number, found.after.number, found.is_same) == (1, 2, False)
        assert comparison(tx, world.ledger, "main", "orders", against="main", keys=("n",)).is_same
        with pytest.raises(NotFound, match="no completed Run in environment 'dev'"):
            comparison(tx, world.ledger, "main", "orders", against="dev", keys=())
        with pytest.raises(NotFound, match="has never published"):
            comparison(tx, world.ledger, "main", "plain", against="dev", keys=())
        with pytest.raises(NotFound, match="neither a Run nor an environment; did you mean 'main'"):
            comparison(tx, world.ledger, "main", "orders", against="maine", keys=())
    held = claimed(world, worker, "dev")
    assert worker.finish(held)
    with world.ledger.reading() as tx:
        found = comparison(tx, world.ledger, "main", "orders.orders", against="dev", keys=())
    assert (found.before.environment, found.after.environment) == ("dev", "main")
    with world.ledger.transaction() as tx:
        inspections.submit_diff(tx, world.ledger, 1, before=found.old, after=found.new, keys=found.keys, limit=5)
    asked = worker.claim()
    assert asked is not None
    assert isinstance(asked.task, QueryTask)
    assert {name: each.rows for name, each in asked.task.views.items()} == {"before.orders": 1, "after.orders": 6}


def test_a_run_of_another_pond_cannot_be_compared(world: World) -> None:
    world.deploy(ruled("orders", RULE), pond("plain"))
    worker = world.worker()
    write(world, worker, 5)
    world.send(Pulse(pond=PondKey("plain@1")))
    worker.drain()
    with world.ledger.reading() as tx, pytest.raises(NotFound, match="Run plain#1 is not one of orders"):
        comparison(tx, world.ledger, "main", "orders", against="plain#1", keys=())
