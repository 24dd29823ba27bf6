"""The real journal under crashes and lost answers: nothing acknowledged is lost, nothing is committed twice."""

from __future__ import annotations

import os

import pytest

from pondage.engine.live import journal as journal_module
from pondage.kernel.reaction import Effect
from pondage.kernel.reaction.effects import Log
from tests.engine.live.mortal import FAULTS, FaultyWorld
from tests.kernel.reaction.fuzz import Oracle, random_scenario

DEPTH = int(os.environ.get("PONDAGE_REACTOR_DEPTH", "1"))
"""How much deeper than usual to look: `docs/reactors.md` names it."""


def played(seed: int, fault: str = "", struck: int | None = None, *, crashes: bool = False) -> FaultyWorld:
    scenario = random_scenario(seed, crashes=crashes)
    scenario.until = 20_000
    world = FaultyWorld(scenario, fault, struck)
    try:
        world.play()
        Oracle(world, world.faulty).check()  # type: ignore[arg-type]
    finally:
        world.host.close()
    return world


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(2 * DEPTH))
def test_a_fault_at_every_commit_loses_nothing_and_commits_nothing_twice(seed: int, fault: str) -> None:
    commits = played(seed).faulty.commits
    for struck in range(1, commits + 1, max(1, commits // (12 * DEPTH))):
        played(seed, fault, struck)


@pytest.mark.parametrize("block", range(3))
def test_random_worlds_with_crashes_keep_every_invariant_on_a_real_journal(block: int) -> None:
    for seed in range(100 * block, 100 * block + 8 * DEPTH):
        played(seed, crashes=True)


def test_the_full_state_stands_for_everything_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "FULL_EVERY", 7)
    for seed in range(6):
        scenario = random_scenario(seed)
        scenario.until = 20_000
        world = FaultyWorld(scenario)
        world.play()
        journal = world.faulty.file
        assert journal is not None
        assert len(journal.read().blobs) < max(8, world.faulty.commits)
        world.host.close()


def test_an_acknowledgement_before_the_commit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def perform_at_once(self: journal_module.JournalOutput, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Log):
                self._log(effect.record)
            else:
                self._pump.perform(effect)

    monkeypatch.setattr(journal_module.JournalOutput, "take", perform_at_once)
    with pytest.raises(AssertionError):
        _played_often()


def _played_often() -> None:
    for seed in range(40):
        for struck in (5, 9, 15, 25):
            played(seed, "dies before", struck)
