"""Hundreds of histories, each from one seed: whatever dies, freezes, lies or races, nothing is lost or done twice.

PONDAGE_HISTORIES says how many.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.histories.scheduler import Fate
from tests.histories.story import Ending, play

SEEDS = int(os.environ.get("PONDAGE_HISTORIES", "500"))
AT_ONCE = 50


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What goes wrong is in the history of a seed; the log would only repeat it."""
    logger = logging.getLogger("pondage")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


def told(failed: list[Ending]) -> str:
    return "\n".join(f"{each}\n  replay: python -m tests.histories --seeds 1 --from {each.seed}" for each in failed)


@pytest.mark.parametrize("first", range(1, SEEDS, AT_ONCE))
def test_nothing_is_lost_and_nothing_is_done_twice(first: int) -> None:
    endings = [play(seed) for seed in range(first, first + AT_ONCE)]
    failed = [ending for ending in endings if ending.violations]
    assert not failed, told(failed)
    # A simulation in which nothing goes wrong proves nothing.
    fates = Counter(fate for ending in endings for fate, count in ending.fates.items() if count)
    assert set(fates) == set(Fate)
    outcomes = {outcome for ending in endings for outcome in ending.outcomes}
    assert {"ok", "failed", "crashed", "released", "cancelled"} <= outcomes


def test_the_same_seed_gives_the_same_history() -> None:
    assert play(7).history == play(7).history
    assert play(7).history != play(8).history
