"""Resume: a new run that takes over what is finished, with its tables; an edited job shows its difference first."""

from __future__ import annotations

import msgspec
import pytest

from pondage.errors import LedgerError, NotFound
from pondage.ledger.act import jobs
from pondage.ledger.act.trials import KEEP_US, submit_sample
from pondage.work.component import ComponentTask, Stored
from tests.ledger.harness import pond
from tests.ledger.jobs import Jobs, job


def test_only_a_run_that_failed_or_was_killed_can_be_resumed(run: Jobs) -> None:
    started = run.start(job(CHAIN))
    with pytest.raises(LedgerError) as refused:
        jobs.resume(run.world.ledger, "main", started)
    assert refused.value.code == "NOT_HALTED"
    run.drain()
    with pytest.raises(LedgerError) as refused:
        jobs.resume(run.world.ledger, "main", started)
    assert refused.value.code == "NOT_HALTED"
    with pytest.raises(NotFound):
        jobs.resume(run.world.ledger, "main", "j0")


CHAIN = """
job: {name: chain}
components:
  - {name: read, type: source}
  - {name: keep, type: transform}
  - {name: load, type: transform}
  - {name: more, type: sink}
connections:
  data: [read.main -> keep.input, keep.main -> load.input, load.main -> more.input]
  control: [keep (subjob_ok) load]
"""


def failed(run: Jobs) -> str:
    started = run.start(job(CHAIN), day=1)
    assert run.drain(failing={"load"}) == ["read", "keep", "load"]
    assert run.row(started).state == "ERROR"
    return started


def test_a_resumed_run_repeats_nothing_that_is_finished_and_reads_its_tables(run: Jobs) -> None:
    started = failed(run)
    resumed = jobs.resume(run.world.ledger, "main", started)
    held = run.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    assert held.claim.node == "load"
    (given,) = held.task.members[0].inputs["input"]
    old = next(one for one in run.show(started).components if one.name == "keep")
    assert isinstance(given, Stored)
    assert given.content.path == old.outputs[0].path
    assert held.task.context == {"env": "main", "run_id": started, "day": 1}
    run.commit(held)
    assert run.drain() == ["more"]
    view = run.show(resumed)
    assert (view.run.state, view.run.resumed_from) == ("OK", started)
    assert [one.name for one in view.components if one.is_restored] == ["read", "keep"]


def test_a_resumed_run_can_be_resumed_again(run: Jobs) -> None:
    again = jobs.resume(run.world.ledger, "main", failed(run))
    assert run.drain(failing={"load"}) == ["load"]
    last = jobs.resume(run.world.ledger, "main", again)
    assert run.drain() == ["load", "more"]
    assert run.row(last).state == "OK"


def test_a_killed_run_goes_on_where_it_stopped(run: Jobs) -> None:
    started = run.start(job(CHAIN))
    for _ in range(2):
        held = run.claim()
        assert held is not None
        run.commit(held)
    held = run.claim()
    assert held is not None
    jobs.kill(run.world.ledger, "main", started)
    jobs.kill(run.world.ledger, "main", started)
    resumed = jobs.resume(run.world.ledger, "main", started)
    assert run.drain() == ["load", "more"]
    assert run.row(resumed).state == "OK"


def test_an_edited_job_is_refused_until_its_difference_was_seen(run: Jobs) -> None:
    started = failed(run)
    edited = job(CHAIN.replace("{name: load, type: transform}", "{name: load, type: transform, params: {x: 2}}"))
    found = jobs.resume_difference(run.world.ledger, "main", started, edited)
    assert (found.kept, found.changed) == (("read",), ("load",))
    with pytest.raises(LedgerError) as refused:
        jobs.resume(run.world.ledger, "main", started, job=edited)
    assert refused.value.code == "RESUME_PLAN_MISMATCH"
    resumed = jobs.resume(run.world.ledger, "main", started, job=edited, is_edited=True)
    assert run.drain() == ["load", "more"]
    assert run.row(resumed).state == "OK"


def test_what_an_edit_touches_runs_again_and_what_depends_on_it(run: Jobs) -> None:
    started = failed(run)
    edited = job(CHAIN.replace("{name: read, type: source}", "{name: read, type: source, params: {x: 2}}"))
    jobs.resume(run.world.ledger, "main", started, job=edited, is_edited=True)
    assert run.drain() == ["read", "keep", "load", "more"]


def test_a_table_that_is_not_what_was_written_refuses_the_resume(run: Jobs) -> None:
    started = failed(run)
    with pytest.raises(LedgerError) as refused:
        jobs.resume(run.world.ledger, "main", started, is_intact=lambda content: "keep" not in content.path)
    assert refused.value.code == "RESUME_HASH_MISMATCH"
    assert run.claim() is None


def test_fresh_globals_keep_data_and_forget_globals(run: Jobs) -> None:
    started = run.start(job(CHAIN))
    for _ in range(2):
        held = run.claim()
        assert held is not None
        run.commit(held, globals={"seen": held.claim.node})
    held = run.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    assert held.task.globals == {"seen": "keep"}
    run.commit(held, failing={"load"})
    jobs.resume(run.world.ledger, "main", started, fresh_globals=True)
    held = run.claim()
    assert held is not None
    assert isinstance(held.task, ComponentTask)
    assert (held.claim.node, held.task.globals) == ("load", {})


LOOP = """
job: {name: loop}
components:
  - {name: each, type: iterator}
  - {name: body, type: transform}
  - {name: done, type: union}
connections:
  data: [each.item -> body.input, body.main -> done.input]
  control: [each (iterator_complete) done]
"""


def test_finished_iterations_are_restored_with_their_tables(run: Jobs) -> None:
    started = run.start(job(LOOP))
    held = run.claim()
    assert held is not None
    run.commit(held, items=list(range(10)))
    assert run.drain(failing={"body[#3]"}) == ["body[#1]", "body[#2]", "body[#3]"]
    assert run.row(started).state == "ERROR"
    resumed = jobs.resume(run.world.ledger, "main", started)
    ran = []
    gathered = 0
    while (held := run.claim()) is not None:
        assert isinstance(held.task, ComponentTask)
        ran.append(held.claim.node)
        gathered = len(held.task.members[0].inputs["input"])
        run.commit(held)
    assert ran == [*(f"body[#{number}]" for number in range(3, 11)), "done"]
    assert gathered == 10
    assert run.row(resumed).state == "OK"


def test_the_code_of_a_job_stays_while_a_run_may_be_resumed_with_it(run: Jobs) -> None:
    stored = msgspec.structs.replace(job(CHAIN), archive="c0de")
    jobs.start_job(run.world.ledger, "main", stored, archive=b"code")
    run.drain(failing={"load"})
    run.world.clock.time += 2 * KEEP_US
    run.world.deploy(pond("orders"))
    submit_sample(run.world.ledger, "main", pond("orders"), archive=b"another", ripple=None, rows=1, limit=1)
    assert run.world.one("SELECT count(*) FROM archives WHERE digest = 'c0de'") == 1
