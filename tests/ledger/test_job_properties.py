"""Random jobs on the ledger: the durable host decides as the simulator does, and a death changes nothing."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import cast

import pytest

from pondage.conform.control_durable import LedgerControlHost
from pondage.kernel.control import JobState
from pondage.kernel.control.effects import EdgeFired
from pondage.kernel.control.events import Start
from pondage.plan.job.planner import PlannedJob
from pondage.simulate.control_drive import Ending, play
from pondage.simulate.control_host import ControlHost
from pondage.simulate.control_virtual import VirtualControlHost
from tests.kernel.control.random_jobs import behaviour, random_plan
from tests.ledger.mortal_jobs import MortalControlHost

MANY = int(os.environ.get("PONDAGE_RANDOM_JOBS", "1"))


def plans(first: int, count: int) -> list[tuple[int, PlannedJob]]:
    found = ((seed, random_plan(seed)) for seed in range(first, first + count * MANY))
    return [(seed, planned) for seed, planned in found if planned is not None]


def story(host: ControlHost, planned: PlannedJob, seed: int) -> list[object]:
    """Play a job that may fail, and when it failed, resume it repaired; answer everything that was seen."""
    seen: list[object] = []
    for fails in (0.25, 0.0):
        behave = cast("Callable[[str, int], Ending]", behaviour(seed, 1, fails=fails))
        run = play(host, planned.plan, behave, start=Start(second=1), is_resumed=bool(seen))
        fired = sorted((one.source, one.label, one.target) for _, one in run.effects if isinstance(one, EdgeFired))
        seen += [run.timeline, run.state, run.code, dict(host.states()), dict(host.globals()), fired]
        if run.state is not JobState.ERROR:
            break
    host.close()
    return seen


@pytest.mark.parametrize("chunk", range(6))
def test_the_durable_host_decides_as_the_simulator_does_and_repaired_runs_resume_to_ok(chunk: int) -> None:
    resumed = 0
    for seed, planned in plans(10_000 + 1_000 * chunk, 12):
        expected = story(VirtualControlHost(), planned, seed)
        assert story(LedgerControlHost(), planned, seed) == expected, seed
        if len(expected) > 6:
            resumed += 1
            assert expected[7] is JobState.OK, seed
    assert resumed > 0


@pytest.mark.parametrize("chunk", range(4))
def test_a_death_at_every_transaction_boundary_changes_nothing(chunk: int) -> None:
    for seed, planned in plans(20_000 + 1_000 * chunk, 2):
        unharmed = MortalControlHost({})
        expected = story(unharmed, planned, seed)
        order = list(range(1, unharmed.mortal.seen + 1))
        random.Random(seed).shuffle(order)
        # Every boundary dies in one of these plays, on one side of the commit and on the other.
        for is_committed in (False, True):
            for start in range(0, len(order), 12):
                deaths = dict.fromkeys(order[start : start + 12], is_committed)
                host = MortalControlHost(deaths)
                assert story(host, planned, seed) == expected, (seed, deaths)
                assert host.died > 0


def test_the_recorded_steps_give_the_stored_rows() -> None:
    for seed, planned in plans(30_000, 10):
        host = MortalControlHost({})
        behave = cast("Callable[[str, int], Ending]", behaviour(seed, 1, fails=0.25))
        play(host, planned.plan, behave, start=Start(second=1))
        assert host.replayed() == (), seed
        host.close()
