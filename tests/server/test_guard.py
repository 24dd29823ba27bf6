"""Nobody gets in who should not: every route with every level, and the attacks that are known in this field."""

import asyncio
import re

import msgspec
import pytest
from starlette.types import ASGIApp

from pondage.errors import PondageError
from pondage.ledger.tables import api_tokens
from pondage.operations.operation import Level
from pondage.server.app import make_app
from pondage.server.call import Route, Service
from pondage.server.guard import HEADERS
from pondage.server.limits import FAILURES, TICKET_S, Failures, Tickets
from pondage.server.routes import ROUTES, SOCKETS
from tests.ledger.harness import World
from tests.server.client import Client, Socket
from tests.server.conftest import As, token_of

LEVELS = (None, "read", "demand", "operate", "admin")
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")
PATHS = sorted({route.path for route in ROUTES})


def filled(path: str) -> str:
    return re.sub(r"{\w+}", "nothing", path)


def overlapping(method: str, path: str) -> Level | None:
    """The level of a route with places that a path without any fits too: `/v1/flows/check` is also a flow's name."""
    found = (
        route.level
        for route in ROUTES
        if route.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), path)
    )
    return next(found, None)


@pytest.mark.parametrize("level", LEVELS)
def test_every_route_and_method_answers_exactly_the_levels_of_the_table(level: str | None, client: As) -> None:
    asking = client(level)
    table = {(route.method, route.path): route.level for route in ROUTES}
    for path in PATHS:
        for method in METHODS:
            answer = asking.ask(method, filled(path), raw=b"not json", headers={"content-type": "application/json"})
            needed = table.get((method, path), overlapping(method, filled(path)))
            if path == "/healthz":
                assert answer.status == (200 if method == "GET" else 405), (method, path)
            elif level is None:
                assert answer.status in (401, 429), (method, path, answer.status)
            elif needed is None:
                assert answer.status == 405, (method, path, answer.status)
            elif Level.named(level) < needed:
                assert (answer.status, answer.json["code"]) == (403, "FORBIDDEN"), (method, path)
            else:
                assert answer.status not in (401, 403, 405, 429, 500), (method, path, answer.data)


@pytest.mark.parametrize("level", LEVELS)
def test_every_websocket_asks_for_its_level(level: str | None, app: ASGIApp, world: World) -> None:
    async def status(path: str) -> int:
        headers = {} if level is None else {"authorization": f"Bearer {token_of(world, level)}"}
        async with Socket(app, path, headers) as socket:
            return socket.status

    for route in SOCKETS:
        assert route.level is not None
        got = asyncio.run(status(filled(route.path)))
        allowed = level is not None and Level.named(level) >= route.level
        assert (got not in (401, 403)) == allowed, (route.path, got)


def test_a_server_with_a_route_without_a_level_does_not_start(service: Service) -> None:
    for level in (None, Level.OPEN):
        hole = Route(method="GET", path="/v1/hole", level=level, handler=lambda _: 1, response=int, summary="")
        with pytest.raises(PondageError, match="/v1/hole") as raised:
            make_app(service, routes=(*ROUTES, hole))
        assert raised.value.code == "NO_LEVEL"


def test_a_path_that_does_not_exist_is_guarded_like_one_that_does(client: As) -> None:
    assert client(None).get("/v1/nothing").status == 401
    assert client(None).get("/healthz/../v1/status").status == 401
    assert client("read").get("/v1/nothing").json["code"] == "NO_ROUTE"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:8642", "localhost@evil.example", "127.0.0.1/evil", "", "[",
     "localhost, evil.example", "evil-localhost"],
)  # fmt: skip
def test_a_foreign_host_is_refused_before_anything_else(client: As, host: str) -> None:
    answer = client("admin").get("/v1/status", headers={"host": host})
    assert (answer.status, answer.json["code"]) == (421, "FOREIGN_HOST")
    assert client(None).get("/healthz", headers={"host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8642", "127.0.0.1", "[::1]:8642"])
def test_this_machine_goes_by_its_own_names(client: As, host: str) -> None:
    assert client("read").get("/v1/status", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1:8642.evil.example", "http://evil127.0.0.1:8642", "null",
     "http://127.0.0.1:9999", "file://127.0.0.1:8642", "http://127.0.0.1:8642@evil.example"],
)  # fmt: skip
def test_a_page_of_another_origin_is_refused(client: As, app: ASGIApp, world: World, origin: str) -> None:
    answer = client("admin").get("/v1/status", headers={"origin": origin})
    assert (answer.status, answer.json["code"]) == (403, "FOREIGN_ORIGIN")

    async def status() -> int:
        headers = {"origin": origin, "authorization": f"Bearer {token_of(world, 'admin')}"}
        async with Socket(app, "/v1/ws/feed", headers) as socket:
            return socket.status

    assert asyncio.run(status()) == 403


def test_the_own_page_may_ask_and_no_answer_allows_another_origin(client: As) -> None:
    answer = client("read").get("/v1/status", headers={"origin": "http://127.0.0.1:8642"})
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/healthz", "/v1/status", "/v1/nothing"])
def test_every_answer_has_the_headers_that_protect_a_browser(client: As, path: str) -> None:
    for asking in (client("read"), client(None)):
        answer = asking.get(path)
        assert {name.lower(): value for name, value in HEADERS.items()}.items() <= answer.headers.items()


def test_an_unknown_a_revoked_and_a_malformed_token_are_refused(client: As, world: World) -> None:
    good = client("read")
    assert good.get("/v1/status").status == 200
    with world.ledger.transaction() as tx:
        api_tokens.revoke(tx, api_tokens.every(tx)[-1].id)
    assert good.get("/v1/status").json["code"] == "BAD_TOKEN"
    for wrong in ("Bearer x", "Basic abc", "Bearer", f"Bearer {'x' * 5000}", "Bearer ' OR 1=1 --"):
        assert client(None).get("/v1/status", headers={"authorization": wrong}).status == 401


def test_a_token_that_has_expired_is_refused(client: As, world: World) -> None:
    with world.ledger.transaction() as tx:
        made, row = api_tokens.create(
            tx, world.ledger.ids, name="guest", level="read", environments=("main",), lasts_us=5_000_000
        )
    asking = {"authorization": f"Bearer {made}"}
    assert client(None).get("/v1/status", headers=asking).status == 200
    with world.ledger.reading() as tx:
        assert api_tokens.is_valid(tx, row.id)
    world.clock.time += 5_000_000
    assert client(None).get("/v1/status", headers=asking).json["code"] == "BAD_TOKEN"
    with world.ledger.reading() as tx:
        assert not api_tokens.is_valid(tx, row.id), "its open WebSockets are closed by this"


def test_a_token_is_made_to_expire_over_http(client: As) -> None:
    body = {"name": "guest", "level": "read", "environments": ["main"], "lasts_us": 3_600_000_000}
    row = client("admin").post("/v1/tokens", body).json["row"]
    assert row["expires_at"] - row["created_at"] == 3_600_000_000
    assert client("admin").post("/v1/tokens", {**body, "lasts_us": 0}).status == 400


def test_the_ledger_keeps_no_token_only_its_hash(world: World) -> None:
    made = token_of(world, "admin")
    with world.ledger.reading() as tx:
        rows = [dict(row) for row in tx.rows("SELECT * FROM tokens")]
    assert made not in str(rows)
    assert rows[0]["hash"] == api_tokens.digest(made)
    assert len(made) > 43


def test_after_many_failures_an_address_is_refused_but_not_whoever_was_good_before(client: As) -> None:
    good = client("read")
    assert good.get("/v1/status").status == 200
    bad = Client(good.app, "wrong")
    assert [bad.get("/v1/status").status for _ in range(FAILURES)] == [401] * FAILURES
    assert bad.get("/v1/status").status == 429
    assert good.get("/v1/status").status == 200


def test_failures_are_forgotten_after_a_minute() -> None:
    now = [0.0]
    failures = Failures(clock=lambda: now[0])
    for _ in range(FAILURES):
        failures.failed("a")
    assert failures.is_limited("a", "x")
    assert not failures.is_limited("b", "x")
    now[0] = 61.0
    assert not failures.is_limited("a", "x")


def test_another_environment_is_answered_like_none(client: As, world: World) -> None:
    with world.ledger.transaction() as tx:
        tx.write("INSERT INTO environments (name) VALUES ('other')")
    mine = client("admin")
    for path in ("/v1/status?env=other", "/v1/status?env=never"):
        answer = mine.get(path)
        assert (answer.status, answer.json["code"]) == (404, "NO_ENVIRONMENT")
        assert answer.json["hint"] == "pondage env list"
    both = client("read", "main", "other")
    assert both.get("/v1/status").json["code"] == "AMBIGUOUS"
    assert both.get("/v1/status?env=other").json["environment"] == "other"
    assert client("read", "other").get("/v1/runs/sales").status == 404
    everywhere = client("read", "*")
    assert everywhere.get("/v1/status").json["environment"] == "main"
    assert everywhere.get("/v1/status?env=other").status == 200
    assert everywhere.get("/v1/status?env=never").status == 404


def test_ids_never_become_paths(client: As) -> None:
    for given in ("..%2f..%2fetc%2fpasswd", "%2e%2e", "....", "a%00b", "x" * 5000, "%27%20OR%201%3D1"):
        status = 400 if "%00" in given else 404
        for path in ("/v1/runs/", "/v1/show/", "/v1/why/", "/v1/lineage/", "/v1/jobs/runs/"):
            assert client("admin").get(path + given).status == status, path + given
        assert client("admin").get(f"/v1/logs?subject={given}").status == status


def test_a_body_is_limited_however_it_comes(client: As) -> None:
    asking = client("admin")
    assert asking.post("/v1/tokens", raw=b"[" * 100_000).status == 413
    assert asking.post("/v1/tokens", raw=b"[" * 60_000).status == 400
    assert asking.post("/v1/tokens", raw=b"\xff").status == 400
    assert asking.post("/v1/tokens", raw=b"{}", headers={"content-type": "text/plain"}).status == 415
    wrong = asking.post("/v1/tokens", {"name": "x", "level": "god", "environments": ["main"]})
    assert (wrong.status, wrong.json["place"]) == (400, "$.level")


def test_a_token_cannot_give_more_than_it_has(client: As) -> None:
    admin = client("admin")
    new = {"name": "ci", "level": "read", "environments": ["main"]}
    made = admin.post("/v1/tokens", new)
    assert made.status == 201
    assert Client(admin.app, made.json["token"]).get("/v1/status").status == 200
    for wider in (["*"], ["main", "other"]):
        assert admin.post("/v1/tokens", {**new, "environments": wider}).json["code"] == "FORBIDDEN"
    for name in ("a\nb", "\x1b[2J", "", "x" * 64):
        assert admin.post("/v1/tokens", {**new, "name": name}).status == 422
    assert admin.ask("DELETE", f"/v1/tokens/{made.json['row']['id']}").status == 200
    assert Client(admin.app, made.json["token"]).get("/v1/status").status == 401


def test_changes_to_tokens_are_audited_with_who_did_it(client: As, world: World) -> None:
    client("admin").post("/v1/tokens", {"name": "ci", "level": "read", "environments": ["main"]})
    with world.ledger.reading() as tx:
        row = tx.rows("SELECT who, verb, note FROM audit ORDER BY id DESC LIMIT 1")[0]
    assert (str(row["who"]).startswith("token a admin"), row["verb"], row["note"]) == (True, "token create", "ci")


def test_a_ticket_is_good_once_and_for_half_a_minute(world: World) -> None:
    now = [0.0]
    tickets = Tickets(clock=lambda: now[0])
    token_of(world, "read")
    with world.ledger.reading() as tx:
        row = api_tokens.every(tx)[0]
    ticket, late = tickets.issue(row), tickets.issue(row)
    assert tickets.take(ticket) == row
    assert tickets.take(ticket) is None
    now[0] = TICKET_S + 1
    assert tickets.take(late) is None
    assert tickets.take("") is None


def test_what_fails_inside_says_a_number_and_nothing_else(service: Service, world: World) -> None:
    def broken(_: object) -> object:
        raise ValueError("a password: hunter2")

    hole = Route(
        method="GET", path="/v1/broken", level=Level.READ, handler=broken, response=msgspec.Raw, summary="fails"
    )
    answer = Client(make_app(service, routes=(hole,)), token_of(world, "read")).get("/v1/broken")
    assert (answer.status, answer.json["code"]) == (500, "INTERNAL")
    assert b"hunter2" not in answer.data
