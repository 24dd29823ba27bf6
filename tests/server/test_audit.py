"""What the audit says of commands that were refused, and where it is wanted of questions and pushes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pondage.errors import PondageError
from pondage.ledger.tables.history import Caller
from pondage.operations import access, demand, deployments, questions
from pondage.operations.operation import Context
from pondage.project.project import load_project
from pondage.server.app import make_app
from pondage.server.call import Service
from pondage.server.limits import FAILURES
from tests.ledger.harness import World
from tests.server.client import Client
from tests.server.conftest import As, token_of


def rows(world: World) -> list[tuple[object, ...]]:
    found = world.rows("SELECT who, verb, target, note, refused FROM audit ORDER BY id")
    return [tuple(each.values()) for each in found]


def newest(world: World) -> tuple[object, ...]:
    return rows(world)[-1]


def test_a_command_that_a_level_may_not_give_is_audited_with_its_name_and_code(client: As, world: World) -> None:
    asking = client("read")
    assert asking.post("/v1/ponds/sales/kill", {"note": "for fun"}).status == 403
    who, verb, target, note, refused = newest(world)
    assert str(who).startswith("token a read (")
    assert (verb, target, refused) == ("kill", "sales", "FORBIDDEN")
    assert "operate" in str(note)
    assert asking.ask("DELETE", "/v1/secrets/db").status == 403
    assert newest(world)[1:3] == ("secret remove", "db")


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/v1/ponds/sals/pulse", {"note": "why"}, ("pulse", "sals", "NO_POND")),
        ("POST", "/v1/ponds/sales/tide", {"limit": "soon"}, ("tide", "sales", "BAD_DURATION")),
        ("POST", "/v1/ponds/sales/pulse", {"notte": "why"}, ("pulse", "sales", "BAD_REQUEST")),
        ("POST", "/v1/promote", {"ponds": ["sales"], "to": "other"}, ("promote", "", "NO_ENVIRONMENT")),
        (
            "POST", "/v1/tokens", {"name": "x", "level": "read", "environments": ["*"]},
            ("token create", "x", "FORBIDDEN"),
        ),
    ],
)  # fmt: skip
def test_what_is_refused_leaves_one_row_that_says_so_wherever_it_was_refused(
    client: As, world: World, method: str, path: str, body: object, expected: tuple[str, str, str]
) -> None:
    before = len(rows(world))
    answer = client("admin").ask(method, path, body)
    assert answer.status >= 400
    assert answer.json["code"] == expected[2]
    (row,) = rows(world)[before:]
    verb, target, refused = row[1], row[2], row[4]
    assert (verb, refused) == (expected[0], expected[2])
    assert target in (expected[1], ""), "what was sent may not have been read yet"


def test_the_view_says_refused_and_what_was_done_is_not(client: As, world: World) -> None:
    asking = client("demand")
    asking.post("/v1/ponds/sales/pulse", {"note": "because"})
    asking.post("/v1/ponds/sales/kill", {})
    lines = asking.get("/v1/audit").json["lines"]
    assert [(each["verb"], each["refused"]) for each in lines[:2]] == [("kill", "FORBIDDEN"), ("pulse", None)]
    world.pass_time(1)
    moments = str(asking.get("/v1/timeline?since=0").json["moments"])
    assert "pulse" in moments
    assert "kill" not in moments, "on the timeline is what was done"


def test_whoever_may_change_nothing_does_not_fill_the_ledger_with_refusals(client: As, world: World) -> None:
    asking = client("read")
    for _ in range(3 * FAILURES):
        assert asking.post("/v1/ponds/sales/kill", {}).status == 403
    assert [row[4] for row in rows(world)].count("FORBIDDEN") == FAILURES
    client("read").post("/v1/ponds/sales/kill", {})
    assert [row[4] for row in rows(world)].count("FORBIDDEN") == FAILURES + 1, "another token is another one"


def test_a_message_writes_one_line_whatever_was_sent(client: As, world: World) -> None:
    assert client("operate").post("/v1/ponds/a%0ab%1b[2J/pulse", {}).status == 404
    _, _, target, note, refused = newest(world)
    assert refused
    assert str(target).isprintable()
    assert str(note).isprintable()


@pytest.mark.parametrize("env", ["%00", "other", "9" * 400, "%ed%a0%80"])
def test_a_command_about_an_environment_that_is_none_is_audited_where_its_token_belongs(
    client: As, world: World, env: str
) -> None:
    assert client("operate").post(f"/v1/ponds/sales/pulse?env={env}", {}).status in (400, 404)
    assert newest(world)[1:3] == ("pulse", "sales")
    assert newest(world)[4] in ("BAD_REQUEST", "NO_ENVIRONMENT")


def test_who_is_refused_at_the_ledger_itself_is_audited_alike(world: World, tmp_path: Path) -> None:
    here = Context(ledger=world.ledger, environment="main", warehouse=tmp_path, by=Caller("anna"))
    with pytest.raises(PondageError):
        demand.pulse.do(here, demand.PondRequest(pond="sals", note="why"))
    who, verb, target, note, refused = newest(world)
    assert (who, verb, target, refused) == ("anna", "pulse", "sals", "NO_POND")
    assert str(note).endswith("why")


def test_nothing_secret_is_in_the_row_of_a_refused_secret(client: As, world: World) -> None:
    assert client("operate").post("/v1/secrets/db", {"value": "hunter2"}).status == 403
    assert client("admin").post("/v1/secrets/bad name", {"value": "hunter2"}).status >= 400
    assert "hunter2" not in str(rows(world))


def asked(asking: Client) -> None:
    assert asking.post("/v1/queries", {"sql": "select 1"}).status == 202
    assert asking.post("/v1/diffs", {"pond": "sales", "against": "sales#1"}).status >= 400
    assert asking.post("/v1/reactors/pub/sources/pi", {"value": 1}).status == 404


def test_questions_and_pushes_are_counted_and_leave_no_row(client: As, world: World) -> None:
    asking = client("demand")
    before = rows(world)
    asked(asking)
    assert rows(world) == before
    said = asking.get("/metrics").data.decode()
    assert 'pondage_questions_total{token="a demand"} 2' in said
    assert 'pondage_pushes_total{token="a demand"} 1' in said


def test_questions_and_pushes_are_audited_where_everything_is(service: Service, world: World, tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n[server]\naudit = "all"\n')
    whole = replace(service, project=load_project(tmp_path))
    before = len(rows(world))
    asked(Client(make_app(whole), token_of(world, "demand")))
    found = rows(world)[before:]
    assert [row[1:4] for row in found] == [
        ("query", "", "select 1"), ("diff", "sales", ""), ("reactor push", "pub/pi", ""),
    ]  # fmt: skip
    assert all(str(row[0]).startswith("token a demand (") for row in found)
    assert {row[4] for row in found} == {None}


def test_what_an_operation_is_says_whether_it_is_audited() -> None:
    assert [each.kind for each in (demand.pulse, access.token_list, questions.query, deployments.plan)] == [
        "command", "look", "ask", "look",
    ]  # fmt: skip
