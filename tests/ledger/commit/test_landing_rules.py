"""Random histories of files that land, on the ledger with workers without Spark, against what the files alone say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ledger.commit.landing import Fate, Landing
from tests.ledger.harness import MakeDriver

SEQUENCES = int(os.environ.get("PONDAGE_LANDING_ON_LEDGER", "12"))
FATES: list[Fate] = ["finish", "finish", "finish", "crash", "zombie"]


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_every_file_is_taken_as_often_as_it_was_meant_to_be_whoever_dies(
    make_driver: MakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    landing = Landing(make_driver, tmp_path, seed, monkeypatch)
    landing.land()
    landing.ask()
    landing.take_all()
    has_forgotten = False
    for _ in range(12):
        for _ in range(landing.chance.randrange(5)):
            landing.land()
        step = landing.chance.choice(["ask", "ask", "ask", "forget", "back", "force"])
        if step == "forget":
            landing.forget()
            # A wish that was granted after the moment that a rollback goes back to counts again.
            has_forgotten = True
        elif step == "back" and not has_forgotten:
            landing.go_back()
        elif step == "force":
            landing.force()
            has_forgotten = True
        landing.ask(FATES)
        # What landed after somebody's decision, or changed since, is for the next one.
        landing.ask()
        landing.take_all()
        assert landing.table == +landing.state.rows
