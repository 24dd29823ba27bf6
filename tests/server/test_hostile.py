"""Hostile numbers, names and bodies at every route of the table: each is refused with a code, and nothing fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect

from pondage.define.job.component import Resources
from pondage.define.job.exposed import Exposed
from pondage.define.pond.definition import Retries, ScheduleDefinition, TideDefinition, Triggers, WindowDefinition
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act.job_deploys import deploy_jobs
from pondage.ledger.act.jobs import start_job
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.project.project import load_project
from pondage.server import strangers
from pondage.server.app import make_app
from pondage.server.call import Route, Service, Socket
from pondage.server.routes import ROUTES
from pondage.views.answers import CheckView
from pondage.views.installation import doctor
from tests.ledger.harness import MakeDriver, World, pond
from tests.ledger.jobs import Jobs, job
from tests.server.client import Client
from tests.server.conftest import token_of
from tests.server.hostile import complaints, sample_of
from tests.server.test_changing import upload
from tests.server.test_exposed import own
from tests.server.test_jobs import TEXT
from tests.server.test_twins import TREE


def filled(world: World) -> str:
    """Fill a ledger with two Ponds that have run and a job; answer a run of it that failed."""
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), project="shop")
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    deploy_jobs(world.ledger, "main", project="shop", jobs={"nightly": job(TEXT)}, archive=b"")
    failed = start_job(world.ledger, "main", job(TEXT))
    Jobs(world).drain(failing={"read"})
    return failed


GOOD: dict[str, dict[str, object]] = {
    "/v1/ponds/{pond}/tide": {"limit": "1h"},
    "/v1/ponds/{pond}/rollback": {"run": "sales#1"},
    "/v1/rollback": {"project": "shop", "is_dry": True},
    "/v1/promote": {"ponds": ["sales"], "to": None},
    "/v1/queries": {"sql": "select 1", "as_of": "sales#1"},
    "/v1/samples": {"pond": "visits", "ripple": None},
    "/v1/diffs": {"against": "sales#1"},
    "/v1/flows/{run}/stop": {"node": None},
    "/v1/deploy": {"expected": None},
    "/v1/reactors/{reactor}/commands": {"command": "pause"},
}
"""Where what the route declares is not enough to be understood."""
AFTERWARDS = ("/v1/status", "/v1/graph", "/v1/runs", "/v1/jobs", "/v1/flows", "/v1/work", "/v1/audit", "/metrics")
"""What nobody may break for others."""
VISITS = msgspec.structs.replace(
    pond(
        "visits", sources={"orders": True}, ripples={"clean": [], "visits": ["clean"]}, retries=Retries(immediately=1)
    ),
    windows=(WindowDefinition(start="02:00", end="04:00"),),
    triggers=Triggers(tides=(TideDefinition(limit_us=1),), schedules=(ScheduleDefinition(cron="0 6 * * *"),)),
)
EXPOSED = Exposed(
    components=(own(params={"properties": {"a": {"type": "string"}}}, resources=Resources(memory=("1g",))),)
)
WEEKLY = TEXT.replace("nightly", "weekly")


def good_body(route: Route) -> object:
    """A body that a route takes: uploads are a project and jobs are a job, the rest is what the route declares."""
    if route.request is None:
        return None
    made = sample_of(inspect.type_info(route.request))
    if "ponds" in made and "archive" in made:
        made |= upload(VISITS, reactors=[], exposed=EXPOSED, inferred=None, choice=None, jobs={"weekly": job(WEEKLY)})
        made = {name: made[name] for name in made if name in route.request.__struct_fields__}
    elif "archive" in made:
        made["archive"] = ""
    if "job" in made:
        made["job"] = msgspec.to_builtins(job(TEXT))
    if "tree" in made:
        made["tree"] = TREE
    return made | GOOD.get(route.path, {})


def known(route: Route | Socket, failed: str) -> dict[str, str]:
    """What a route's places are filled with when they are not hostile."""
    room = route.path.split("/")[2:3]
    run = {"flows": "ready", "jobs": failed}.get(*room, "sales#1")
    name = {"components": "filter", "flows": "clean"}.get(*room, "sales")
    return {"pond": "sales", "subject": "sales", "run": run, "job": "nightly", "name": name, "queue": "1"}


class Target(msgspec.Struct, frozen=True):
    """A server with a few things in it, and somebody who may do everything."""

    asking: Client
    failed: str


@contextmanager
def target(root: Path, make_driver: MakeDriver) -> Iterator[Target]:
    """A server in front of a ledger."""
    (root / "pondage.toml").write_text('[project]\nname = "shop"\n')
    world = World(make_driver)
    failed = filled(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "_checks", lambda *_, **given: [CheckView(check="java", ok=True, detail=str(given))])
        patch.setattr(strangers, "OPEN_AT_MOST", 1_000_000)
        service = Service(
            ledger=world.ledger, environment="main", warehouse=root / "warehouse", project=load_project(root)
        )
        asking = Client(make_app(service), token_of(world, "admin", "*"))
        assert asking.post("/v1/flows", {"tree": TREE, "name": "ready"}).status == 202
        yield Target(asking, failed)
    world.ledger.close()


@pytest.fixture(scope="module")
def aimed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    root = tmp_path_factory.mktemp("hostile")
    with target(root, lambda clock: SqliteDriver(root / "ledger.db", clock)) as made:
        yield made


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_refuses_what_is_hostile_with_a_code_and_never_fails(aimed: Target, route: Route) -> None:
    found = complaints(aimed.asking, route, known(route, aimed.failed), good_body(route))
    assert not found, "\n".join([f"{len(found)} complaints", *found[:25]])
    for path in AFTERWARDS:
        assert aimed.asking.get(path).status == 200, f"{path} after {route.path}"
