"""Faults while jobs run: a big fan-out cut in the middle, and operators who kill and resume against workers."""

from __future__ import annotations

import signal
import time

from pondage.components.registry import built_in
from pondage.errors import LedgerError
from pondage.ledger.act import jobs
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.plan.job.planner import plan_job
from pondage.plan.job.stored_job import stored_job
from pondage.project.archive import pack_project
from pondage.project.job import load_job
from tests.chaos.arena import PONDS, Arena, sent
from tests.chaos.deaths import killed_when_reached

ELEMENTS = 2_500
FANNING = (
    PONDS
    + f"""
from pondage import component

@component("elements", kind="iterator", outputs={{"item": "Any"}})
def elements(*, params, run):
    return list(range({ELEMENTS}))
"""
)
EACH = """
job: {name: each}
components:
  - {name: each, type: elements, params: {parallel: 10000}}
  - {name: body, type: sleep, params: {seconds: 0.01}}
  - {name: done, type: sleep, params: {seconds: 0}}
connections:
  data: [each.item -> body.input]
  control: [each (iterator_complete) done]
"""
FORK = """
job: {name: fork}
components:
  - {name: first, type: sleep, params: {seconds: 0.05}}
  - {name: left, type: sleep, params: {seconds: 0.1}}
  - {name: right, type: sleep, params: {seconds: 0.1}}
  - {name: join, type: sleep, params: {seconds: 0}}
  - {name: last, type: sleep, params: {seconds: 0.05}}
connections:
  control: ["first (parallelise) left, right", "left, right (synchronise) join", join (subjob_ok) last]
"""
_OPEN = "SELECT 1 FROM job_runs WHERE ended_at IS NULL"


def begin(arena: Arena, text: str) -> str:
    """Start a run of a job with the code of the arena's project."""
    archive = pack_project(arena.project)
    loaded = load_job(text, lambda _name: None, file="job.yaml")
    assert loaded.job is not None, loaded.problems
    registry = dict(built_in())
    if "elements" in text:
        from pondage.project.reader import read_declared

        registry.update({one.name: one for one in read_declared(arena.project).components})
    stored = stored_job(plan_job(loaded.job, {}, registry).plan, registry, archive=archive.digest)
    return jobs.start_job(arena.ledger, "main", stored, archive=archive.data)


def fan_out_cut(arena: Arena) -> None:
    """A worker dies between two chunks of a big fan-out: it goes on at the cursor, and each body is made once."""
    begun: list[str] = []
    killed_when_reached(arena, "in_fan_out", lambda: begun.append(begin(arena, EACH)))
    bodies = "SELECT node FROM dispatches WHERE node LIKE 'body%'"
    arena.wait("every iteration was opened", lambda: arena.count(bodies) >= ELEMENTS)
    with arena.ledger.reading() as tx:
        nodes = [str(row["node"]) for row in tx.rows(bodies)]
        is_open = tx.rows("SELECT id FROM signals WHERE kind = 'unfold'")
    assert len(nodes) == len(set(nodes)) == ELEMENTS, f"{len(nodes)} dispatches for {len(set(nodes))} bodies"
    assert not is_open, "the fan-out is complete and still open"
    arena.wait_done(20)
    for _ in range(2):
        _ask(lambda: jobs.kill(arena.ledger, "main", begun[0]))


def runs_race(arena: Arena) -> None:
    """Runs are killed and resumed while workers commit, and workers die: each run ends once, and is told so."""
    arena.add(2)
    runs = [begin(arena, FORK) for _ in range(4)]
    arena.wait_done(1)  # before there are workers nobody races with anybody
    for _ in range(12):
        if arena.count(_OPEN) < 2:
            runs.append(begin(arena, FORK))
        run = arena.random.choice(runs)
        if arena.random.random() < 0.5:
            _ask(lambda run=run: jobs.kill(arena.ledger, "main", run))  # type: ignore[misc]
        else:
            resumed = _ask(lambda run=run: jobs.resume(arena.ledger, "main", run))  # type: ignore[misc]
            runs += [str(resumed)] if resumed else []
        if arena.random.random() < 0.3:
            for pid in arena.worker_pids()[:1]:
                sent(pid, signal.SIGKILL)
        time.sleep(arena.random.uniform(0, 0.2))
    for _ in range(2):
        begin(arena, FORK)  # nobody disturbs these
    arena.wait("every run of a job is over", lambda: arena.count(_OPEN) == 0)
    doubled = arena.count(
        """SELECT actor, node FROM dispatches WHERE kind = 'component' AND outcome = 'ok'
           GROUP BY actor, node HAVING count(*) > 1"""
    )
    assert not doubled, "a component of a run ended well twice"


def _ask(call: object) -> object:
    """Ask for something that the run may be too far for."""
    while True:
        try:
            return call()  # type: ignore[operator]
        except LedgerUnavailable:
            time.sleep(0.05)
        except LedgerError as error:
            if error.code not in ("NOT_RUNNING", "NOT_HALTED"):
                raise
            return None
