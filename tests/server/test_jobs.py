"""Jobs over HTTP: started, killed, gone on with, and seen in the feed."""

import re

from pondage.ledger.act.job_deploys import deploy_jobs
from pondage.views.installation import feed as views
from tests.ledger.harness import World
from tests.ledger.jobs import Jobs, job
from tests.server.conftest import As

TEXT = """
job: {name: nightly}
components:
  - {name: read, type: source}
  - {name: load, type: sink}
connections:
  data: [read.main -> load.input]
"""


def test_a_deployed_job_is_started_killed_and_resumed_and_each_is_audited(client: As, world: World) -> None:
    deploy_jobs(world.ledger, "main", project="shop", jobs={"nightly": job(TEXT)}, archive=b"")
    asking = client("operate")
    with world.ledger.reading() as tx:
        seq = views.snapshot(tx, world.ledger, "main").seq
    started = asking.post("/v1/jobs/nightly/runs", {"note": "by hand"})
    assert started.status == 202, started.data
    run = started.json["run"]
    with world.ledger.reading() as tx:
        found = views.changes(tx, world.ledger, "main", after=seq, seen=views.Seen())
    assert found is not None
    assert [each.id for each in found[0].runs] == [run]
    for _ in range(2):
        asking.post(f"/v1/jobs/runs/{run}/kill", {"note": "too late"})
    assert asking.get(f"/v1/jobs/runs/{run}").json["run"]["state"] == "ABORTED"
    assert asking.post(f"/v1/jobs/runs/{run}/kill", {}).status == 409
    again = asking.post(f"/v1/jobs/runs/{run}/resume", {})
    assert again.status == 202, again.data
    Jobs(world).drain()
    assert asking.get(f"/v1/jobs/runs/{again.json['run']}").json["run"]["state"] == "OK"
    with world.ledger.reading() as tx:
        said = [(row["verb"], row["note"]) for row in tx.rows("SELECT verb, note FROM audit ORDER BY id")]
    assert ("job run", "by hand") in said
    assert ("job kill", "too late") in said
    assert ("job resume", run) in said


def test_the_numbers_of_jobs_and_queues_are_those_of_the_rows(client: As, world: World) -> None:
    deploy_jobs(world.ledger, "main", project="shop", jobs={"nightly": job(TEXT)}, archive=b"")
    asking = client("operate")
    run = asking.post("/v1/jobs/nightly/runs", {}).json["run"]
    world.pass_time(7)
    waiting = asking.get("/metrics").data.decode()
    assert re.search(r'pondage_queue_oldest_seconds{queue="\d+",pool="[^"]*",component="[^"]*"} 7$', waiting, re.M)
    for _ in range(2):
        asking.post(f"/v1/jobs/runs/{run}/kill", {})
    asking.post(f"/v1/jobs/runs/{run}/resume", {})
    world.pass_time(3)
    Jobs(world).drain()
    said = asking.get("/metrics").data.decode()
    assert 'pondage_component_runtime_seconds_count{component="read"} 1' in said
    assert 'pondage_component_runtime_seconds_sum{component="read"}' in said
    assert 'pondage_job_edges_fired{job="nightly"}' in said
    assert re.search(r'pondage_job_checkpoint_bytes{job="nightly"} [1-9]', said)
    assert 'pondage_job_resume_seconds{job="nightly"} 3' in said
    view = asking.get("/v1/jobs/runs/nightly").json
    assert f'pondage_job_edges_fired{{job="nightly"}} {view["metrics"]["edges_fired"]}' in said
