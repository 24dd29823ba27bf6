import json
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.ledger.harness import World, state


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tap", "reports"], "was tapped; it is queued: waits for sales"),
        (["pulse", "reports"], "was pulsed; it is queued: waits for sales"),
        (["wave", "reports"], "has a Wave; it is queued"),
        (["tide", "reports", "15m"], "has Tide 'tide'"),
        (["wave", "reports", "--pacing", "just-in-time"], "has a Wave, just in time; it is queued"),
        (["pulse", "reports", "--at", "5m"], "was pulsed; it is queued: waits for sales"),
        (["calm", "reports"], "had neither Wave nor Tide; it is idle: nobody asks for it"),
        (["clear", "reports"], "had nothing to clear; it is idle"),
        (["wake", "reports"], "its Sources have nothing newer: it does not run; it is idle"),
        (["force", "reports"], "cannot be forced: its Sources have never published"),
        (["force", "orders"], "is forced; it is queued"),
        (["kill", "reports"], "was killed; it is killed: stays killed until: pondage clear reports"),
        (["sleep", "reports"], "sleeps; it is idle"),
        (["sleep", "reports", "--upstream"], "sleeps, and so does everything above it; it is idle"),
    ],
)
def test_a_verb_says_what_follows_from_it(world: World, call: Call, arguments: list[str], words: str) -> None:
    said = call(*arguments)
    assert said.code == 0, said.err
    assert words in said.out
    assert "pondage dev" in said.out  # no process runs in this test


def test_what_was_sent_is_in_the_machine(world: World, call: Call) -> None:
    call("wave", "reports", "--just-in-time")
    call("tide", "reports", "1m", "--name", "fast")
    assert state(world, "reports@1")["wave"] == "just_in_time"
    assert state(world, "reports@1")["tides"] == {"fast": 60_000_000}
    call("calm", "reports", "--name", "wave")
    assert state(world, "reports@1")["wave"] is None
    assert state(world, "reports@1")["tides"] == {"fast": 60_000_000}


def test_a_tide_that_follows_its_readers_is_shown_and_explained(world: World, call: Call) -> None:
    given = call("tide", "reports", "15m", "--while-read", "--tz", "Europe/Berlin", "--sure", "0.5", "--resting")
    assert "has Tide 'tide' of 15 min while it is read" in given.out
    following = state(world, "reports@1")["following"]["tide"]
    assert (following.tz, following.sure) == ("Europe/Berlin", 32_768)
    assert "tide 15 min (resting" in call("status", "--once").out
    ponds = json.loads(call("status", "--once", "--json").out)["ponds"]
    (awake,) = [each["triggers"][0]["awake"] for each in ponds if each["name"] == "reports"]
    assert awake == {"is_awake": False, "until": None, "expected": None, "tz": "Europe/Berlin"}
    why = call("why", "reports").out
    assert "Its tide is resting: nobody has read it on " in why
    assert "it wakes as soon as somebody reads" in why
    call("wave", "reports", "--while-read")
    assert "wave (awake until " in call("status", "--once").out.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--tz", "Europe/Berlin"], "BAD_OPTION"),
        (["--resting"], "BAD_OPTION"),
        (["--while-read", "--tz", "Moon/Crater"], "BAD_ZONE"),
        (["--while-read", "--sure", "0"], "BAD_SETTING"),
        (["--while-read", "--sure", "1.5"], "BAD_SETTING"),
    ],
)
def test_what_is_said_of_readers_is_checked(world: World, call: Call, options: list[str], code: str) -> None:
    for verb in (["tide", "reports", "15m"], ["wave", "reports"]):
        said = call(*verb, *options)
        assert said.code == 1
        assert f"error[{code}]" in said.err
    assert state(world, "reports@1")["following"] == {}


def test_several_ponds_are_told_at_once_or_none(world: World, call: Call) -> None:
    assert call("pulse", "orders", "slaes").code == 1
    assert state(world, "orders@1")["targets"] == []
    assert len(call("pulse", "orders", "sales").out.splitlines()) == 2


def test_a_limit_that_is_no_duration_is_refused_with_an_example(world: World, call: Call) -> None:
    said = call("tide", "reports", "often")
    assert said.code == 1
    assert "error[BAD_DURATION]" in said.err
    assert '"15m"' in said.err


def test_a_verb_without_a_deploy_says_what_to_type(project: Path, call: Call) -> None:
    said = call("pulse", "reports")
    assert said.code == 1
    assert "try: pondage deploy" in said.err


def drain(world: World) -> None:
    """Do all work, at the time that the program reads from the system's clock."""
    world.clock.time = time.time_ns() // 1000
    world.worker().drain()


def test_calm_names_what_it_took_away_and_what_else_there_is(world: World, call: Call) -> None:
    call("wave", "reports")
    call("tide", "reports", "1m", "--name", "fast")
    assert "has nothing of that name: it has wave, fast" in call("calm", "reports", "--name", "slow").out
    assert "is calm (fast taken away)" in call("calm", "reports", "--name", "fast").out
    assert "is calm (wave taken away)" in call("calm", "reports").out


def test_a_trigger_is_paused_and_resumed_by_its_name_and_seen_so(world: World, call: Call) -> None:
    call("wave", "reports")
    call("tide", "reports", "1m", "--name", "fast")
    assert "reports@1 asks no more by fast; " in call("pause", "reports", "fast").out
    assert "wave, tide 1 min (paused)" in " ".join(call("status", "--once").out.split())
    (pond,) = [each for each in call("status", "--json").json["ponds"] if each["name"] == "reports"]
    triggers = {each["name"]: each["paused_by"] for each in pond["triggers"]}
    assert triggers == {"wave": None, "fast": "pause"}
    said = call("why", "reports").out
    assert "Paused is fast: it asks for nothing until resumed." in said
    assert "pondage resume reports" in said
    assert "asks no more by wave and fast" in call("pause", "reports").out
    assert "asks again by wave and fast" in call("resume", "reports").out
    assert "had nothing paused" in call("resume", "reports").out
    with world.ledger.reading() as tx:
        told = [(str(row["verb"]), str(row["note"])) for row in tx.rows("SELECT verb, note FROM audit ORDER BY id")]
    assert [each for each in told if each[0] in ("pause", "resume")] == [
        ("pause", "fast"), ("pause", ""), ("resume", ""), ("resume", "")
    ]  # fmt: skip


def test_a_trigger_that_is_not_there_cannot_be_paused(world: World, call: Call) -> None:
    said = call("pause", "reports")
    assert "error[NO_TRIGGER]" in said.err
    assert "pondage wave reports" in said.err
    call("tide", "reports", "1m", "--name", "fast")
    said = call("resume", "reports", "slow")
    assert said.code == 1
    assert "has no standing trigger called 'slow'" in said.err
    assert "it has fast" in said.err


def test_a_killed_pond_takes_no_demand_and_says_so(world: World, call: Call) -> None:
    call("kill", "sales")
    assert "took no new demand, because it is killed" in call("tap", "sales").out
    assert "took no new demand, because it is blocked" in call("pulse", "reports").out
    assert "had nothing to clear: the Pond that blocks it is above" in call("clear", "reports").out
    assert "sales@1 was cleared" in call("clear", "sales").out


def test_a_kill_and_a_force_may_say_why(world: World, call: Call) -> None:
    call("kill", "sales", "--note", "wrong prices")
    call("force", "orders", "--note", "again")
    with world.ledger.reading() as tx:
        notes = {str(row["verb"]): str(row["note"]) for row in tx.rows("SELECT verb, note FROM audit")}
    assert (notes["kill"], notes["force"]) == ("wrong prices", "again")


def test_a_pulse_for_what_is_there_already_runs_nothing(world: World, call: Call) -> None:
    call("pulse", "orders")
    drain(world)
    assert "is as fresh as that already; it is idle" in call("pulse", "orders", "--at", "1h").out


@pytest.mark.parametrize(("when", "code"), [("tomorrow", "BAD_MOMENT"), ("2999-01-01T00:00+02:00", "IN_THE_FUTURE")])
def test_a_moment_that_cannot_be_is_refused(world: World, call: Call, when: str, code: str) -> None:
    said = call("pulse", "orders", "--at", when)
    assert said.code == 1
    assert f"error[{code}]" in said.err


def test_a_pond_is_woken_when_its_sources_are_ahead(world: World, call: Call) -> None:
    call("pulse", "orders")
    drain(world)
    assert "sales@1 was woken; it is queued" in call("wake", "sales").out
    assert "is forced, as soon as the Run that is active has ended" in call("force", "sales").out
