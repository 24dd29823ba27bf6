"""A worker without Spark, on the ledger of a project, in a thread: what `run`, `query` and `demo` need behind them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from pondage.cli.client.session import open_ledger
from pondage.ledger.act import jobs
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.kinds.compact import Compacted, CompactTask
from pondage.ledger.kinds.component import ComponentEnded
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.infer import InferTask, TypesFound
from pondage.ledger.kinds.kind import Answered, Work
from pondage.ledger.kinds.query import QueryTask
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.kinds.sample import SampleTask
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.step import advance
from pondage.project.project import Project
from pondage.work.component import ComponentTask
from pondage.work.failure import Failure
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
        self.known: dict[str, str] = {}
        """The schemas that the last analysis was given, by table."""
        self.breaks: list[str] = []
        self.schemas: dict[str, str] = {}
        """What Ripples write, by their names, where that is not the one column of the others."""

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
            known = {queue.id: queue for code in codes for queue in polling.queues_for(ledger, code=code)}
            queues = [known[each] for each in sorted(known)]
            held = work.claim_work(ledger, process=process, queues=queues, token=ledger.ids.new("t"), is_alone=True)
            if held is None:
                changes.wait(0.02)
            else:
                self._commit(ledger, held, process)
        with ledger.transaction() as tx:
            tx.change("UPDATE processes SET dead_at = :now WHERE id = :id", id=process)

    def _commit(self, ledger: Ledger, held: Work, process: int) -> None:
        if isinstance(held.task, QueryTask) and held.task.breaks is not None:
            found = [{"rule": rule.name, "rows": ROWS} for rule in held.task.breaks.rules]
            guarded.commit(ledger, held, Answered(msgspec.json.encode(found).decode()), process=process)
        elif isinstance(held.task, QueryTask) and held.task.compared:
            guarded.commit(
                ledger, held, Answered(msgspec.json.encode(self._differences(held)).decode()), process=process
            )
        elif isinstance(held.task, QueryTask):
            self.queries.append(held.task.sql)
            self.views.append({content.path for content in held.task.views.values()})
            if "nonsense" in held.task.sql:
                failure = Failure(code="QUERY_FAILED", message="this is not SQL")
                guarded.commit(ledger, held, Failed(failure), process=process)
            elif "saels" in held.task.sql:
                failure = Failure(code="NO_SUCH_TABLE", message="there is no published table saels")
                guarded.commit(ledger, held, Failed(failure), process=process)
            else:
                guarded.commit(ledger, held, Answered(msgspec.json.encode(ROWS).decode()), process=process)
        elif isinstance(held.task, SampleTask):
            self._sample(ledger, held, process)
        elif isinstance(held.task, InferTask) and held.task.questions:
            found = [
                Inferred(key=one.key, **self.types[one.component])  # type: ignore[arg-type]
                for one in held.task.questions
            ]
            guarded.commit(ledger, held, TypesFound(msgspec.json.encode(found).decode()), process=process)
        elif isinstance(held.task, InferTask):
            self.known = dict(held.task.known)
            guarded.commit(ledger, held, Answered(msgspec.json.encode(self.inferred).decode()), process=process)
        elif isinstance(held.task, ComponentTask):
            if any(each.instance in self.killing for each in held.task.members):
                jobs.kill(ledger, "main", held.task.run_id)
            held = msgspec.structs.replace(held, summary=self.summary)
            guarded.commit(ledger, held, ComponentEnded(component_result(held, self.failing)), process=process)
        elif isinstance(held.task, CompactTask):
            guarded.commit(ledger, held, Compacted(content(held, held.task.table.rows)), process=process)
        elif held.claim.node in self.failing:
            failure = Failure(code="EXPECTATION", message="3 rows are wrong", place="ponds/shop.py:7", trace="a trace")
            guarded.commit(ledger, held, Failed(failure), process=process)
        else:
            made = content(held)
            made = msgspec.structs.replace(made, schema=self.schemas.get(held.claim.node, made.schema))
            guarded.commit(ledger, held, Written(made), process=process)

    def _differences(self, held: Work) -> list[dict[str, object]]:
        assert isinstance(held.task, QueryTask)
        changed = [{"column": "name", "before": "one", "after": None}]
        sample = {"columns": ["_change", "n", "_columns"], "types": ["string", "bigint", "array"],
                  "rows": [["changed", 1, changed], ["added", 2, []]], "truncated": True}  # fmt: skip
        return [
            {"ripple": each.ripple, "keys": each.keys, "before_rows": 1, "after_rows": 2, "added": 1, "changed": 1,
             "schema": [{"column": "extra", "before": None, "after": "double"}], "columns": {"name": 1},
             "sample": sample}
            for each in held.task.compared
        ]  # fmt: skip

    def _sample(self, ledger: Ledger, held: Work, process: int) -> None:
        assert isinstance(held.task, SampleTask)
        bad = next((name for name in held.task.ripples if name in self.failing), None)
        if bad is not None:
            failure = Failure(code="RIPPLE_FAILED", message=f"{bad}: no", place="ponds.py:7", trace="a trace")
            guarded.commit(ledger, held, Failed(failure), process=process)
            return
        tables = [{"ripple": name, "rows": ROWS, "breaks": self.breaks} for name in held.task.ripples]
        guarded.commit(ledger, held, Answered(msgspec.json.encode(tables).decode()), process=process)
