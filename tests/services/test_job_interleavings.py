"""Two transactions about one run of a job on PostgreSQL, one cut into the other at every statement.

The last two siblings of a join commit at once; kills, reapers and expired leases meet commits. Whoever wins, the run
ends once, the join starts at most once, and the recorded steps give the stored rows.
"""

from __future__ import annotations

import pytest

from pondage.kernel.demand import events as demand
from pondage.ledger.act import jobs, verbs
from pondage.ledger.commit import guarded
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.postgres import PostgresDriver
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.kind import Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.ledger.tables import actors
from pondage.ledger.upkeep import job_replay, leases, reap
from tests.histories.postgres import PostgresSchema
from tests.ledger.harness import SECOND, World
from tests.ledger.jobs import Jobs, component_result, job
from tests.ledger.step.test_ripple_bodies import KEY, Bodies, reports
from tests.services.interleaving import cut_everywhere
from tests.services.postgres import PostgresServer

FORK = """
job: {name: fork}
components: [{name: fork, type: task}, {name: a, type: task}, {name: b, type: task}, {name: join, type: task}]
connections:
  control: ["fork (parallelise) a, b", "a, b (synchronise) join"]
"""


def left_over(world: World) -> list[str]:
    """Answer what is not over, went wrong or was done twice."""
    found = []
    for what, question in {
        "signals": "SELECT id FROM signals",
        "open executions": "SELECT id FROM executions WHERE completed_at IS NULL",
        "open dispatches": "SELECT id FROM dispatches WHERE outcome IS NULL",
        "halted actors": "SELECT id FROM actors WHERE halted IS NOT NULL",
        "failed steps": "SELECT error AS id FROM advancements WHERE error IS NOT NULL",
        "doubled work": "SELECT min(id) AS id FROM dispatches GROUP BY node, number HAVING count(*) > 1",
    }.items():
        found += [f"{what}: {row['id']}" for row in world.rows(question)]
    return found


class JobScene:
    """A fork whose two branches are held by two workers."""

    def __init__(self, server: PostgresServer) -> None:
        PostgresSchema(server.url, "interleaved")
        self._made: list[Driver] = []

        def make(clock: FakeClock) -> Driver:
            self._made.append(PostgresDriver(server.url, schema="interleaved", clock=clock))
            return self._made[-1]

        self.world = World(make)
        self.run = Jobs(self.world)
        self.started = self.run.start(job(FORK))
        fork = self.run.claim()
        assert fork is not None
        self.run.commit(fork)
        self.workers = [self.run.worker, self.world.worker(pid=2)]
        self.held: list[Work] = []
        for worker in self.workers:
            held = worker.claim()
            assert held is not None
            self.held.append(held)
        self._row = self.workers[0].row
        with self.world.ledger.transaction() as tx:
            claim = self.held[0].claim
            leases.extend(tx, execution=claim.execution, token=claim.token, for_us=1)
        self.world.clock.time += 10

    def commit(self, ledger: Ledger) -> object:
        return self._commit(ledger, 0)

    def commit_sibling(self, ledger: Ledger) -> object:
        return self._commit(ledger, 1)

    def _commit(self, ledger: Ledger, at: int) -> object:
        result = component_result(self.held[at])
        return guarded.commit(ledger, self.held[at], ComponentEnded(result), process=self.workers[at].id)

    def kill(self, ledger: Ledger) -> object:
        return jobs.kill(ledger, "main", self.started)

    def kill_twice(self, ledger: Ledger) -> object:
        jobs.kill(ledger, "main", self.started)
        with ledger.transaction() as tx:
            is_over = jobs.find(tx, "main", self.started).ended_at is not None
        return None if is_over else jobs.kill(ledger, "main", self.started)

    def reap(self, ledger: Ledger) -> object:
        return reap.reap_process(ledger, self._row, reason="silent")

    def expire(self, ledger: Ledger) -> object:
        return leases.expire(ledger, process=None)

    def release(self, ledger: Ledger) -> object:
        return guarded.release(ledger, self.held[0])

    def ending(self) -> list[str]:
        """Reap everybody, let a new worker do what is left, and answer what is wrong then."""
        ledger = self.world.ledger
        with ledger.reading() as tx:
            rows = processes.alive(tx)
        for row in rows:
            reap.reap_process(ledger, row, reason="silent")
        for _ in range(3):
            self.world.clock.time += 100 * SECOND
            advance.advance_due(ledger, process=None)
            self.run.worker = self.world.worker(pid=9)
            self.run.drain()
        return [*self._wrong(), *self._replayed()]

    def _wrong(self) -> list[str]:
        found = left_over(self.world)
        if self.run.row(self.started).ended_at is None:
            found.append(f"the run has not ended: {self.run.states(self.started)}")
        return found

    def _replayed(self) -> list[str]:
        with self.world.ledger.reading() as tx:
            identity = actors.environment(tx, "main")
            assert identity is not None
            return list(job_replay.replay_runs(tx, self.world.ledger, identity).differences)

    def close(self) -> None:
        for driver in self._made:
            driver.close()


PAIRS = [
    ("commit", "commit_sibling"),
    ("commit", "kill"),
    ("commit", "kill_twice"),
    ("commit", "reap"),
    ("commit", "expire"),
    ("kill_twice", "reap"),
    ("kill_twice", "release"),
]


@pytest.mark.parametrize(("one", "other"), [*PAIRS, *[(b, a) for a, b in PAIRS if "kill_twice" not in (a, b)]])
def test_whoever_wins_the_run_goes_on_once(postgres: PostgresServer, one: str, other: str) -> None:
    cut_everywhere(lambda: JobScene(postgres), postgres.url, one, other)


class BodyScene:
    """A Ripple whose body is a job; a worker holds the last component of it."""

    def __init__(self, server: PostgresServer) -> None:
        PostgresSchema(server.url, "interleaved")
        self._made: list[Driver] = []

        def make(clock: FakeClock) -> Driver:
            self._made.append(PostgresDriver(server.url, schema="interleaved", clock=clock))
            return self._made[-1]

        self.world = World(make)
        self.bodies = Bodies(self.world, reports())
        self.bodies.pulse()
        assert [self.bodies.do(), self.bodies.do()] == ["orders", "clean"]
        held = self.bodies.worker.claim()
        assert held is not None
        self.held = held

    def end_job(self, ledger: Ledger) -> object:
        return self._commit(ledger)

    def fail_job(self, ledger: Ledger) -> object:
        return self._commit(ledger, "last")

    def _commit(self, ledger: Ledger, *failing: str) -> object:
        return guarded.commit(
            ledger, self.held, ComponentEnded(component_result(self.held, failing)), process=self.bodies.worker.id
        )

    def kill_pond(self, ledger: Ledger) -> object:
        return verbs.send(ledger, "main", demand.Kill(pond=KEY))

    def kill_job(self, ledger: Ledger) -> object:
        return jobs.kill(ledger, "main", str(self.world.one("SELECT public_id FROM job_runs")))

    def reap(self, ledger: Ledger) -> object:
        return reap.reap_process(ledger, self.bodies.worker.row, reason="silent")

    def ending(self) -> list[str]:
        """Let time pass and a new worker do what is left, and answer what is wrong then."""
        for _ in range(3):
            self.world.clock.time += 100 * SECOND
            advance.advance_due(self.world.ledger, process=None)
            self.bodies.worker = self.world.worker(pid=9)
            self.bodies.drain()
        found = left_over(self.world)
        run, ended = self.bodies.job_runs(), self.world.runs("reports")[-1][0]
        outputs = self.world.one("SELECT count(*) AS n FROM run_outputs WHERE node = 'reports'")
        # A Run that was killed may have tables: nobody sees them.
        if (ended == "completed" and outputs != 1) or (outputs and run[-1][0] != "OK"):
            found.append(f"the job ended {run}, the Run {ended} with {outputs} tables")
        if run[-1][0] == "RUNNING" or ended not in ("completed", "failed", "killed"):
            found.append(f"not over: the job is {run}, the Run {ended}")
        return found

    def close(self) -> None:
        for driver in self._made:
            driver.close()


ENDS = [("end_job", "kill_pond"), ("fail_job", "kill_pond"), ("kill_job", "kill_pond"), ("reap", "kill_pond")]


@pytest.mark.parametrize(("one", "other"), [*ENDS, *[(b, a) for a, b in ENDS]])
def test_a_body_that_ends_while_its_pond_is_killed_publishes_with_its_run_or_not_at_all(
    postgres: PostgresServer, one: str, other: str
) -> None:
    cut_everywhere(lambda: BodyScene(postgres), postgres.url, one, other)
