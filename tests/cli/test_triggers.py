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
        (["calm", "reports"], "is calm; it is idle: nobody asks for it"),
        (["clear", "reports"], "was cleared; it is idle"),
        (["wake", "reports"], "was woken; it is idle"),
        (["force", "reports"], "is forced; it is idle"),
        (["kill", "reports"], "was killed; it is killed: stays killed until: pondage clear reports"),
        (["sleep", "reports", "--upstream"], "sleeps; it is idle"),
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
