"""Fill a ledger with the past of a pipeline: a clock that jumps, and a crew that needs time for every Ripple."""

from __future__ import annotations

import heapq
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pondage.define.pond.definition import ExpectationDefinition, PondDefinition
from pondage.define.values.names import PondKey
from pondage.engine.attempt.progress import summary_text
from pondage.kernel.demand.events import Event
from pondage.ledger.act import verbs
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.plan_basis import planned
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.data import lineage
from pondage.ledger.database.clock import HostClock
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions, processes
from pondage.ledger.step import advance
from pondage.ledger.tables.history import Caller
from pondage.plan.deploy.planner import checked
from pondage.views.plans.plan import plan_view
from pondage.views.runs.runs import log_path
from pondage.work.failure import Failure
from pondage.work.lineage import ColumnLineage, Origin
from pondage.work.progress import StageView
from pondage.work.snapshot import ExpectationResult, SnapshotContent
from tests.browser.shop import SECONDS
from tests.ledger.harness import content
from tests.patience import PATIENCE_S

SECOND = 1_000_000


class JumpingClock(HostClock):
    """The host's clock that a test may set to a moment, and let go again."""

    def __init__(self) -> None:
        super().__init__()
        self.at: int | None = None

    def now(self) -> int:
        """Answer the moment that was set, else the time."""
        return super().now() if self.at is None else self.at


class Crew:
    """Workers of one ledger that do what a test says, with as many slots as they have."""

    machine = "spark-1"

    def __init__(
        self, ledger: Ledger, clock: JumpingClock, warehouse: Path, *, slots: int = 6, labels: str = ""
    ) -> None:
        self.ledger, self.clock, self.warehouse = ledger, clock, warehouse
        self.slots, self.labels = slots, labels
        self.fails: Callable[[str], str | None] = lambda _node: None
        self.open: list[Work] = []
        self._held: list[tuple[int, int, Work]] = []
        self._random = random.Random(7)
        self._traced: set[str] = set()
        with ledger.transaction() as tx:
            self.process = processes.register(
                tx, public_id=ledger.ids.new("p"), machine=self.machine, pid=4711, pid_started=1, role="worker",
                slots=slots, labels=labels, code="",
            )  # fmt: skip

    def claim(self) -> Work | None:
        """Take what can be claimed."""
        with self.ledger.reading() as tx:
            codes = {str(row["code"]) for row in tx.rows("SELECT code FROM queues")}
        labels = frozenset(self.labels.split())
        queues = {each.id: each for code in codes for each in polling.queues_for(self.ledger, code=code, labels=labels)}
        return work.claim_work(
            self.ledger, process=self.process, queues=[queues[each] for each in sorted(queues)],
            token=self.ledger.ids.new("t"), is_alone=True,
        )  # fmt: skip

    def until(self, moment: int) -> None:
        """Live until a moment: do what is there, jump to what comes next."""
        while True:
            advance.advance_due(self.ledger, process=None)
            while len(self._held) < self.slots and (held := self.claim()) is not None:
                self.begin(held)
            following = min([moment, *(at for at, _, _ in self._held[:1]), *self._due()])
            self._set(max(following, self._now()))
            while self._held and self._held[0][0] <= self._now():
                self.end(heapq.heappop(self._held)[2])
            if following >= moment:
                return

    def begin(self, held: Work) -> None:
        """Begin with something, and say how far it is."""
        takes = SECONDS.get(held.claim.node, 30) * self._random.uniform(0.7, 1.4)
        heapq.heappush(self._held, (self._now() + int(takes * SECOND), held.claim.execution, held))
        self.say(held, f"INFO {held.claim.node} begins")

    def end(self, held: Work) -> None:
        """End it: well, or as `fails` says."""
        error = self.fails(held.claim.node)
        if error is not None:
            self.fail(held, error)
        else:
            self.say(held, "INFO written and checked")
            told = msgspec.structs.replace(held, summary=self._summary(held))
            assert guarded.commit(self.ledger, told, Written(self._content(held)), process=self.process)
            self._trace_columns(held)

    def fail(self, held: Work, message: str) -> None:
        """End it with the error of an author."""
        trace = TRACE.format(node=held.claim.node, message=message)
        self.say(held, f"ERROR {message}")
        failure = Failure(code="AUTHOR_ERROR", message=message, place=f"ponds/{held.claim.node}.py:14", trace=trace)
        assert guarded.commit(self.ledger, held, Failed(failure), process=self.process)

    def progress(self, held: Work, done: int, of: int) -> None:
        """Say how far Spark is."""
        said = {"phase": "writing", "jobs": 1, "stages": 3, "tasks_done": done, "tasks_all": of}
        with self.ledger.transaction() as tx:
            executions.put_progress(
                tx, execution=held.claim.execution, token=held.claim.token,
                progress=msgspec.json.encode(said).decode(),
            )  # fmt: skip

    def held(self) -> list[Work]:
        """Answer what is being done."""
        return [each for _, _, each in sorted(self._held)]

    def forget(self, held: Work) -> None:
        """Keep something open for ever."""
        self._held = [each for each in self._held if each[2] is not held]
        heapq.heapify(self._held)
        self.open.append(held)

    def say(self, held: Work, line: str) -> None:
        """Add a line to the log of an attempt."""
        with self.ledger.reading() as tx:
            row = tx.row("SELECT public_id FROM runs WHERE id = :id", id=held.claim.run)
        if row is None:
            return
        file = self.warehouse / log_path(str(row["public_id"]), held.claim.dispatch, held.claim.epoch)
        file.parent.mkdir(parents=True, exist_ok=True)
        at = datetime.fromtimestamp(self._now() / SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"{at} {line}\n")

    def _summary(self, held: Work) -> str | None:
        """What Spark did: it reads, shuffles, and writes."""
        seconds, first = SECONDS.get(held.claim.node, 30), 3 * held.claim.execution
        return summary_text(
            (
                StageView(id=first, tasks=12, work_us=seconds * 900_000, read_bytes=seconds * 3_100_000),
                StageView(id=first + 1, tasks=200, work_us=seconds * 2_300_000, shuffled_bytes=seconds * 2_400_000),
                StageView(id=first + 2, tasks=8, work_us=seconds * 300_000, shuffled_bytes=seconds * 900_000),
            )
        )

    def _content(self, held: Work) -> SnapshotContent:
        rows = 1_000 * SECONDS.get(held.claim.node, 30) + self._random.randrange(5_000)
        rules = () if not isinstance(held.task, RippleTask) else held.task.ripple.expectations
        results = tuple(self._result(rule, rows) for rule in rules)
        return msgspec.structs.replace(content(held, rows), bytes=rows * 37, schema=SCHEMA, expectations=results)

    def _result(self, rule: ExpectationDefinition, rows: int) -> ExpectationResult:
        """A warning comes now and then."""
        broken = self._random.randrange(1, 9) if rule.severity == "warn" and self._random.random() < 0.3 else 0
        seen = f"{rows:,} rows" if rule.kind == "rows" else f"{broken} rows break it"
        return ExpectationResult(
            name=rule.name, severity=rule.severity, passed=broken == 0, observed=seen, broken=broken
        )

    def _trace_columns(self, held: Work) -> None:
        """Keep, once for each table, which columns its own are made of."""
        reads = (
            () if not isinstance(held.task, RippleTask) else tuple(read.parameter for read in held.task.ripple.reads)
        )
        place = "" if not isinstance(held.task, RippleTask) else f"{held.task.pond}.{held.claim.node}"
        if not reads or place in self._traced:
            return
        self._traced.add(place)
        made = {name: (Origin(reads[0], name),) for name in ("order_id", "amount", "day")}
        made["amount"] = tuple(Origin(each, "amount") for each in reads[:2])
        shown = ColumnLineage(columns=made, rows=tuple(Origin(each, "order_id") for each in reads[1:]))
        with self.ledger.transaction() as tx:
            lineage.keep(tx, dispatch=held.claim.dispatch, key="c1", lineage=shown)

    def _due(self) -> list[int]:
        with self.ledger.reading() as tx:
            rows = tx.rows(
                """SELECT min(due_at) AS at FROM signals UNION ALL SELECT min(next_at) FROM schedules
                   UNION ALL SELECT min(available_at) FROM availabilities WHERE available_at > :now""",
            )
        return [int(str(row["at"])) for row in rows if row["at"] is not None and int(str(row["at"])) > self._now()]

    def _now(self) -> int:
        return self.clock.now()

    def _set(self, moment: int) -> None:
        if self.clock.at is not None:
            self.clock.at = moment


def put(ledger: Ledger, environment: str, definitions: list[PondDefinition], *, project: str, archive: bytes) -> None:
    """Plan definitions and deploy them, as `pondage deploy` does."""
    plan, found = planned(ledger, environment, project=project, ponds=definitions, reactors=[])
    deploy(
        ledger, environment, project=project, definitions=list(plan.ponds), removed=list(plan.removed), archive=archive,
        summary=msgspec.json.encode(plan_view(checked(plan))).decode(), expected=found, by=Caller("anna"),
    )  # fmt: skip


def tell(ledger: Ledger, event: Event, *, environment: str = "main", note: str = "", by: str = "anna") -> None:
    """Send an event, as somebody."""
    verbs.send(ledger, environment, event, by=Caller(by, note))


def key(name: str) -> PondKey:
    """Answer the key of a Pond of the shop."""
    return PondKey(f"{name}@{2 if name == 'sales' else 1}")


def wait_until(condition: Callable[[], bool], *, what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for what another process or thread does."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


TRACE = """Traceback (most recent call last):
  File "ponds/{node}.py", line 14, in {node}
    joined = payments.join(orders, "order_id")
  File "pyspark/sql/classic/dataframe.py", line 1123, in join
    jdf = self._jdf.join(other._jdf, on, how)
ValueError: {message}
"""
SCHEMA = (
    '{"type":"struct","fields":[{"name":"order_id","type":"string","nullable":false,"metadata":{}},'
    '{"name":"amount","type":"double","nullable":true,"metadata":{}},'
    '{"name":"day","type":"date","nullable":true,"metadata":{}}]}'
)
