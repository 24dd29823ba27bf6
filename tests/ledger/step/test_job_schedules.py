"""A deployed job with a schedule begins by itself, by the ledger's clock; missed times follow `catch_up`."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from pondage.define.pond.definition import ScheduleDefinition
from pondage.ledger.act import removal
from pondage.ledger.act.job_deploys import deploy_jobs
from pondage.ledger.step import advance
from pondage.plan.job.stored_job import StoredJob
from pondage.project.job import load_job
from pondage.views.jobs.jobs import jobs
from tests.ledger.harness import SECOND, World
from tests.ledger.jobs import Jobs, job

NIGHTLY = """
job: {name: nightly}
schedule: {cron: "0 6 * * *"}
components:
  - {name: a, type: source}
"""


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def scheduled(cron: str = "0 6 * * *", *, catch_up: str = "latest") -> StoredJob:
    schedule = ScheduleDefinition(cron=cron, catch_up=catch_up)  # type: ignore[arg-type]
    return msgspec.structs.replace(job(NIGHTLY), schedule=schedule)


def deploy(world: World, *stored: StoredJob, environment: str = "main") -> None:
    deploy_jobs(
        world.ledger, environment, project="p", jobs={one.plan.name: one for one in stored}, archive=b""
    )  # fmt: skip


def begun(world: World) -> list[object]:
    return [
        msgspec.json.decode(str(row["context"]))["scheduled_at"]
        for row in world.rows("SELECT context FROM job_runs WHERE reason = 'scheduled' ORDER BY id")
    ]


def test_a_scheduled_job_begins_at_its_time_and_runs_to_its_end(run: Jobs) -> None:
    world = run.world
    world.clock.time = moment("2026-01-01T00:00:00")
    deploy(world, scheduled())
    world.clock.time = moment("2026-01-01T05:59:59")
    world.pass_time(0)
    assert begun(world) == []
    with world.ledger.reading() as tx:
        assert advance.next_due(tx) == moment("2026-01-01T06:00:00")
    world.pass_time(1)
    assert begun(world) == ["2026-01-01T06:00:00+00:00"]
    assert run.drain() == ["a"]
    assert world.one("SELECT state FROM job_runs") == "OK"
    world.pass_time(1)
    assert len(begun(world)) == 1


@pytest.mark.parametrize(
    ("catch_up", "days"),
    [("none", []), ("latest", ["2026-01-03"]), ("all", ["2026-01-01", "2026-01-02", "2026-01-03"])],
)
def test_missed_times_of_a_job_follow_catch_up(world: World, catch_up: str, days: list[str]) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    deploy(world, scheduled(catch_up=catch_up))
    world.clock.time = moment("2026-01-03T09:00:00")
    world.pass_time(0)
    assert begun(world) == [f"{day}T06:00:00+00:00" for day in days]


def test_a_changed_schedule_counts_from_the_deploy_and_a_removed_job_begins_no_more(world: World) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    deploy(world, scheduled())
    deploy(world, scheduled("30 7 * * *"))
    with world.ledger.reading() as tx:
        (shown,) = jobs(tx, world.ledger, "main").jobs
    assert (shown.schedule, shown.next_at) == ("30 7 * * * (UTC)", moment("2026-01-01T07:30:00"))
    deploy(world)
    world.clock.time = moment("2026-01-05T00:00:00")
    world.pass_time(0)
    assert begun(world) == []
    assert world.rows("SELECT id FROM schedules") == []


def test_an_environment_with_a_scheduled_job_can_be_removed_and_begins_no_more(world: World) -> None:
    world.clock.time = moment("2026-01-01T00:00:00")
    deploy(world, scheduled(), environment="dev")
    removal.remove(world.ledger, "dev")
    world.clock.time = moment("2026-01-05T00:00:00")
    world.pass_time(0)
    assert begun(world) == []
    assert world.rows("SELECT id FROM schedules") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("schedule: {cron: every day}", "fields instead of 5"),
        ('schedule: {cron: "0 6 * * *", tz: Nowhere}', "Nowhere"),
        ('schedule: {cron: "0 6 * * *", catch_up: some}', "is not one of"),
    ],
)
def test_a_schedule_that_means_nothing_is_refused_at_its_place(line: str, said: str) -> None:
    loaded = load_job(NIGHTLY.replace('schedule: {cron: "0 6 * * *"}', line), lambda _name: None, file="job.yaml")
    (problem,) = loaded.problems
    assert problem.code == "SCHEMA"
    assert (problem.path or "").startswith("$.schedule")
    assert said in problem.message
