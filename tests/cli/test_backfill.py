"""What an operator sees of backfills: what one would compute, how far it is, and what became of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.ledger.harness import Worker, World
from tests.ledger.step.test_backfills import DAYS, daily, drain, published


@pytest.fixture
def worker(world: World) -> Worker:
    """The project with `days`, whose table has three of them."""
    return published(world, daily("days"))


def work(world: World, worker: Worker, limit: int = 100) -> None:
    """Do what was asked for; the program goes by the real clock."""
    world.clock.time = max(world.clock.time, time.time_ns() // 1_000)
    drain(world, worker, limit=limit)


def named(call: Call) -> str:
    (first, *_) = call("backfill", "list", "--json").json["backfills"]  # type: ignore[misc]
    return str(first["backfill"])


def test_a_dry_run_says_what_would_be_computed_and_changes_nothing(world: World, worker: Worker, call: Call) -> None:
    said = call("backfill", "days", "--from", DAYS[0], "--to", "2026-03-05", "--chunk", "2d", "--dry-run")
    assert said.code == 0, said.err
    assert "5, 2 of them new, by day" in said.out
    assert "1. 2026-03-05 and 2026-03-04" in said.out
    assert "unknown before the first chunk" in said.out
    plan = call("backfill", "days", "--all", "--dry-run", "--json").json
    assert (plan["partitions"], plan["rows"], plan["new"]) == (3, 3, 0)
    assert world.rows("SELECT id FROM backfills") == []


def test_one_is_begun_followed_and_over(world: World, worker: Worker, call: Call) -> None:
    said = call("backfill", "days", "--all", "--note", "wrong prices")
    assert "computes 3 partitions of days@1 again, in 3 chunks: pondage backfill show b" in said.out
    assert "A chunk of a backfill" in call("why", "days").out
    public_id = named(call)
    work(world, worker, limit=1)
    shown = call("backfill", "show", public_id)
    assert "1 of 3" in shown.out
    assert "--all" in shown.out
    assert "wrong prices" in shown.out
    assert "days@1#2" in shown.out
    work(world, worker)
    assert "completed" in call("backfill", "list").out
    assert "[####################] 3 of 3" in call("backfill", "list").out
    (row,) = world.rows("SELECT verb, target, note FROM audit WHERE verb = 'backfill'")
    assert row["target"] == "days@1"
    assert str(row["note"]).endswith("--all wrong prices")
    assert "time        about" in call("backfill", "days", "--from", DAYS[0], "--to", DAYS[0], "--dry-run").out


def test_it_is_paused_goes_on_and_is_cancelled(world: World, worker: Worker, call: Call) -> None:
    call("backfill", "days", "--all")
    public_id = named(call)
    assert f"is paused: pondage backfill resume {public_id}" in call("backfill", "pause", public_id).out
    assert "goes on: 3 chunks to come" in call("backfill", "resume", public_id).out
    work(world, worker, limit=1)
    assert "is cancelled; 1 chunk of 3 was computed" in call("backfill", "cancel", public_id).out
    said = call("backfill", "resume", public_id)
    assert said.code == 1
    assert "is over: cancelled" in said.err


def test_chunks_that_failed_are_listed_and_tried_again(world: World, worker: Worker, call: Call) -> None:
    call("backfill", "days", "--all")
    work(world, worker, limit=0)
    held = worker.claim()
    assert held is not None
    worker.fail(held)
    work(world, worker)
    shown = call("backfill", "show", named(call))
    assert "1: it went wrong" in shown.out
    assert "try them again: pondage backfill days@1 --failed" in shown.out
    assert "computes 1 partition of days@1 again" in call("backfill", "days", "--failed").out
    work(world, worker)
    assert "no partition of days@1 is meant by --failed" in call("backfill", "days", "--failed").err


def test_what_older_code_has_made_is_found(world: World, worker: Worker, call: Call) -> None:
    world.deploy(daily("days", code="c2"), project="shop")
    call("backfill", "days", "--from", DAYS[2], "--to", DAYS[2])
    work(world, worker)
    plan = call("backfill", "days", "--older-code", "--dry-run", "--json").json
    assert plan["chunks"] == [[[DAYS[1]]], [[DAYS[0]]]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["orders", "--all"], "pondage force orders --full"),
        (["days"], "say --from and --to"),
        (["nobody", "--all"], "nobody"),
        (["days", "--where", "x = 1"], "it may name day"),
        (["show", "b_none"], "pondage backfill list"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_next_command(
    worker: Worker, call: Call, arguments: list[str], words: str
) -> None:
    del worker
    said = call("backfill", *arguments)
    assert said.code == 1
    assert words in said.err


def test_a_deploy_says_what_it_pauses_and_what_older_code_has_made(project: Path, world: World, call: Call) -> None:
    ponds = "from pondage import pond\n@pond(mode='partition', by=['day'])\ndef days(spark):\n    return {n}\n"
    (project / "ponds.py").write_text(ponds.format(n=1))
    world.deploy(removed=("orders@1", "sales@1", "reports@1"), project="shop")
    assert call("deploy").code == 0
    worker = world.worker()
    call("tap", "days")
    work(world, worker)
    call("backfill", "days", "--all")
    public_id = named(call)
    assert "paused" not in call("deploy").out, "nothing of it has changed"
    (project / "ponds.py").write_text(ponds.format(n=2))
    said = call("deploy").out
    assert f"backfill {public_id} of days@1 pauses when the chunk that runs is done: pondage backfill resume" in said
    assert "3 partitions of days@1 were made by older code: pondage backfill days --older-code" in said
    work(world, worker, limit=1)
    assert "because the Pond was deployed with other code" in call("backfill", "show", public_id).out
    (project / "ponds.py").write_text(ponds.format(n=3))
    assert f"backfill {public_id} of days@1 is paused: pondage backfill resume" in call("deploy").out
