"""`pondage simulate` on a log of reads: what would it save to follow the readers?"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from pondage.kernel.demand.events import Follow, Tide, Wave
from pondage.kernel.demand.shape import PondKey
from pondage.ledger.act import questions
from pondage.ledger.act.shown_tables import Reader
from pondage.ledger.tables.read_log import ReadLog
from pondage.simulate.policies import CronHost
from pondage.simulate.whatif import Question, play, play_pondage
from tests.cli.conftest import Call
from tests.ledger.harness import SECOND, World
from tests.simulate.pipelines import chain
from tests.simulate.test_verb import view

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
MONDAY = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp()) * SECOND


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three weeks of somebody who reads from nine to five on workdays, as `pondage readers --json` says it."""
    reads = [
        {"pond": "reports@1", "minute": MONDAY // MINUTE + day * 1_440 + hour * 60, "door": "query", "reader": "ada"}
        for day in range(19)
        if day % 7 < 5
        for hour in range(9, 17)
    ]
    reads.append({"pond": "gone@1", "minute": MONDAY // MINUTE + 5, "door": "query", "reader": "ada"})
    path = tmp_path / "reads.json"
    path.write_bytes(msgspec.json.encode({"environment": "main", "at": 0, "reads": reads}))
    return path


def test_a_tide_that_follows_the_reads_of_a_file_stands_beside_the_same_that_never_rests(
    world: World, call: Call, log: Path
) -> None:
    found = view(call, "--reads", str(log), "--while-read", "reports=30m", "--duration", "reports=5m")
    assert found.triggers == ("tide reports@1 30 min, while it is read", "a trace of 120 consumptions")
    assert found.start == MONDAY + 9 * HOUR, "it begins with the first read of a Pond that there is"
    assert found.length_us == (18 * 24 + 7) * HOUR + MINUTE
    assert found.others[0].policy == "never at rest"
    assert found.pondage.spent_us < found.others[0].spent_us * 0.6, "a week awake, then nights and a weekend at rest"
    assert found.pondage.consumed is not None
    assert found.pondage.consumed.unanswered == 0


def test_the_log_of_this_ledger_is_played_and_the_standing_triggers_follow_it(world: World, call: Call) -> None:
    said = call("simulate", "--from-log")
    assert said.code == 1
    assert "error[NO_READS]" in said.err
    world.ledger.reads = ReadLog(world.ledger.transaction, pause=lambda _: True)
    world.clock.time = time.time_ns() // 1_000 - 4 * HOUR  # the verb has a clock of its own, that of this machine
    world.send(Tide(pond=PondKey("orders@1"), limit=30 * MINUTE))
    world.worker().drain()
    for _ in range(3):
        reader = Reader("ada", "query")
        names = frozenset({"orders"})
        questions.submit(world.ledger, "main", "select 1 from orders", limit=1, tables=names, reader=reader)
        world.clock.time += 40 * MINUTE
    world.ledger.reads.flush()
    found = view(call, "--from-log", "--for", "3h")
    assert found.triggers == ("tide orders@1 30 min, while it is read", "a trace of 3 consumptions")
    assert found.others[0].policy == "never at rest"


def test_a_wave_that_rests_is_among_the_standing_triggers(world: World, call: Call) -> None:
    world.send(Wave(pond=PondKey("reports@1"), follow=Follow(is_resting=True)))
    assert view(call, "--for", "1m").triggers == ("wave reports@1",)
    assert view(call, "--for", "1m").notes == ()


@pytest.mark.parametrize("text", ["", "[]", '{"reads": [{"pond": "reports@1"}]}'])
def test_a_file_that_is_no_log_of_reads_is_refused(world: World, call: Call, tmp_path: Path, text: str) -> None:
    (tmp_path / "no.json").write_text(text)
    said = call("simulate", "--reads", str(tmp_path / "no.json"))
    assert (said.code, "error[BAD_TRACE]" in said.err, "pondage readers" in said.err) == (1, True, True)
    said = call("simulate", "--while-read", "reports")
    assert "error[BAD_OPTION]" in said.err


def test_whoever_reads_at_rest_waits_for_the_run_that_he_asked_for_and_not_for_ever() -> None:
    pipeline = chain(600)
    key = pipeline.outlets[0]
    start = MONDAY
    standing = [(start, Tide(pond=key, limit=30 * MINUTE, follow=Follow(is_resting=True)))]
    trace = [(start + HOUR, key, "read"), (start + HOUR + 5 * MINUTE, key, "read"), (start + 2 * HOUR, key, "read")]
    question = Question(pipeline=pipeline, start=start, length=4 * HOUR, actions=standing, trace=trace)
    consumed = play_pondage(question).figures.consumed
    assert consumed is not None
    assert consumed.worst_wait_us == 10 * MINUTE
    assert consumed.mean_wait_us == 5 * MINUTE, "ten minutes, five minutes, and none"


def test_a_crontab_for_office_hours_has_no_rounds_outside_of_them() -> None:
    pipeline = chain(60, 60)
    question = Question(pipeline=pipeline, start=MONDAY, length=24 * HOUR)

    def is_office(at: int) -> bool:
        return 9 * HOUR <= at - MONDAY < 17 * HOUR

    played = play("cron", question, CronHost(HOUR, within=is_office))
    starts = [run.start - MONDAY for run in played.recorder.runs[pipeline.order[0]]]
    assert starts == [hour * HOUR for hour in range(9, 17)]
