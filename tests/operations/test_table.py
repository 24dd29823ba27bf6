"""The table of operations, whole: what changes something leaves one audit row with a name, here and through a server.

Each operation is done on one ledger, and on a second one like it through a server: both give equal answers.
"""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration
from pondage.kernel.demand.events import Clear, Kill, Pulse, Tap, Wave
from pondage.ledger.act import jobs
from pondage.ledger.act.backfills import start as start_backfill
from pondage.ledger.act.job_deploys import deploy_jobs
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.tables import api_tokens, secrets
from pondage.ledger.tables import reactors as reactor_rows
from pondage.operations import (
    access,
    backfills,
    components,
    demand,
    deployments,
    environments,
    flows,
    inference,
    installation,
    landed_files,
    questions,
    reactors,
    reading,
    rollbacks,
    simulations,
    trees,
)
from pondage.operations import jobs as job_operations
from pondage.operations.operation import Level, Operation
from pondage.operations.table import OPERATIONS
from pondage.project.project import load_project
from pondage.server.app import make_app
from pondage.server.call import Service
from tests.ledger.act.test_environments import put, tell
from tests.ledger.harness import World, pond
from tests.ledger.jobs import Jobs, job
from tests.ledger.queue.test_queues import Old
from tests.ledger.step.test_backfills import DAYS, daily, published
from tests.operations.calling import Here
from tests.operations.landing import with_files
from tests.server.client import Client
from tests.server.test_jobs import TEXT

PROJECT = """
[project]
name = "shop"

[alerts.oncall]
url = "http://127.0.0.1:9/hook"
secret = "env:ALERT_KEY"
on = ["failure"]
"""
TREE = {
    "version": 1,
    "nodes": {"some": {"const": {"type": "Table<{n: bigint}>", "value": [{"n": 1}]}}},
    "edges": [],
    "extract": {"all": {"from": "some.out", "format": "ndjson"}},
}
SALES = pond("sales", sources={"orders": True})
NOTE = "because of the board"


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("ponds.py", b"x = 1\n")
    return buffer.getvalue()


UPLOAD: dict[str, object] = {"project": "web", "archive": _zip(), "ponds": [pond("visits")]}
JOB = job(TEXT)


@dataclass(frozen=True, kw_only=True)
class Case:
    """An operation that changes something, what it is asked, and what there is before."""

    operation: Operation[..., object]
    asked: Mapping[str, object] | Callable[[World], Mapping[str, object]] = field(default_factory=dict)
    before: Callable[[World], object] = lambda _: None
    environment: str = "main"


def _days(world: World) -> None:
    published(world, daily("days"))


def _backfill(world: World) -> None:
    _days(world)
    start_backfill(world.ledger, "main", "days@1", chunks=[[(day,)] for day in DAYS])


def _newest_backfill(world: World) -> dict[str, object]:
    return {"backfill": str(world.one("SELECT public_id FROM backfills"))}


def _failed(world: World) -> None:
    world.send(Kill(pond="sales@1"))


def _waving(world: World) -> None:
    world.send(Wave(pond="sales@1"))


def _two_runs(world: World) -> None:
    for _ in range(2):
        world.send(Pulse(pond="sales@1"))
        world.worker().drain()
        world.pass_time(5)


def _changed(world: World) -> None:
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}, code="c2"), project="shop", archive=b"b")


def _below(world: World) -> None:
    """An environment below main, in which a change of `sales` was computed; main has its code, too."""
    _two_runs(world)
    changed = pond("sales", sources={"orders": True}, code="c2")
    put(world, "dev", changed)
    tell(world, "dev", Tap(pond="sales@1"))
    world.deploy(pond("orders"), changed, project="shop", archive=b"b")


def _batches(world: World) -> None:
    world.deploy(msgspec.structs.replace(pond("log"), mode="append"), project="logs")


def _with_files(world: World) -> None:
    with_files(world, Path(tempfile.mkdtemp()))


def _jobs(world: World) -> None:
    deploy_jobs(world.ledger, "main", project="shop", jobs={"nightly": JOB}, archive=b"")


def _running(world: World) -> None:
    _jobs(world)
    jobs.start_job(world.ledger, "main", JOB)


def _aborted(world: World) -> None:
    _running(world)
    jobs.kill(world.ledger, "main", _newest(world)["run"])


def _flow(world: World) -> None:
    Here(world.ledger).ask(flows.flow_submit, tree=msgspec.Raw(msgspec.json.encode(TREE)), name="ready")


def _ended_flow(world: World) -> None:
    _flow(world)
    Jobs(world).drain()


def _newest(world: World) -> dict[str, str]:
    return {"run": str(world.one("SELECT public_id FROM job_runs ORDER BY id DESC LIMIT 1"))}


def _old_queue(world: World) -> None:
    Old(Jobs(world))


def _token(world: World) -> None:
    with world.ledger.transaction() as tx:
        api_tokens.create(tx, world.ledger.ids, name="old", level="read", environments=("main",))


def _secret(world: World) -> None:
    with world.ledger.transaction() as tx:
        secrets.put(tx, environment=1, name="password", sealed=b"x")


def _stuck(world: World) -> None:
    declaration = ReactorDeclaration(name="quote", accumulators=(AccumulatorDeclaration(name="ticks"),))
    with world.ledger.transaction() as tx:
        actor = reactor_rows.put(tx, environment=1, project="shop", declaration=declaration)
        tx.write(
            "INSERT INTO reactor_publications (reactor, freshness, delay, fire) VALUES (:actor, 1, 0, 1)", actor=actor
        )


SALES_ONLY = {"pond": "sales"}
CASES = [
    *(Case(operation=each, asked=SALES_ONLY) for each in (demand.tap, demand.pulse, demand.wave, demand.kill)),
    *(Case(operation=each, asked=SALES_ONLY) for each in (demand.sleep, demand.force, demand.calm)),
    *(Case(operation=each, asked=SALES_ONLY, before=_waving) for each in (demand.pause, demand.resume)),
    Case(operation=demand.pause, asked={**SALES_ONLY, "name": "wave"}, before=_waving),
    *(Case(operation=each, asked=SALES_ONLY, before=_failed) for each in (demand.clear, demand.wake)),
    Case(operation=demand.tide, asked={**SALES_ONLY, "limit": "15m"}),
    Case(operation=backfills.backfill_start, asked={"pond": "days", "everything": True}, before=_days),
    *(
        Case(operation=each, asked=_newest_backfill, before=_backfill)
        for each in (backfills.backfill_pause, backfills.backfill_resume, backfills.backfill_cancel)
    ),
    Case(operation=deployments.deploy, asked=UPLOAD),
    Case(operation=deployments.deploy, asked={**UPLOAD, "jobs": {"nightly": JOB}}),
    Case(operation=deployments.deploy, asked={**UPLOAD, "ponds": [], "jobs": {"nightly": JOB}}),
    Case(operation=rollbacks.rollback_pond, asked={**SALES_ONLY, "run": "1"}, before=_two_runs),
    Case(operation=rollbacks.rollback, asked={"project": "shop"}, before=_changed),
    Case(operation=rollbacks.promote, asked={"ponds": ["sales"]}, before=_below, environment="dev"),
    Case(operation=environments.env_remove, asked={"name": "dev"}, before=_below),
    Case(operation=questions.sample, asked={**UPLOAD, "pond": "visits"}),
    Case(operation=landed_files.files_forget, asked={"pond": "trips", "paths": ["a.csv"]}, before=_with_files),
    Case(operation=questions.compact, asked={"pond": "log"}, before=_batches),
    Case(operation=job_operations.job_run, asked={"job": "nightly"}, before=_jobs),
    Case(operation=job_operations.job_run_sent, asked={"job": JOB}),
    Case(operation=job_operations.job_kill, asked=_newest, before=_running),
    Case(operation=job_operations.job_resume, asked=_newest, before=_aborted),
    Case(operation=flows.flow_submit, asked={"tree": msgspec.Raw(msgspec.json.encode(TREE))}),
    Case(operation=flows.flow_store, asked={"data": b"x"}),
    Case(operation=flows.flow_stop, asked={"run": "ready"}, before=_flow),
    Case(operation=flows.flow_kill, asked={"run": "ready"}, before=_flow),
    Case(operation=flows.flow_cleanup, asked={"run": "ready"}, before=_ended_flow),
    Case(
        operation=components.component_rebind,
        asked=lambda world: {
            "queue": str(world.one("SELECT id FROM queues WHERE code = 'old' AND components = 'source'")),
            "to": "new",
        },
        before=_old_queue,
    ),
    Case(operation=reactors.reactor_skip, asked={"reactor": "quote", "item": "publication@1"}, before=_stuck),
    Case(operation=reactors.reactor_reset, asked={"reactor": "quote", "to": "empty"}, before=_stuck),
    Case(operation=installation.alert_test, asked={"rule": "oncall"}),
    Case(operation=installation.vacuum),
    Case(operation=simulations.simulation_save, asked={"name": "a day", "start": 0, "length_us": 5}),
    Case(operation=access.secret_set, asked={"name": "password", "value": "x"}),
    Case(operation=access.secret_remove, asked={"name": "password"}, before=_secret),
    Case(operation=access.token_create, asked={"name": "ci", "level": "read", "environments": ["main"]}),
    Case(
        operation=access.token_revoke,
        asked=lambda world: {"token": str(world.one("SELECT public_id FROM tokens WHERE name = 'old'"))},
        before=_token,
    ),
]
ASKING = {
    questions.query, questions.diff, questions.checks_rows, questions.withdraw, deployments.plan, deployments.analyze,
    inference.infer, job_operations.job_difference, trees.flow_check, reactors.reactor_push,
    reading.table_files,
}  # fmt: skip
"""What is sent with a body and changes nothing that the audit is about: questions, reads, plans, values that arrive."""
OF_LIVE_HOSTS = {reactors.reactor_command}
"""What a live host must answer: in tests/server/test_remote_reactors."""


def test_every_operation_that_may_change_something_is_tried_or_said_to_be_something_else() -> None:
    writing = {each for each in OPERATIONS if each.method != "GET"}
    assert writing == {each.operation for each in CASES} | ASKING | OF_LIVE_HOSTS


def test_names_and_routes_of_operations_are_their_own_and_places_are_asked_for() -> None:
    assert len({each.name for each in OPERATIONS}) == len(OPERATIONS)
    assert len({(each.method, each.path) for each in OPERATIONS}) == len(OPERATIONS)
    for each in OPERATIONS:
        assert set(re.findall(r"{(\w+)}", each.path)) <= set(each.asked.__struct_fields__), each.name
        assert set(each.kept) <= set(each.asked.__struct_fields__), each.name
        assert each.level > Level.OPEN, each.name
        assert each.summary.endswith("."), each.name


class Near:
    """Somebody at a ledger of their own."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        (root / "pondage.toml").write_text(PROJECT)
        self.project = load_project(root)
        self.world = World(lambda clock: SqliteDriver(root / "ledger.db", clock))
        self.world.deploy(pond("orders"), SALES, project="shop")
        with self.world.ledger.transaction() as tx:
            self.token, self.row = api_tokens.create(
                tx, self.world.ledger.ids, name="far", level="admin", environments=("*",)
            )
        self.who = "anna"

    def ask(self, case: Case, asked: Mapping[str, Any]) -> Any:
        here = Here(self.world.ledger, case.environment, project=self.project)
        return msgspec.json.decode(msgspec.json.encode(here.ask(case.operation, **asked)))

    def audited(self) -> list[dict[str, object]]:
        return self.world.rows("SELECT who, verb, target, note FROM audit ORDER BY id")


class Far(Near):
    """The same, through a server."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.who = f"token far ({self.row.id})"
        service = Service(
            ledger=self.world.ledger, environment="main", warehouse=self.project.root, project=self.project
        )
        self._client = Client(make_app(service), self.token)

    def ask(self, case: Case, asked: Mapping[str, Any]) -> Any:
        places = set(re.findall(r"{(\w+)}", case.operation.path))
        path = re.sub(r"{(\w+)}", lambda found: quote(asked[found[1]], safe=""), case.operation.path)
        body = {name: value for name, value in asked.items() if name not in places}
        method = case.operation.method
        answer = self._client.ask(method, f"{path}?env={case.environment}", body if method == "POST" else None)
        assert answer.status == case.operation.status, answer.data
        return answer.json


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Near, Near]]:
    made = Near(tmp_path / "near"), Far(tmp_path / "far")
    yield made
    for each in made:
        each.world.ledger.close()


def same(said: Any) -> Any:
    """An answer without what is random by intention: tokens, and the ids by which strangers know their questions."""
    if isinstance(said, dict):
        if "row" in said and "token" in said:
            said = {**said, "token": ""}
        return {name: same(value) for name, value in said.items()}
    if isinstance(said, list):
        return [same(each) for each in said]
    return "q" if isinstance(said, str) and re.fullmatch(r"q[0-9a-f]+", said) else said


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.operation.name)
def test_what_changes_something_leaves_one_audit_row_with_a_name_and_answers_the_same(
    case: Case, both: tuple[Near, Near]
) -> None:
    answers, rows = [], []
    for one in both:
        case.before(one.world)
        asked = dict(case.asked(one.world) if callable(case.asked) else case.asked)
        if "note" in case.operation.asked.__struct_fields__:
            asked["note"] = NOTE
        before = len(one.audited())
        answers.append(one.ask(case, asked))
        (row,) = one.audited()[before:]
        assert row["who"] == one.who
        assert row["target"]
        assert ("note" in asked) == str(row["note"]).endswith(NOTE)
        rows.append({**row, "who": ""})
    assert rows[0] == rows[1]
    assert same(answers[0]) == same(answers[1])


def test_a_sweep_that_only_looks_leaves_no_row(both: tuple[Near, Near]) -> None:
    for one in both:
        before = one.audited()
        one.ask(Case(operation=installation.vacuum), {"dry_run": True})
        assert one.audited() == before


def test_whoever_runs_the_process_is_named_when_nobody_else_is(both: tuple[Near, Near]) -> None:
    both[0].world.send(Clear(pond="sales@1"))
    both[0].world.deploy(pond("more"), project="more")
    assert all(row["who"] for row in both[0].audited())
