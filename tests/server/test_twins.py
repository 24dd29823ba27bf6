"""The command line says the same from near and far: every reading verb on the ledger and through a server."""

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from shlex import split
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click
import msgspec
import pytest

from pondage.cli.client import session
from pondage.cli.files.tree import stored_tree
from pondage.cli.main import main, program
from pondage.define.job.component import ComponentDefinition
from pondage.define.job.exposed import Exposed
from pondage.define.types.port import Port
from pondage.define.types.segment import END
from pondage.define.types.type_registry import TypeEntry
from pondage.engine.supervise import dev
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.job_deploys import deploy_jobs
from pondage.ledger.act.jobs import start_job
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.plan.job.stored_job import stored_job
from pondage.project.archive import pack_project
from pondage.project.project import load_project
from pondage.server.call import Service
from pondage.server.serving import ServeOptions, bound, serving
from pondage.views.answers import CheckView
from pondage.views.installation import doctor
from pondage.views.runs.logs import locate
from tests.cli import workers
from tests.cli.conftest import Said
from tests.ledger.data.test_streams import PAIR, STREAMS, claimed, finish, put, segment
from tests.ledger.harness import World, pond
from tests.ledger.jobs import Jobs, job
from tests.plan.flow.programs import PROGRAMS, planned
from tests.server.conftest import token_of
from tests.server.test_jobs import TEXT

READING = {
    "status": ["status", "status sales orders --once", "status --all"],
    "why": ["why sales", "why orders"],
    "runs": ["runs", "runs sales -n 1", "runs --state failed"],
    "logs": ["logs sales", "logs sales#1 -n 1", "logs --ripple sales"],
    "show": ["show sales", "show sales#1", "show orders#1", "show orders@1"],
    "checks": ["checks", "checks sales"],
    "diff": ["diff sales --against sales#1", "diff sales --against main", "diff sales --against sales#1 --key n"],
    "lineage": ["lineage sales", "lineage sales --up --columns", "lineage sales#1 --down"],
    "env list": ["env list"],
    "env show": ["env show main"],
    "job list": ["job list", "job list nightly --limit 1"],
    "job show": ["job show nightly", "job show ticking"],
    "flow list": ["flow list", "flow list ready --limit 1"],
    "flow show": ["flow show ready", "flow show streaming"],
    "flow watch": ["flow watch ready"],
    "flow store": ["flow store pondage.toml"],
    "flow check": [
        "flow check ready.json",
        "flow check tools.json",
        "flow check guessed.json",
        "flow check guessed.json --infer",
    ],
    "component list": ["component list"],
    "component show": ["component show sharpen", "component show filter"],
    "component queues": ["component queues", "component queues --all"],
    "type list": ["type list"],
    "type show": ["type show Tool", "type show Table"],
    "reactor list": ["reactor list"],
    "backfill list": ["backfill list"],
    "alert list": ["alert list", "alert list --open -n 1"],
    "readers": ["readers", "readers sales --days 1"],
    "token list": ["token list"],
    "secret list": ["secret list"],
    "doctor": ["doctor", "doctor --replay"],
    "simulate": ["simulate --for 5s --save kept", "simulate --local --for 5s --wave visits"],
    "plan": ["plan", "plan --analyze"],
    "query": ["query 'select * from sales'", "query 'select 1' --as-of sales#1 -n 5", "query --as-of 1s 'select 2'"],
}
"""Each verb that reads, and how it is called."""
TREE = {
    "version": 1,
    "nodes": {
        "some": {"const": {"type": "Table<{n: bigint}>", "value": [{"n": 1}, {"n": 2}]}},
        "big": {"prog": "filter@1", "params": {"where": "n > 1"}},
    },
    "edges": [["some.out", "big.input"]],
    "extract": {"clean": {"from": "big.main", "format": "ndjson"}},
}
ROW = "{name: string}"
TOOLBOX = Exposed(
    components=(
        ComponentDefinition(
            name="sharpen",
            doc="Sharpens.",
            exposed=True,
            entry="tools:sharpen",
            outputs={"main": Port(type="Table<Tool>")},
        ),
        *(
            ComponentDefinition(
                name=name,
                exposed=True,
                entry=f"tools:{name}",
                inputs={"in": Port()},
                outputs={"out": Port(type="infer")},
                digest=name,
            )
            for name in ("guess", "puzzle")
        ),
    ),
    types={"Tool@1": TypeEntry(name="Tool", version="1", definition=ROW, doc="A tool.")},
)
"""What another project has deployed for trees."""
TOOLS = {
    "version": 1,
    "nodes": {"some": {"prog": "sharpen@1"}},
    "extract": {"tools": {"from": "some.main", "format": "ndjson"}},
}
GUESSED = {
    "version": 1,
    "nodes": {**TREE["nodes"], "first": {"prog": "guess"}, "second": {"prog": "puzzle"}},  # type: ignore[dict-item]
    "edges": [["some.out", "big.input"], ["big.main", "first.in"], ["first.out", "second.in"]],
    "extract": {"rows": {"from": "second.out", "format": "ndjson"}},
}
TYPES = {"guess": {"outputs": {"out": "Table<{m: bigint}>"}}, "puzzle": {"why": "it reads the global 'day'"}}
"""What workers answer: one type, which is kept, and one that nobody can tell, so that each call asks for it."""
ELSEWHERE = {"reactor state", "reactor dead", "reactor history", "reactor watch", "flow extract", "files", "read"}
"""What needs a live host is compared in test_remote_reactors, what gives bytes in test_remote or test_reading; no Pond
takes files."""
CHANGING = {
    "deploy", "rollback", "promote", "env remove", "run", "tap", "pulse", "wave", "tide", "calm", "clear", "kill",
    "sleep", "wake", "force", "compact", "vacuum", "job run", "job resume", "job kill", "secret set", "secret remove",
    "token create", "token revoke", "reactor fire", "reactor fire-with", "reactor pause", "reactor resume",
    "reactor push", "reactor redrive", "reactor revive", "reactor kill", "reactor sleep", "reactor skip",
    "reactor reset", "flow submit",
    "flow stop", "flow kill", "flow resume",
    "flow cleanup", "pause", "resume", "component rebind", "alert test",
    "backfill start", "backfill show", "backfill pause", "backfill resume", "backfill cancel",
}  # fmt: skip
"""What changes something, and how a backfill goes: tested in test_remote, and in tests/operations."""
OF_FILES = {
    "error", "init", "import-sdp", "test", "warmup", "job graph", "job trace", "job validate", "component manifest",
    "conform control", "conform demand", "conform incremental", "conform reaction",
    "mailbox close", "mailbox health", "mailbox panic",
    "mailbox pop", "mailbox put", "mailbox take", "mailbox wait-stop",
}  # fmt: skip
"""What works with files and sockets of this machine, and asks no ledger."""
OF_THE_MACHINE = {"dev", "worker", "live", "serve", "backup", "restore", "demo"}
"""What works on the machine with the ledger, and says so."""


def verbs(group: click.Group = program, *before: str) -> Iterator[str]:
    """Every verb that the parser knows."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from verbs(found, *before, name)
        else:
            yield " ".join([*before, name])


def test_every_verb_of_the_parser_is_compared_or_said_to_be_something_else() -> None:
    known = [set(READING), ELSEWHERE, CHANGING, OF_FILES, OF_THE_MACHINE]
    assert sorted(verbs()) == sorted(verb for group in known for verb in group)


class Twins:
    """One project: its ledger, which does not move in time, and a server in front of it."""

    def __init__(self, root: Path, world: World, url: str, token: str) -> None:
        self.root, self.world, self.url, self.token = root, world, url, token

    def far(self, *arguments: str) -> list[str]:
        return [*arguments, "--server", self.url, "--token", self.token]

    def post(self, path: str, body: object) -> dict[str, Any]:
        request = Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        request.add_header("Authorization", f"Bearer {self.token}")
        with urlopen(request) as answer:
            return json.loads(answer.read())


@contextmanager
def twins(root: Path) -> Iterator[Twins]:
    root.mkdir()
    (root / "pondage.toml").write_text('[project]\nname = "shop"\n')
    (root / "ponds.py").write_text("from pondage import pond\n\n@pond\ndef visits(spark):\n    return spark.range(3)\n")
    world = World(lambda clock: SqliteDriver(root / ".pondage" / "ledger.db", clock))
    opened: list[Ledger] = []

    def again(*_: object) -> Ledger:
        opened.append(world.open(len(opened) + 2))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.chdir(root)
        patch.setattr(session, "open_ledger", again)
        patch.setattr(workers, "open_ledger", again)
        patch.setattr(dev, "attached", lambda _: nullcontext())
        patch.setattr(doctor, "_checks", lambda *_, **given: [CheckView(check="java", ok=True, detail=str(given))])
        project = load_project(root)
        warehouse = session.local_warehouse(project)
        service = Service(ledger=world.ledger, environment="main", warehouse=warehouse, project=project)
        fill(world, warehouse)
        options = ServeOptions(port=0)
        listening = stack.enter_context(bound(options))
        stack.enter_context(serving(service, options, listening))
        working = workers.FakeWorkers()
        working.types = dict(TYPES)
        stack.enter_context(working.attached(project))
        yield Twins(root, world, f"http://127.0.0.1:{listening.getsockname()[1]}", token_of(world, "admin", "*"))


def fill(world: World, warehouse: Path) -> None:
    """Two Runs with logs, a job that has run, an environment below."""
    world.deploy(pond("orders"), pond("sales", sources={"orders": True}), project="shop")
    for _ in range(2):
        world.send(Pulse(pond="sales@1"))
        world.worker().drain()
        world.pass_time(5)
    deploy_jobs(world.ledger, "main", project="shop", jobs={"nightly": job(TEXT)}, archive=b"")
    start_job(world.ledger, "main", job(TEXT))
    Jobs(world).drain()
    Path("ready.json").write_text(json.dumps(TREE))
    stored, archive = stored_tree(load_project(Path.cwd()), "ready.json", name=None)
    start_job(world.ledger, "main", stored, archive=archive)
    Jobs(world).drain()
    stream(world)
    Path("tools.json").write_text(json.dumps(TOOLS))
    Path("guessed.json").write_text(json.dumps(GUESSED))
    with world.ledger.reading() as tx:
        before = deployed(tx, world.ledger, "main")
    deploy(
        world.ledger, "main", project="tools", definitions=[], removed=[], archive=b"t", summary="{}", expected=before,
        exposed=TOOLBOX,
    )  # fmt: skip
    with world.ledger.transaction() as tx:
        actors.made_environment(tx, "dev")
        files = locate(tx, "main", None).files
    for file in files[1:]:  # the first try said nothing
        place = warehouse / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("2026-05-04T06:00:00+00:00 INFO one line\nanother\n")


def stream(world: World) -> None:
    """A job and a flow with streams: one that has ended, and one that nobody wrote, as after a clean-up."""
    run = Jobs(world)
    nodes = {"t": {"prog": "ticks"}, "s": {"prog": "scan"}}
    extract = {"all": {"from": "s.out", "format": "ndjson"}}
    flow = planned({"version": 1, "nodes": nodes, "edges": [["t.out", "s.in"]], "extract": extract})
    plan = msgspec.structs.replace(flow.plan, name="streaming")
    ticking = PAIR.replace("name: pair", "name: ticking").replace("name: p,", "name: t,").replace("p.out", "t.out")
    for one in (stored_job(plan, PROGRAMS, flow=flow.facts), job(ticking, registry=STREAMS)):
        run.start(one)
        writer = claimed(run, "t")
        put(run, writer, 0, segment("first", rows=1200))
        put(run, writer, 1, segment("second"))
        put(run, writer, 2, END)
        assert finish(run, writer)
        run.drain()


def test_the_streams_of_a_run_are_shown(pair: Twins, capsys: pytest.CaptureFixture[str]) -> None:
    shown = msgspec.json.decode(said(capsys, pair.far("flow", "show", "streaming", "--json")).out)
    told = [{key: value for key, value in one.items() if key != "readers"} for one in shown["flow"]["streams"]]
    assert told == [
        {"component": "t", "port": "out", "state": "ended", "segments": 2, "rows": 1201, "bytes": 20},
        {"component": "s", "port": "out", "state": "deleted", "segments": None, "rows": None, "bytes": None},
    ]
    lines = said(capsys, ["job", "show", "ticking"]).out.split("streams\n")[1].splitlines()
    assert [line.split() for line in lines[:2]] == [
        ["STREAM", "STATE", "SEGMENTS", "ROWS", "SIZE"],
        ["t.out", "ended", "2", "1,201", "20", "B"],
    ]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with twins(tmp_path_factory.mktemp("twins") / "shop") as made:
        yield made


def said(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> Said:
    capsys.readouterr()
    code = main(arguments)
    printed = capsys.readouterr()
    return Said(code, printed.out, printed.err)


@pytest.mark.parametrize("line", [line for lines in READING.values() for line in lines])
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_a_reading_verb_says_the_same_from_near_and_far(
    line: str, more: list[str], pair: Twins, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*split(line), *more]
    near = said(capsys, arguments)
    far = said(capsys, pair.far(*arguments))
    assert near.code == 0, near.err
    assert (far.code, far.out) == (near.code, near.out), far.err
    assert near.out, "something was said"
    if more:
        json.loads(near.out)


@pytest.mark.parametrize(
    "line", ["show nothing", "why sale", "runs nothing", "job show nothing", "env show nothing", "files orders"]
)
def test_what_is_wrong_is_said_the_same_from_near_and_far(
    line: str, pair: Twins, capsys: pytest.CaptureFixture[str]
) -> None:
    near, far = said(capsys, split(line)), said(capsys, pair.far(*split(line)))
    assert near.code == far.code == 1
    assert far.err == near.err


@pytest.mark.parametrize("verb", sorted(OF_THE_MACHINE - {"demo", "restore"}))
def test_a_verb_for_the_machine_with_the_ledger_says_so(
    verb: str, pair: Twins, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {"backup": ["copy.db"]}.get(verb, [])
    far = said(capsys, pair.far(*verb.split(), *more))
    assert far.code == 1
    assert "NOT_REMOTE" in far.err


def test_a_server_asks_workers_for_types_and_plans_with_those_that_are_known(
    pair: Twins, capsys: pytest.CaptureFixture[str]
) -> None:
    far = msgspec.json.decode(said(capsys, pair.far("flow", "check", "guessed.json", "--infer", "--json")).out)
    assert far["unresolved"] == ["second.out"]
    assert far["reasons"] == {"second.out": "it reads the global 'day'"}
    assert far["edges"][2]["type"] == "Table<{m: bigint}>"
    sent = {"text": json.dumps(GUESSED), "name": "guessed"}
    checked = pair.post("/v1/flows/check", sent)
    assert checked["unresolved"] == ["second.out"]
    assert checked["edges"][2]["type"] == "Table<{m: bigint}>", "nobody was asked: the ledger knew it"


def test_types_are_asked_of_code_that_is_sent_or_deployed_and_of_no_other(pair: Twins) -> None:
    question = {"key": "e" * 64, "component": "puzzle", "entry": "ponds:puzzle", "inputs": {"in": ["Table<{a: int}>"]}}
    sent = {"questions": [question], "archive": b64encode(pack_project(load_project(pair.root)).data).decode()}
    assert pair.post("/v1/inferences", sent)["answer"].startswith("q")
    for wrong, code in (
        ({"questions": [question], "code": "f" * 64}, "FOREIGN_CODE"),
        ({"questions": [question], "archive": b64encode(b"no zip").decode()}, "BAD_ARCHIVE"),
        ({**sent, "questions": [{**question, "key": "short"}]}, "BAD_KEY"),
    ):
        with pytest.raises(HTTPError) as caught:
            pair.post("/v1/inferences", wrong)
        assert (caught.value.code, code in caught.value.read().decode()) == (422, True), code


def test_the_views_of_both_are_the_same_objects(pair: Twins, capsys: pytest.CaptureFixture[str]) -> None:
    view = msgspec.json.decode(said(capsys, pair.far("status", "--json")).out)
    assert [each["key"] for each in view["ponds"]] == ["orders@1", "sales@1"]
