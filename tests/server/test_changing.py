"""What a client may change over HTTP: demand, verbs, deployments, questions; each with an audit row."""

import base64
import io
import stat
import zipfile
from typing import Any

import msgspec
import pytest

from pondage.kernel.demand.events import Pulse
from tests.ledger.harness import World, pond
from tests.server.client import Client
from tests.server.conftest import As


def audited(world: World) -> dict[str, Any]:
    with world.ledger.reading() as tx:
        return dict(tx.rows("SELECT who, verb, target, note FROM audit ORDER BY id DESC LIMIT 1")[0])


def test_a_pulse_asks_for_runs_and_is_audited_with_its_note(client: As, world: World) -> None:
    asking = client("demand")
    answer = asking.post("/v1/ponds/sales/pulse", {"note": "the board meets"})
    assert answer.status == 200
    assert answer.json["ponds"][0]["key"] == "sales@1"
    said = audited(world)
    assert (said["verb"], said["target"], said["note"]) == ("pulse", "sales@1", "the board meets")
    assert said["who"].startswith("token a demand")
    world.worker().drain()
    assert len(asking.get("/v1/runs").json["runs"]) == 2


def test_standing_triggers_come_and_go(client: As) -> None:
    asking = client("demand")
    assert asking.post("/v1/ponds/sales/tide", {"limit": "15m", "name": "fresh"}).json["ponds"][0]["triggers"]
    assert asking.post("/v1/ponds/sales/tide", {"limit": "soon"}).status == 422
    assert asking.post("/v1/ponds/sales/wave", {"pacing": "just-in-time"}).status == 200
    assert asking.post("/v1/ponds/sales/calm", {}).json["ponds"][0]["triggers"] == []
    assert asking.post("/v1/ponds/sales/tap", {}).status == 200


def test_an_operator_kills_and_clears(client: As) -> None:
    asking = client("operate")
    assert asking.post("/v1/ponds/sales/kill", {}).json["ponds"][0]["state"] == "killed"
    assert asking.post("/v1/ponds/sales/clear", {}).json["ponds"][0]["state"] != "killed"
    for verb in ("sleep", "wake", "force"):
        assert asking.post(f"/v1/ponds/sales/{verb}", {}).status == 200
    assert asking.post("/v1/ponds/nothing/kill", {}).status == 404


@pytest.mark.parametrize("note", ["two\nlines", "\x1b[31mred", "x" * 501, "nul\x00"])
def test_a_note_cannot_write_a_second_line_into_a_log(client: As, note: str) -> None:
    assert client("operate").post("/v1/ponds/sales/kill", {"note": note}).status == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/ponds/sales/pulse", {"at": 2**63}), ("/v1/ponds/sales/pulse", {"at": -1}),
     ("/v1/queries", {"sql": "select 1", "as_of": 2**63}), ("/v1/reactors/any/sources/a", {"value": 1, "f": 2**70})],
)  # fmt: skip
def test_a_number_that_no_column_holds_is_refused_and_fails_nothing(
    client: As, path: str, body: dict[str, object]
) -> None:
    answer = client("operate").post(path, body)
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")


def archive(*files: tuple[str, bytes], kind: int = stat.S_IFREG) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files:
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o644) << 16
            file.writestr(info, data)
    return buffer.getvalue()


CODE = archive(("ponds.py", b"x = 1\n"))


def upload(*ponds: object, code: bytes = CODE, **more: object) -> dict[str, object]:
    body = {"project": "web", "archive": base64.b64encode(code).decode(), "ponds": list(ponds), **more}
    return msgspec.to_builtins(body)


def test_a_client_plans_and_deploys_what_it_has_read(client: As, world: World) -> None:
    asking = client("operate")
    sent = upload(pond("visits"), note="first")
    planned = asking.post("/v1/plan", sent)
    assert planned.status == 200, planned.data
    assert [each["change"] for each in planned.json["ponds"]] == ["added"]
    assert asking.get("/v1/show/visits").status == 404
    outdated = asking.post("/v1/deploy", {**sent, "expected": "another"})
    assert (outdated.status, outdated.json["code"]) == (409, "PLAN_OUTDATED")
    done = asking.post("/v1/deploy", {**sent, "expected": planned.json["digest"]})
    assert done.status == 200, done.data
    assert asking.get("/v1/show/visits").json["project"] == "web"
    said = audited(world)
    assert (said["verb"], said["target"], said["note"]) == ("deploy", "web", "first")
    assert said["who"].startswith("token a operate")
    assert asking.post("/v1/plan", sent).json["is_empty"]
    foreign = asking.post("/v1/deploy", upload(pond("sales")))
    assert foreign.status in (409, 422, 400)
    assert asking.get("/v1/show/sales").json["project"] == "shop"


@pytest.mark.parametrize(
    "code",
    [
        b"not a zip",
        archive(("../evil.py", b"x")),
        archive(("/etc/passwd", b"x")),
        archive(("a\\b.py", b"x")),
        archive(("c:evil.py", b"x")),
        archive(("link.py", b"/etc/passwd"), kind=stat.S_IFLNK),
        archive(("dev", b""), kind=stat.S_IFCHR),
        archive(("bomb.py", b"\0" * 25_000_000)),
        archive(("ponds.py", b"x" * 1000)).replace(b"ponds.py", b"ponds.pz", 1),
    ],
    ids=["no zip", "up", "absolute", "backslash", "drive", "link", "device", "bomb", "two names"],
)
def test_an_archive_with_a_trick_in_it_is_refused_and_nothing_is_stored(client: As, world: World, code: bytes) -> None:
    answer = client("operate").post("/v1/deploy", upload(pond("visits"), code=code))
    assert (answer.status, answer.json["code"]) == (422, "BAD_ARCHIVE")
    with world.ledger.reading() as tx:
        assert tx.row("SELECT 1 AS found FROM ponds WHERE name = 'visits'") is None


@pytest.mark.parametrize("name", ["../../etc", "a/b", "a b", "x; drop table runs", "", "A", "a" * 64, "a\ufffd"])
def test_names_in_an_upload_are_checked_again(client: As, name: str) -> None:
    asking = client("operate")
    wrong = [
        upload(pond(name)),
        upload(pond("visits", ripples={name or " ": []})),
        upload(pond("visits", sources={name: True})),
        upload(pond("visits"), project=name),
        upload(pond("visits", version="1.0.0/..")),
    ]
    for sent in wrong:
        assert asking.post("/v1/deploy", sent).status == 422, sent
    assert asking.get("/v1/show/visits").status == 404


def test_a_question_is_accepted_then_answered_and_can_be_withdrawn(client: As, world: World) -> None:
    world.send(Pulse(pond="sales@1"))
    world.worker().drain()
    asking = client("demand")
    accepted = asking.post("/v1/queries", {"sql": "select * from sales", "limit": 5})
    assert (accepted.status, accepted.json["state"]) == (202, "waiting")
    known = accepted.json["id"]
    assert asking.get(f"/v1/answers/{known}?wait=0.1").json["state"] in ("waiting", "no worker")
    assert asking.ask("DELETE", f"/v1/answers/{known}").json["state"] == "failed"
    assert asking.get(f"/v1/answers/{known}").json["error"]["code"]
    for wrong in ("q0", "q1", "q99999", "qx", "../1", "q" + "9" * 30, "q" + "0" * 32, known[:-1] + "z"):
        assert asking.get(f"/v1/answers/{wrong}").status == 404
    for other in (client("demand", "other"), client("admin")):
        assert other.get(f"/v1/answers/{known}").status == 404


def test_the_id_of_a_question_says_nothing_and_only_its_own_token_can_use_it(client: As) -> None:
    asking = client("demand")
    first, second = (asking.post("/v1/queries", {"sql": "select 1"}).json["id"] for _ in range(2))
    same = sum(a == b for a, b in zip(first[1:], second[1:], strict=True))
    assert same < 16, (first, second)
    assert client("demand").ask("DELETE", f"/v1/answers/{first}").status == 404
    assert asking.get(f"/v1/answers/{first}").json["state"] in ("waiting", "no worker")


def test_starting_spark_is_a_state_that_a_client_sees(client: As, world: World) -> None:
    asking = client("demand")
    known = asking.post("/v1/queries", {"sql": "select 1"}).json["id"]
    worker = world.worker()
    with world.ledger.transaction() as tx:
        tx.change("UPDATE processes SET state = 'starting spark', role = 'questions'")
    assert asking.get(f"/v1/answers/{known}").json["state"] == "starting spark"
    del worker


def test_at_most_so_many_questions_wait(client: As, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pondage.server.strangers.OPEN_AT_MOST", 2)
    asking = client("demand")
    got = [asking.post("/v1/queries", {"sql": "select 1"}).status for _ in range(3)]
    assert got == [202, 202, 429]


def test_a_job_that_is_not_deployed_and_a_run_that_is_not_there_are_not_found(client: As) -> None:
    asking: Client = client("operate")
    assert asking.post("/v1/jobs/nothing/runs", {}).json["code"] == "NO_JOB"
    for verb in ("kill", "resume"):
        assert asking.post(f"/v1/jobs/runs/nothing/{verb}", {}).status == 404


def test_a_command_to_a_reactor_without_a_host_is_refused(client: As) -> None:
    asking = client("operate")
    assert asking.post("/v1/reactors/nothing/commands", {"command": "pause"}).status == 404
    assert asking.post("/v1/reactors/nothing/commands", {"command": "explode"}).json["code"] == "NO_COMMAND"
    assert asking.post("/v1/reactors/nothing/sources/a", {"value": 1}).status == 404
