"""Big fan-outs: at most 1,000 iterations in a transaction, going on at the cursor whoever dies in between."""

from __future__ import annotations

import msgspec
import pytest

from pondage.conform.control_durable import LedgerControlHost
from pondage.kernel.control import iterate
from pondage.kernel.control.effects import Run
from pondage.kernel.control.events import Start
from pondage.ledger.act import jobs
from pondage.ledger.step import advance
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_host import ControlHost
from pondage.simulate.control_virtual import VirtualControlHost
from tests.ledger.jobs import Jobs, job
from tests.ledger.mortal_jobs import MortalControlHost

EACH = """
job: {name: each}
components:
  - {name: each, type: iterator, params: {parallel: 10000}}
  - {name: body, type: transform}
  - {name: done, type: union}
connections:
  data: [each.item -> body.input, body.main -> done.input]
  control: [each (iterator_complete) done]
"""


def begun(run: Jobs, count: int) -> str:
    started = run.start(job(EACH))
    held = run.claim()
    assert held is not None
    run.commit(held, items=list(range(count)))
    return started


def opened(run: Jobs) -> list[int]:
    """How many iterations each step opened."""
    return [
        sum(kind == "level" for kind, _ in msgspec.json.decode(str(row["touched"])))
        for row in run.world.rows("SELECT touched FROM advancements ORDER BY id")
    ]


def test_many_elements_unfold_in_chunks_of_a_thousand_and_each_body_is_dispatched_once(run: Jobs) -> None:
    started = begun(run, 2_500)
    assert opened(run) == [1, 1_000, 1_000, 500]
    rows = run.world.rows("SELECT node FROM dispatches WHERE node <> 'each'")
    assert {row["node"] for row in rows} == {f"body[#{number}]" for number in range(1, 2_501)}
    assert len(rows) == 2_500
    assert run.world.one("SELECT count(*) FROM signals") == 0
    assert run.levels(started) == 2_501


def test_an_iterator_over_the_limit_fails_and_unfolds_nothing(run: Jobs) -> None:
    started = begun(run, 10_001)
    found = next(one for one in run.show(started).components if one.name == "each")
    assert (found.state, found.code) == ("ERROR", "FANOUT_LIMIT")
    assert run.levels(started) == 1


def test_while_a_fan_out_is_open_nothing_else_steps_the_run(run: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iterate, "CHUNK", 4)
    monkeypatch.setattr(advance, "waiting", lambda *_args, **_named: None)  # the worker dies right after its commit
    started = begun(run, 10)
    assert opened(run) == [1, 4]
    body = run.claim()
    assert body is not None
    run.commit(body, failing={"body[#1]"})
    assert opened(run) == [1, 4, 4]
    assert run.claim() is not None  # one that runs: a killed run waits for it, and for nothing that has not begun
    jobs.kill(run.world.ledger, "main", started)
    assert opened(run) == [1, 4, 4, 2]
    assert run.row(started).state == "RUNNING"
    advance.advance_due(run.world.ledger, process=None)
    assert run.states(started)["body[#1]"] == "ERROR"
    assert run.show(started).run.state == "RUNNING"


def story(host: ControlHost) -> list[object]:
    plan = job(EACH).plan
    behave = lambda instance, _attempt: Ending(  # noqa: E731 - a play's behaviour
        takes=1 + len(instance) % 3, items=list(range(17)), raises="no" if instance == "body[#9]" else None
    )
    run = play(host, plan, behave, start=Start(second=1))
    ran = [(now, one.instance, one.attempt) for now, one in run.effects if isinstance(one, Run)]
    seen = [run.timeline, run.state, ran, dict(host.states()), dict(host.globals())]
    host.close()
    return seen


def test_chunks_change_nothing_but_the_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = story(VirtualControlHost())
    monkeypatch.setattr(iterate, "CHUNK", 5)
    assert story(VirtualControlHost()) == whole
    assert story(LedgerControlHost()) == whole


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_death_at_every_chunk_boundary_goes_on_at_the_cursor(
    monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    monkeypatch.setattr(iterate, "CHUNK", 5)
    unharmed = MortalControlHost({})
    expected = story(unharmed)
    for boundary in range(1, unharmed.mortal.seen + 1):
        host = MortalControlHost({boundary: is_committed})
        assert story(host) == expected, boundary
        assert host.died == 1
