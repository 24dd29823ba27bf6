"""The example trees on two machines that share a PostgreSQL: one serves chosen programs, the other the rest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pondage.cli.main import main
from pondage.ledger.tables import api_tokens
from pondage.server.app import make_app
from pondage.server.call import Service
from tests.server.client import Client
from tests.services.machines import ROOT, Cluster, Machine, cluster
from tests.services.postgres import PostgresServer

pytestmark = pytest.mark.spark
SETTINGS = '[spark]\nmaster = "local[1]"\nmemory = "700m"\n[worker]\nworkers = 1\nslots = 2\n'
CHOSEN = ("ask_shop", "keep_newest")
"""What the first machine serves; the rest is what the library brings."""
REST = ("aggregate", "check_rows", "collect_errors", "const", "dedupe", "filter", "ignore_errors", "read_csv", "union")


@pytest.fixture
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The author's folder, which no machine sees."""
    root = tmp_path / "author" / "flows"
    shutil.copytree(ROOT / "examples" / "flows", root)
    monkeypatch.chdir(root)
    return root


def submit(made: Cluster, author: Path, *trees: str) -> list[str]:
    text = (author / "pondage.toml").read_text()
    head = f'name = "flows"\nledger = "{made.url}"\nwarehouse = "{made.warehouse}"\n'
    text = text.replace('name = "flows"\n', head).replace('landing = "data"', f'landing = "{author / "data"}"')
    (author / "pondage.toml").write_text(text)
    for tree in trees:
        assert main(["flow", "submit", f"flows/{tree}.json", "--name", tree]) == 0
    return [str(row["public_id"]) for row in made.rows("SELECT public_id FROM job_runs ORDER BY id")]


def served(made: Cluster) -> Client:
    """A server that has none of the author's files."""
    with made.ledger.transaction() as tx:
        token = api_tokens.create(tx, made.ledger.ids, name="anybody", level="operate", environments=("main",))[0]
    return Client(make_app(Service(ledger=made.ledger, environment="main", warehouse=made.warehouse)), token)


def submit_over_http(asking: Client, tree: Path) -> str:
    checked = asking.post("/v1/flows/check", {"text": tree.read_text()}).json
    assert checked["ok"], checked
    return str(asking.post("/v1/flows", {"tree": json.loads(tree.read_text()), "name": tree.stem}).json["run"])


def served_by(made: Cluster, machine: Machine) -> set[str]:
    """The components that a machine's workers have carried out."""
    return {
        str(row["components"])
        for row in made.rows(
            f"""SELECT DISTINCT q.components FROM executions e JOIN processes p ON p.id = e.process
                JOIN dispatches d ON d.id = e.dispatch JOIN queues q ON q.id = d.queue
                WHERE e.outcome = 'ok' AND p.labels = '{machine.name}'"""
        )
    }


def test_example_flows_run_on_two_workers_that_share_postgresql(
    postgres: PostgresServer, tmp_path: Path, author: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with cluster(postgres, tmp_path, SETTINGS, is_plain=False) as made:
        runs = submit(made, author, "cleaning", "handled")
        assert main(["deploy"]) == 0
        asking = served(made)
        runs.insert(1, submit_over_http(asking, author / "flows" / "newest.json"))
        north, south = made.add("north", "south")
        north.start("--labels", "north", *(word for name in CHOSEN for word in ("--component", name)))
        south.start("--labels", "south", *(word for name in REST for word in ("--component", name)))
        for run in runs:
            assert main(["flow", "watch", run]) == 0
        capsys.readouterr()
        states = made.rows("SELECT job, state FROM job_runs ORDER BY id")
        assert [row["state"] for row in states] == ["OK"] * 3, states
        assert served_by(made, north) == {"ask_shop", "keep_newest"}
        assert served_by(made, south) >= {"check_rows read_csv", "union"}
        assert main(["flow", "extract", runs[2], "offers", "-o", "offers.csv"]) == 0
        assert (author / "offers.csv").read_text() == "id,price\n1,9.5\n"
        people = asking.get(f"/v1/flows/{runs[1]}/extracts/people").data.splitlines()
        assert sorted(json.loads(line)["name"] for line in people) == ["Ada Lovelace", "Grace"]
        assert main(["flow", "extract", runs[0], "errors", "-o", "errors.ndjson"]) == 0
        codes = [json.loads(line)["code"] for line in (author / "errors.ndjson").read_text().splitlines()]
        assert sorted(codes) == ["NEGATIVE", "NO_REGION"]
        for machine in (north, south):
            machine.ask_to_end()
        assert [machine.wait_ended() for machine in (north, south)] == [0, 0]
