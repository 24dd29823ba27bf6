"""A worker without Spark, on the ledger of a project, in a thread: what `run`, `query` and `demo` need behind them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from pondage.cli.client.session import open_ledger
from pondage.ledger.act import jobs
from pondage.ledger.commit import work
from pondage.ledger.commit.component_results import commit_component
from pondage.ledger.commit.work import Failure, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.project.project import Project
from pondage.work.inference import Inferred
from tests.ledger.harness import content
from tests.ledger.jobs import component_result

ROWS = {"columns": ["n", "name"], "types": ["bigint", "string"], "rows": [[1, "one"], [2, None]], "truncated": False}


class FakeWorkers:
    """Stands for `pondage.engine.supervise.dev.attached`. Ripples named in `failing` fail, and somebody kills the
    run of a component in `killing` while it works; queries get always the same rows."""

    def __init__(self) -> None:
        self.summary: str | None = None
        self.failing: set[str] = set()
        self.killing: set[str] = set()
        self.queries: list[str] = []
        self.views: list[set[str]] = []
        self.inferred: list[dict[str, object]] = []
        self.types: dict[str, dict[str, object]] = {}
        """What components give, by their names."""
        self.breaks: list[str] = []

    @contextmanager
    def attached(self, project: Project) -> Iterator[None]:
        ledger = open_ledger(project)
        try:
            with self.at_work(ledger):
                yield
        finally:
            ledger.close()

    @contextmanager
    def at_work(self, ledger: Ledger) -> Iterator[None]:
        with ledger.transaction() as tx:
            # Before anybody looks: a status must not count one more a moment later.
            process = processes.register(
                tx, public_id=ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="worker", slots=1
            )
        stop = threading.Event()
        thread = threading.Thread(target=self._work, args=(ledger, process, stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _work(self, ledger: Ledger, process: int, stop: threading.Event) -> None:
        changes = ledger.driver.changes()
        while not stop.is_set():
            advance.advance_due(ledger, process=process)
            with ledger.reading() as tx:
                codes = [str(row["code"]) for row in tx.rows("SELECT DISTINCT code FROM queues")]
            known = {queue.id: queue for code in codes for queue in work.queues_for(ledger, code=code)}
            queues = [known[each] for each in sorted(known)]
            held = work.claim_work(ledger, process=process, queues=queues, token=ledger.ids.new("t"), is_alone=True)
            if held is None:
                changes.wait(0.02)
            else:
                self._commit(ledger, held, process)
        with ledger.transaction() as tx:
            tx.change("UPDATE processes SET dead_at = :now WHERE id = :id", id=process)

    def _commit(self, ledger: Ledger, held: Work, process: int) -> None:
        if held.query is not None and held.query.breaks is not None:
            found = [{"rule": rule.name, "rows": ROWS} for rule in held.query.breaks.rules]
            work.commit_query(ledger, held, msgspec.json.encode(found).decode(), process=process)
        elif held.query is not None and held.query.compared:
            work.commit_query(ledger, held, msgspec.json.encode(self._differences(held)).decode(), process=process)
        elif held.query is not None:
            self.queries.append(held.query.sql)
            self.views.append({content.path for content in held.query.views.values()})
            if "nonsense" in held.query.sql:
                failure = Failure(code="QUERY_FAILED", message="this is not SQL")
                work.commit_failed(ledger, held, failure, process=process)
            elif "saels" in held.query.sql:
                failure = Failure(code="NO_SUCH_TABLE", message="there is no published table saels")
                work.commit_failed(ledger, held, failure, process=process)
            else:
                work.commit_query(ledger, held, msgspec.json.encode(ROWS).decode(), process=process)
        elif held.sample is not None:
            self._sample(ledger, held, process)
        elif held.infer is not None and held.infer.questions:
            found = [
                Inferred(key=one.key, **self.types[one.component])  # type: ignore[arg-type]
                for one in held.infer.questions
            ]
            work.commit_query(ledger, held, msgspec.json.encode(found).decode(), process=process)
        elif held.infer is not None:
            work.commit_query(ledger, held, msgspec.json.encode(self.inferred).decode(), process=process)
        elif held.component is not None:
            if any(each.instance in self.killing for each in held.component.members):
                jobs.kill(ledger, "main", held.component.run_id)
            held = msgspec.structs.replace(held, summary=self.summary)
            commit_component(ledger, held, component_result(held, self.failing), process=process)
        elif held.compact is not None:
            work.commit_compacted(ledger, held, content(held, held.compact.table.rows), process=process)
        elif held.claim.node in self.failing:
            failure = Failure(code="EXPECTATION", message="3 rows are wrong", place="ponds/shop.py:7", trace="a trace")
            work.commit_failed(ledger, held, failure, process=process)
        else:
            work.commit_written(ledger, held, content(held), process=process)

    def _differences(self, held: Work) -> list[dict[str, object]]:
        assert held.query is not None
        changed = [{"column": "name", "before": "one", "after": None}]
        sample = {"columns": ["_change", "n", "_columns"], "types": ["string", "bigint", "array"],
                  "rows": [["changed", 1, changed], ["added", 2, []]], "truncated": True}  # fmt: skip
        return [
            {"ripple": each.ripple, "keys": each.keys, "before_rows": 1, "after_rows": 2, "added": 1, "changed": 1,
             "schema": [{"column": "extra", "before": None, "after": "double"}], "columns": {"name": 1},
             "sample": sample}
            for each in held.query.compared
        ]  # fmt: skip

    def _sample(self, ledger: Ledger, held: Work, process: int) -> None:
        assert held.sample is not None
        bad = next((name for name in held.sample.ripples if name in self.failing), None)
        if bad is not None:
            failure = Failure(code="RIPPLE_FAILED", message=f"{bad}: no", place="ponds.py:7", trace="a trace")
            work.commit_failed(ledger, held, failure, process=process)
            return
        tables = [{"ripple": name, "rows": ROWS, "breaks": self.breaks} for name in held.sample.ripples]
        work.commit_query(ledger, held, msgspec.json.encode(tables).decode(), process=process)
