"""The command line through a server: what changes something, who may, and what is said when something is wrong."""

import http.server
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pondage.cli.client.desk import There
from pondage.cli.client.remote import Server, server_of
from pondage.cli.client.settings import Settings
from pondage.errors import LedgerError, PondageError
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.project.project import load_project
from pondage.server.call import Service
from pondage.server.serving import ServeOptions, bound, serving
from tests.cli.workers import FakeWorkers
from tests.ledger.harness import World, pond
from tests.ports import refusing_port
from tests.server.conftest import token_of
from tests.server.test_twins import TREE, Said, said

POND = """
from pondage import pond

@pond
def visits(spark):
    return spark.range({n})

@pond
def pages(visits):
    return visits
"""
JOB = """
job: {name: nightly}
components:
  - {name: stop, type: fail, params: {message: "enough"}}
"""


class Far:
    """A project on this side, and a server with the ledger of another directory on the other."""

    def __init__(self, world: World, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.world, self.url, self._capsys = world, url, capsys
        self.token = token_of(world, "admin", "*")

    def __call__(self, *arguments: str, token: str | None = None) -> Said:
        return said(self._capsys, [*arguments, "--server", self.url, "--token", token or self.token])


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Far]:
    other, here = tmp_path / "other", tmp_path / "here"
    for root in (other, here):
        root.mkdir()
        (root / "pondage.toml").write_text('[project]\nname = "shop"\n')
    (here / "ponds.py").write_text(POND.format(n=3))
    monkeypatch.chdir(here)
    monkeypatch.delenv("PONDAGE_TOKEN", raising=False)
    world = World(lambda clock: SqliteDriver(other / ".pondage" / "ledger.db", clock))
    project = load_project(other)
    service = Service(ledger=world.ledger, environment="main", warehouse=other, project=project)
    options = ServeOptions(port=0)
    with bound(options) as listening, serving(service, options, listening):
        yield Far(world, f"http://127.0.0.1:{listening.getsockname()[1]}", capsys)
    world.ledger.close()


def deployed(world: World) -> None:
    world.deploy(pond("visits"), pond("pages", sources={"visits": True}), project="shop")


@contextmanager
def working(world: World) -> Iterator[None]:
    """Workers without Spark, on the other side."""
    ledger = world.open(99)
    try:
        with FakeWorkers().at_work(ledger):
            yield
    finally:
        ledger.close()


def test_the_files_are_read_here_and_deployed_there(far: Far) -> None:
    planned = msgspec.json.decode(far("plan", "--json").out)
    assert [each["change"] for each in planned["ponds"]] == ["added", "added"]
    assert "deployed to main; next: pondage dev" in far("deploy").out
    assert "nothing to deploy" in far("plan").out
    assert not Path(".pondage", "ledger.db").exists(), "nothing was stored on this side"
    Path("ponds.py").write_text("this is not python\n")
    assert "ponds.py" in far("deploy").err


def test_a_pipeline_runs_there_and_its_rows_are_printed_here(far: Far) -> None:
    deployed(far.world)
    with working(far.world):
        ran = far("run", "pages", "--json")
        assert ran.code == 0, ran.err
        assert msgspec.json.decode(ran.out)["pages"]["rows"] == [[1, "one"], [2, None]]
        sampled = far("run", "visits", "--sample", "--json")
        assert msgspec.json.decode(sampled.out)["tables"][0]["ripple"] == "visits"
        assert "2 rows" in far("query", "select 1").out
        assert "error[NO_BATCHES]" in far("compact", "visits").err
    assert far.world.rows("SELECT verb FROM audit WHERE verb = 'pulse'")
    assert "error[" in far("rollback", "pages", "--to", "1").err, "it is what is shown already"


def test_every_trigger_reaches_its_pond(far: Far) -> None:
    deployed(far.world)
    for verb, words in {
        "tap": "was tapped", "pulse": "was pulsed", "wave": "has a Wave", "calm": "is calm", "sleep": "sleeps",
        "wake": "was woken", "force": "is forced", "kill": "was killed", "clear": "was cleared",
    }.items():  # fmt: skip
        told = far(verb, "visits")
        assert told.code == 0, told.err
        assert words in told.out, verb
    assert "has Tide 'tide' of 15 min" in far("tide", "pages", "15m").out
    assert "asks no more by tide" in far("pause", "pages", "tide").out
    assert "asks again by tide" in far("resume", "pages").out
    assert far("pulse", "visits", "--at", "1s").code == 0
    who = {str(row["who"]) for row in far.world.rows("SELECT who FROM audit WHERE verb = 'kill'")}
    assert all(each.startswith("token a admin") for each in who)


def test_a_secret_goes_in_and_never_comes_out(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("hunter2\n"))
    assert "stored the secret db" in far("secret", "set", "db").out
    assert far("secret", "list").out == "db\n"
    answer = Server(far.url, far.token).asked("GET", "/v1/secrets", {}, object)
    assert answer == {"secrets": ["db"]}
    assert b"hunter2" not in (far.world.rows("SELECT sealed FROM secrets")[0]["sealed"] or b"")  # type: ignore[operator]
    assert "removed the secret db" in far("secret", "remove", "db").out
    assert far("secret", "remove", "db").code == 1


def test_tokens_environments_and_vacuum_are_kept_from_afar(far: Far) -> None:
    made = msgspec.json.decode(far("token", "create", "--level", "read", "--json").out)
    assert far("status", "--json", token=made["token"]).code == 0
    assert "revoked" in far("token", "revoke", made["row"]["id"]).out
    assert far("status", token=made["token"]).code == 1
    far("deploy")
    assert far("deploy", "--env", "dev", "--all").code == 0
    assert "dev" in far("env", "list").out
    assert far("promote", "visits", "--env", "dev").code == 1, "nothing was made there yet"
    assert "removed dev" in far("env", "remove", "dev", "--yes").out
    assert "0 snapshots would be marked" in far("vacuum", "--dry-run").out


def test_a_job_of_a_file_runs_there_and_is_killed_and_resumed(far: Far) -> None:
    Path("nightly.yaml").write_text(JOB)
    started = far("job", "run", "nightly.yaml", "--no-follow", "--json")
    assert started.code == 0, started.err
    run = msgspec.json.decode(started.out)["run"]
    assert run in far("job", "kill", run).out
    far("job", "kill", run)
    assert far("job", "resume", run, "--file", "nightly.yaml", "--no-follow").code == 0
    assert far("job", "run", "nothing", "--no-follow").code == 1


def test_a_flow_is_submitted_stopped_and_its_bytes_are_fetched_from_any_offset(
    far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("ready.json").write_text(json.dumps(TREE))
    run = msgspec.json.decode(far("flow", "submit", "ready.json", "--json").out)["run"]
    Path("wrong.json").write_text('{"version": 1, "nodes": {"x": {"prog": "nothing"}}}')
    assert far("flow", "submit", "wrong.json").code == 4
    given = [b"one\n", b"two\n"]

    def extracted(*_: object, offset: int, wait: object) -> Iterator[bytes]:
        if not given:
            raise LedgerError("it has not come yet", code="EXTRACT_WAITS")
        yield b"".join(given)[offset:]

    monkeypatch.setattr("pondage.connect.extraction.extracted", extracted)
    assert "8 bytes of ndjson" in far("flow", "extract", run, "clean", "-o", "out.txt").out
    assert Path("out.txt").read_bytes() == b"one\ntwo\n"
    assert "4 bytes" in far("flow", "extract", run, "clean", "-o", "out.txt", "--offset", "4").out
    assert Path("out.txt").read_bytes() == b"one\ntwo\n"
    assert "error[NO_SUCH_EXTRACT]" in far("flow", "extract", run, "nothing", "--no-wait").err
    given.clear()
    assert "error[EXTRACT_WAITS]" in far("flow", "extract", run, "clean", "--no-wait").err
    assert "was asked to stop everything" in far("flow", "stop", run).out
    for _ in range(2):
        far("job", "kill", run)
    assert far("flow", "watch", run).code == 1, "it was asked to stop, but nobody had begun it when it was killed"
    assert far("flow", "cleanup", run).code == 0
    assert far("flow", "resume", run).code == 0


def test_a_tree_is_data_and_is_checked_on_the_server(far: Far) -> None:
    server = Server(far.url, far.token)
    began = server.asked("POST", "/v1/flows", {"tree": TREE, "name": "data"}, dict[str, str])
    assert isinstance(began, dict)
    assert began["run"] in far("flow", "list").out
    with pytest.raises(PondageError) as refused:
        server.asked("POST", "/v1/flows", {"tree": {"version": 1, "nodes": {"x": {"prog": "nothing"}}}}, object)
    assert refused.value.code == "FLOW_REFUSED"


def test_a_rollback_brings_the_deployment_before_back(far: Far) -> None:
    far("deploy")
    Path("ponds.py").write_text(POND.format(n=4))
    far("deploy")
    assert "visits@1 changed" in far("rollback", "--dry-run").out
    assert "deployed again to main" in far("rollback").out


@pytest.mark.parametrize(
    ("level", "verb", "code"),
    [("read", "pulse visits", "FORBIDDEN"), ("demand", "kill visits", "FORBIDDEN"),
     ("operate", "token list", "FORBIDDEN"),
     ("read", "status --env other", "NO_ENVIRONMENT"), ("read", "show nothing", "NO_POND")],
)  # fmt: skip
def test_who_may_not_is_told_what_is_missing(far: Far, level: str, verb: str, code: str) -> None:
    deployed(far.world)
    refused = far(*verb.split(), token=token_of(far.world, level))
    assert refused.code == 1
    assert f"error[{code}]" in refused.err


def test_a_wrong_token_and_none_say_how_to_give_one(far: Far, capsys: pytest.CaptureFixture[str]) -> None:
    assert "error[BAD_TOKEN]" in far("status", token="wrong").err
    none = said(capsys, ["status", "--server", far.url])
    assert "error[NO_TOKEN]" in none.err
    assert "PONDAGE_TOKEN" in none.err


def test_a_token_comes_from_the_environment_a_file_or_the_project(
    far: Far, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = tmp_path / "here" / ".pondage" / "admin.token"
    place.parent.mkdir()
    place.write_text(far.token + "\n")
    monkeypatch.setenv("PONDAGE_SERVER", far.url)
    assert said(capsys, ["status"]).code == 0
    place.unlink()
    (tmp_path / "token").write_text(far.token)
    monkeypatch.setenv("PONDAGE_TOKEN_FILE", str(tmp_path / "token"))
    assert said(capsys, ["status"]).code == 0
    monkeypatch.setenv("PONDAGE_TOKEN_FILE", str(tmp_path / "nothing"))
    assert "error[NO_TOKEN]" in said(capsys, ["status"]).err
    monkeypatch.setenv("PONDAGE_TOKEN", far.token)
    assert said(capsys, ["status"]).code == 0


def test_the_own_token_is_not_given_to_another_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PONDAGE_TOKEN", raising=False)
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / ".pondage").mkdir()
    (tmp_path / ".pondage" / "admin.token").write_text("mine")
    settings = Settings()
    settings.server = "https://elsewhere.example"
    assert server_of(settings).token is None
    settings.server = "http://localhost:1"
    assert server_of(settings).token == "mine"


def test_a_server_that_is_down_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with refusing_port() as port:
        down = said(capsys, ["status", "--server", f"http://127.0.0.1:{port}", "--token", "x"])
    assert down.code == 1
    assert f"error[NO_SERVER]: the server http://127.0.0.1:{port} cannot be reached" in down.err


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8642", "ftp://x", "http://", "http://x:port", "http://x/path", "http://u@x"]
)
def test_what_is_no_address_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = said(capsys, ["status", "--server", url])
    assert (wrong.code, "is no address" in wrong.err) == (2, True)


@contextmanager
def answering(version: str | None, body: bytes, status: int = 200) -> Iterator[str]:
    """Something else that speaks HTTP."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if version is not None:
                self.send_header("Pondage-Version", version)
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{other.server_port}"
        other.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("version", "body", "status", "code"),
    [("99.0.0", b"{}", 200, "WRONG_VERSION"), (None, b"<html>", 200, "NOT_PONDAGE"),
     (None, b"<html>", 502, "NOT_PONDAGE"), (None, b"", 302, "NOT_PONDAGE")],
)  # fmt: skip
def test_another_version_and_something_else_are_told_apart(
    version: str | None, body: bytes, status: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(version, body, status) as url:
        assert f"error[{code}]" in said(capsys, ["status", "--server", url, "--token", "x"]).err


def test_logs_are_followed_over_a_socket(far: Far) -> None:
    from pondage.operations import runs

    deployed(far.world)
    settings = Settings()
    there = There(Server(far.url, far.token), settings)
    with pytest.raises(PondageError, match="nothing"):
        next(iter(there.follow(runs.log_lines, subject="nothing", ripple=None, lines=5)))
    wrong = There(Server(far.url, "wrong"), settings)
    with pytest.raises(PondageError) as refused:
        next(iter(wrong.follow(runs.log_lines, subject=None, ripple=None, lines=5)))
    assert refused.value.code == "BAD_TOKEN"
