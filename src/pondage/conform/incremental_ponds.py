"""Cases of incremental maintenance as deployed Ponds: each step lands as a Run of the Sources that change.

All cases are one project with one ledger, one archive and one Spark; names of Ponds begin with the number of a case.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pondage.conform.incremental_scenario import Change, IncrementalCase, Row
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.execute.spark_executor import SparkExecutor
from pondage.engine.process.config import EngineConfig, WorkerConfig
from pondage.errors import PondageError
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.act.deploy import deploy
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.data import snapshots
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Same, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors
from pondage.plan.deploy.planner import checked, make_plan
from pondage.project.archive import pack_project
from pondage.project.project import load_project
from pondage.project.reader import read_project
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pondage.spark.session.driver import SparkDriver

_ENVIRONMENT = "main"
_NUMBER = "_row"
"""The hidden key of a table whose rows have none."""
_INLET = """
@pond(mode={mode!r}, keys={keys!r})
def {name}(spark):
    return spark.read.schema({schema!r}).json({landing!r})
"""
_BAG = """
@pond(mode="auto", verify="off", reads={{"rows": {inlet!r}}})
def {name}(rows):
    return rows.drop({number!r})
"""
_ANSWER = """
{name} = Pond({name!r}, mode="auto", verify="off")
for _source in {sources!r}:
    {name}.source(_source)
{name}.sql({name!r}, {path!r}, reads={reads!r})
"""


class _Table:
    """A table of a case: the file that its Inlet reads next, and of a bag which numbers its rows have."""

    def __init__(self, landing: Path, case: IncrementalCase, name: str) -> None:
        self._landing = landing
        self._mode = case.tables[name].mode
        self._columns = names_of(case.tables[name].schema)
        self._numbers: list[tuple[int, Row]] = []
        self._next = 0

    def land(self, change: Change) -> None:
        """Write what came and what went as the Inlet's next batch."""
        rows: list[dict[str, object]] = []
        if self._mode == "bag":
            for gone in change.minus:
                found = next(each for each in self._numbers if each[1] == gone)
                self._numbers.remove(found)
                rows.append(self._named(gone) | {_NUMBER: found[0], "_deleted": True})
            for came in change.plus:
                self._next += 1
                self._numbers.append((self._next, came))
                rows.append(self._named(came) | {_NUMBER: self._next})
        else:
            rows += [self._named(came) for came in change.plus]
            kept = {came[0] for came in change.plus}
            rows += [self._named(gone) | {"_deleted": True} for gone in change.minus if gone[0] not in kept]
        self._landing.parent.mkdir(parents=True, exist_ok=True)
        self._landing.write_bytes(b"\n".join(msgspec.json.encode(each) for each in rows))

    def _named(self, row: Row) -> dict[str, object]:
        return dict(zip(self._columns, row, strict=True))


class PondsOfCases:
    """The project of some cases, deployed, and the worker that carries out its Runs."""

    def __init__(self, cases: Sequence[IncrementalCase], place: Path, driver: SparkDriver) -> None:
        self._place = place
        self._cases = list(cases)
        self._tables: dict[tuple[int, str], _Table] = {}
        text = "".join(self._declared(number, case) for number, case in enumerate(self._cases))
        # Of a process that plays twice, the second time is of other modules.
        module = f"cases_{uuid.uuid4().hex}.py"
        root = place / "project"
        root.mkdir(parents=True, exist_ok=True)
        (root / module).write_text(f"from pondage import Pond, pond\n{text}")
        (root / "pondage.toml").write_text(f'[project]\nname = "conform"\nmodules = ["{module}"]\n')
        self.ledger = Ledger.open(f"sqlite://{place / 'ledger.db'}", durability=Durability(probe_s=0.0))
        project = load_project(root)
        plan = checked(make_plan(read_project(project), [], project=project.name, environment=_ENVIRONMENT))
        self._code = deploy(
            self.ledger, _ENVIRONMENT, project=project.name, definitions=list(plan.ponds), removed=[],
            archive=pack_project(project).data, summary="{}", expected=[],
        )  # fmt: skip
        engine = EngineConfig(
            project="conform", root=str(place), ledger="", warehouse=str(place / "warehouse"),
            state_directory=str(place / "state"),
        )  # fmt: skip
        config = WorkerConfig(engine=engine, public_id="p", code=self._code, parent=0)
        self._executor = SparkExecutor(config, self.ledger, driver=driver, is_owner=False)
        with self.ledger.transaction() as tx:
            self._process = processes.register(
                tx, public_id=self.ledger.ids.new("p"), machine="m", pid=1, pid_started=1, role="worker",
                code=self._code,
            )  # fmt: skip

    def _declared(self, number: int, case: IncrementalCase) -> str:
        """Answer the Ponds of a case as an author would write them."""
        text = ""
        for name, table in case.tables.items():
            pond, landing = f"c{number}_{name}", self._place / "landing" / f"c{number}_{name}.json"
            inlet = f"{pond}_rows" if table.mode == "bag" else pond
            self._tables[number, name] = _Table(landing, case, name)
            mark = "" if table.mode == "append" else ", _deleted boolean"
            key = f", {_NUMBER} long" if table.mode == "bag" else ""
            keys = {"append": [], "bag": [_NUMBER], "merge": names_of(table.schema)[:1]}[table.mode]
            text += _INLET.format(
                mode="append" if table.mode == "append" else "merge", keys=keys, name=inlet,
                schema=f"{table.schema}{key}{mark}", landing=str(landing),
            )  # fmt: skip
            if table.mode == "bag":
                text += _BAG.format(inlet=inlet, name=pond, number=_NUMBER)
        path = self._place / "project" / f"c{number}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(case.sql)
        used = [name for name in case.tables if name in case.sql]
        reads = {name: f"c{number}_{name}.c{number}_{name}" for name in used}
        sources = [f"c{number}_{name}" for name in used]
        return text + _ANSWER.format(name=f"c{number}", sources=sources, path=path.name, reads=reads)

    def run(self, number: int, changes: Mapping[str, Change]) -> SnapshotContent:
        """Land the changes of one case, let its Ponds run, and answer the result; raises what a Run failed of."""
        for name in self._cases[number].tables:
            self._tables[number, name].land(changes.get(name, Change()))
        # The Sources run first, each once; one whose file is empty gets a batch without rows.
        self._ask(f"c{number}")
        with self.ledger.reading() as tx:
            row = actors.pond(tx, 1, PondKey(f"c{number}@1"))
            run = None if row is None else snapshots.current_run(tx, row.id)
            if run is None:
                raise PondageError(f"{self._cases[number].name} has never published", code="NEVER_PUBLISHED")
            snapshot = snapshots.outputs(tx, run)[f"c{number}"].snapshot
            return snapshots.load(tx, [snapshot])[snapshot].content

    def _ask(self, pond: str) -> None:
        verbs.send(self.ledger, _ENVIRONMENT, Pulse(pond=PondKey(f"{pond}@1")))
        log = AttemptLog(self._place / "attempt.log")
        try:
            while (held := self._claim()) is not None:
                self._carry_out(held, log)
        finally:
            log.close()

    def _claim(self) -> Work | None:
        return work.claim_work(
            self.ledger, process=self._process, queues=polling.queues_for(self.ledger, code=self._code),
            token=self.ledger.ids.new("t"), is_alone=True,
        )  # fmt: skip

    def _carry_out(self, held: Work, log: AttemptLog) -> None:
        try:
            result = self._executor.execute(Attempt(held, log, clock=lambda: 0.0, on_phase=lambda _: None))
        except PondageError as error:
            guarded.commit(self.ledger, held, Failed(self._executor.failure(error)), process=self._process)
            raise
        assert isinstance(result, Written | Same)
        guarded.commit(self.ledger, held, result, process=self._process)

    def close(self) -> None:
        """Close the ledger; Spark stays with whoever started it."""
        self.ledger.close()


def names_of(schema: str) -> list[str]:
    """Answer the columns of a DDL text; commas inside of types are none between columns."""
    found, depth = [""], 0
    for letter in schema:
        depth += letter in "(<"
        depth -= letter in ")>"
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [each.strip().split()[0] for each in found]
