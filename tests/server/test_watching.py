"""What people watch over: the timeline, the open work and why it waits, the audit, the plan of a run of a job."""

from pathlib import Path

import pytest

from pondage.cli.main import main
from pondage.kernel.demand.events import Kill, Pulse
from pondage.ledger.act import jobs, verbs
from pondage.ledger.tables.history import Caller
from tests.ledger.harness import SECOND, World, pond
from tests.ledger.jobs import Jobs, job
from tests.server.conftest import As

TEXT = """
job: {name: nightly}
components:
  - {name: read, type: source}
  - {name: load, type: sink}
  - {name: repair, type: task}
connections:
  data: [read.main -> load.input]
  control: [load (error) repair]
"""


def test_the_timeline_has_what_overlaps_it_and_nothing_else(client: As, world: World) -> None:
    world.send(Pulse(pond="orders@1"))
    world.worker().drain()
    world.pass_time(3600)
    began = world.clock.time
    world.send(Pulse(pond="orders@1"))
    held = world.worker(pid=2).claim()
    assert held is not None
    run = jobs.start_job(world.ledger, "main", job(TEXT))
    world.clock.time += 5 * SECOND
    said = client("read").get(f"/v1/timeline?since={began}").json
    assert [(span["lane"], span["kind"], span["end"]) for span in said["spans"]] == [
        ("nightly", "job", None),
        ("orders@1", "pond", None),
    ]
    assert said["spans"][0]["id"] == run
    assert "pulse" in {moment["kind"] for moment in said["moments"]}
    whole = client("read").get("/v1/timeline?since=0").json
    assert len([span for span in whole["spans"] if span["lane"] == "orders@1"]) == 2
    assert client("read").get(f"/v1/timeline?since=0&until={10**15 * 9}").json["code"] == "TOO_LONG"


def test_open_work_says_who_holds_it_or_what_it_waits_for(client: As, world: World) -> None:
    world.deploy(pond("learned", labels=("gpu",)), project="other")
    worker = world.worker()
    world.send(Pulse(pond="orders@1"))
    world.send(Pulse(pond="learned@1"))
    held = worker.claim()
    assert held is not None
    said = client("read").get("/v1/work").json
    claimed, waiting = said["work"]
    assert (claimed["node"], claimed["process"], claimed["waits"]) == ("orders", said["processes"][0]["id"], "")
    assert (waiting["subject"], waiting["process"]) == ("learned@1", None)
    assert waiting["waits"] == "no worker has the label gpu"


def test_work_waits_for_a_slot_in_the_order_of_the_queue(client: As, world: World) -> None:
    world.deploy(pond("a"), pond("b"), project="other")
    worker = world.worker()
    for name in ("orders", "a", "b"):
        world.send(Pulse(pond=f"{name}@1"))
    assert worker.claim() is not None
    waits = [each["waits"] for each in client("read").get("/v1/work").json["work"] if each["process"] is None]
    assert waits == ["every slot is taken; it is next", "every slot is taken; 1 before it"]


def test_without_a_worker_everything_waits_for_one(client: As, world: World) -> None:
    world.send(Pulse(pond="orders@1"))
    assert [each["waits"] for each in client("read").get("/v1/work").json["work"]] == ["no worker runs: pondage dev"]


def test_the_audit_is_read_page_by_page_and_by_verb(client: As, world: World) -> None:
    for number in range(5):
        verbs.send(world.ledger, "main", Pulse(pond="orders@1"), by=Caller("anna", f"the {number}th"))
    verbs.send(world.ledger, "main", Kill(pond="orders@1"), by=Caller("bert", "enough"))
    asking = client("read")
    first = asking.get("/v1/audit?limit=2").json
    assert [(line["who"], line["verb"], line["note"]) for line in first["lines"]] == [
        ("bert", "kill", "enough"),
        ("anna", "pulse", "the 4th"),
    ]
    assert first["has_more"]
    rest = asking.get(f"/v1/audit?limit=3&before={first['lines'][-1]['id']}").json
    assert [line["note"] for line in rest["lines"]] == ["the 3th", "the 2th", "the 1th"]
    only = asking.get("/v1/audit?verb=kill&target=orders@1").json
    assert [line["verb"] for line in only["lines"]] == ["kill"]
    assert not only["has_more"]


def test_the_plan_of_a_job_run_has_data_with_types_and_control(client: As, world: World) -> None:
    run = Jobs(world).start(job(TEXT))
    said = client("read").get(f"/v1/jobs/runs/{run}/graph").json
    assert [node["name"] for node in said["nodes"]] == ["read", "load", "repair"]
    assert said["edges"] == [
        {"source": "read", "target": "load", "kind": "data", "label": "main → input", "type": "Table<Any>"},
        {"source": "load", "target": "repair", "kind": "error", "label": "error", "type": ""},
    ]
    assert client("read").get("/v1/jobs/runs/nothing/graph").status == 404


def test_the_logs_of_a_run_of_a_job_are_found_by_its_id(client: As, world: World, tmp_path: Path) -> None:
    doing = Jobs(world)
    run = doing.start(job(TEXT))
    assert client("read").get(f"/v1/logs?subject={run}").json["lines"] == []
    held = doing.claim()
    assert held is not None
    place = tmp_path / "logs" / run
    place.mkdir(parents=True)
    file = place / f"{held.claim.dispatch}-{held.claim.epoch}.log"
    file.write_text("2026-11-16T00:00:00.000000Z INFO reading 3 files\n")
    said = client("read").get(f"/v1/logs?subject={run}").json
    assert [(line["text"], line["ripple"], line["pond"]) for line in said["lines"]] == [
        ("reading 3 files", "read", "nightly")
    ]


def test_a_simulation_that_was_kept_is_listed_and_read_with_its_runs(
    client: As, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pondage.toml").write_text('[project]\nname = "shop"\nledger = "ledger.db"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "--for", "10m", "--tide", "reports=1m", "--save", "a quiet day"]) == 0
    asking = client("read")
    (line,) = asking.get("/v1/simulations").json["simulations"]
    assert (line["name"], line["triggers"]) == ("a quiet day", ["tide reports@1 1 min"])
    said = asking.get(f"/v1/simulations/{line['id']}").json
    assert {span["lane"] for span in said["spans"]} == {"orders@1", "sales@1", "reports@1"}
    assert all(line["start"] <= span["start"] <= span["end"] for span in said["spans"])
    assert asking.get("/v1/simulations/999").json["code"] == "NO_SAVED"
    assert asking.get("/v1/simulations/x").status == 404
