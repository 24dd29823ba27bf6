"""What the server answers is what the command line prints with `--json`."""

import json
import re

import msgspec

from pondage.kernel.demand.events import Pulse
from pondage.server.openapi import document
from pondage.server.routes import ROUTES, SOCKETS
from pondage.views.ponds.status import status
from pondage.views.ponds.why import why
from pondage.views.runs.runs import runs
from tests.ledger.harness import World
from tests.server.conftest import As


def test_status_why_and_runs_are_the_objects_of_the_views(client: As, world: World) -> None:
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    asking = client("read")
    with world.ledger.reading() as tx:
        expected = {
            "/v1/status": status(tx, world.ledger, "main"),
            "/v1/status?pond=sales": status(tx, world.ledger, "main", keys=["sales@1"]),
            "/v1/why/sales": why(tx, world.ledger, "main", "sales"),
            "/v1/runs?limit=1": runs(tx, "main", limit=1),
        }
    for path, view in expected.items():
        assert asking.get(path).json == msgspec.json.decode(msgspec.json.encode(view)), path


def test_every_reading_route_answers(client: As, world: World) -> None:
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    asking = client("read")
    run = asking.get("/v1/runs").json["runs"][0]["id"]
    for path in (
        f"/v1/runs/{run}", "/v1/show/sales", f"/v1/show/{run}", "/v1/logs", "/v1/logs?subject=sales&lines=5",
        "/v1/lineage/sales?direction=up&columns=true", "/v1/deployments", "/v1/jobs", "/v1/processes", "/v1/reactors",
        "/v1/openapi.json",
    ):  # fmt: skip
        assert asking.get(path).status == 200, path
    assert asking.get("/v1/deployments").json["deployments"][0]["project"] == "shop"


def test_a_wrong_name_is_answered_with_the_nearest(client: As) -> None:
    answer = client("read").get("/v1/why/sale")
    assert answer.status == 404
    assert "sales" in answer.json["message"]


def test_a_wrong_parameter_is_named(client: As) -> None:
    asking = client("read")
    assert asking.get("/v1/runs?limit=0").status == 400
    assert asking.get("/v1/runs?limit=many").json["code"] == "BAD_REQUEST"
    assert asking.get("/v1/runs?colour=red").status == 400
    assert asking.get("/v1/runs?limit=1&limit=2").status == 400


def test_a_reactor_that_is_not_loaded_is_not_found(client: As) -> None:
    assert client("read").get("/v1/reactors/nothing/state").json["code"] == "NOT_LOADED"


def test_the_description_is_whole(client: As) -> None:
    """Every reference leads somewhere, every place in a path is declared, every operation has one name and a level."""
    said = json.loads(json.dumps(document(ROUTES, SOCKETS)))
    assert said["openapi"].startswith("3.1")
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(said)))
    assert references <= set(said["components"]["schemas"])
    assert len(references) > 20
    operations = [(path, method, each) for path, methods in said["paths"].items() for method, each in methods.items()]
    assert len(operations) == len(ROUTES)
    assert len({each["operationId"] for _, _, each in operations}) == len(operations)
    sending = {(route.method.lower(), route.path) for route in ROUTES if route.request is not None}
    for path, method, each in operations:
        declared = {one["name"] for one in each["parameters"] if one["in"] == "path"}
        assert declared == set(re.findall(r"{(\w+)}", path)), path
        assert each["x-level"] in ("open", "read", "demand", "operate", "admin")
        assert ("requestBody" in each) == ((method, path) in sending)
        assert "default" in each["responses"]
    assert client("read").get("/v1/openapi.json").json["paths"].keys() >= said["paths"].keys()
