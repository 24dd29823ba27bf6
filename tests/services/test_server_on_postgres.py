"""Every route that reads, and alerts, on PostgreSQL: the same questions in the other dialect."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pondage.define.project.alert import AlertRule
from pondage.engine.services.alerts import Alerter
from pondage.kernel.demand.events import Clear, Pulse
from pondage.ledger.act.job_deploys import deploy_jobs
from pondage.ledger.act.jobs import start_job
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.server.app import make_app
from pondage.server.call import Route, Service
from pondage.server.routes import ROUTES
from tests.ledger.harness import World, pond
from tests.ledger.jobs import Jobs, job
from tests.server.client import Client
from tests.server.conftest import token_of
from tests.server.hostile import complaints
from tests.server.test_hostile import Target, good_body, known, target
from tests.server.test_jobs import TEXT

KNOWN = {"pond": "sales", "subject": "sales", "name": "sales", "run": "sales#1", "job": "nightly"}

MakeNamed = Callable[[str, FakeClock], Driver]


@pytest.fixture
def shop(world: World) -> World:
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), project="shop")
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    deploy_jobs(world.ledger, "main", project="shop", jobs={"nightly": job(TEXT)}, archive=b"")
    start_job(world.ledger, "main", job(TEXT))
    Jobs(world).drain()
    return world


def test_no_route_that_reads_fails(shop: World, tmp_path: Path) -> None:
    asking = Client(
        make_app(Service(ledger=shop.ledger, environment="main", warehouse=tmp_path)), token_of(shop, "admin", "*")
    )
    answered = 0
    for route in ROUTES:
        if route.method == "GET":
            path = re.sub(r"{(\w+)}", lambda found: KNOWN.get(found[1], "nothing").replace("#", "%23"), route.path)
            answer = asking.get(path)
            assert answer.status != 500, (path, answer.data)
            answered += answer.status == 200
    assert answered > 20
    assert 'pondage_component_runtime_seconds_count{component="read"} 1' in asking.get("/metrics").data.decode()


def test_an_alert_is_opened_once_and_resolved(shop: World) -> None:
    rule = AlertRule(name="x", url="https://x.example", secret="k", on=("failure", "expectation", "spliced"))
    alerter = Alerter(shop.ledger, {"x": rule})
    worker = shop.worker()
    shop.pass_time(1)
    shop.send(Pulse(pond="sales@1"))
    held = worker.claim()
    assert held is not None
    worker.fail(held)
    for _ in range(2):
        alerter.run_once()
    assert shop.rows("SELECT kind, resolved_at FROM alerts") == [{"kind": "failure", "resolved_at": None}]
    shop.send(Clear(pond="orders@1"))
    worker.drain()
    alerter.run_once()
    assert shop.one("SELECT count(*) AS open FROM alerts WHERE resolved_at IS NULL") == 0
    assert shop.one("SELECT count(*) AS said FROM outbox WHERE kind = 'alert'") == 2


@pytest.fixture(scope="module")
def aimed(
    driver_factory: Callable[[str, FakeClock], Driver], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    with target(tmp_path_factory.mktemp("hostile"), lambda clock: driver_factory("hostile", clock)) as made:
        yield made


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_refuses_what_is_hostile_with_a_code_and_never_fails(aimed: Target, route: Route) -> None:
    found = complaints(aimed.asking, route, known(route, aimed.failed), good_body(route), every=11)
    assert not found, "\n".join([f"{len(found)} complaints", *found[:25]])
