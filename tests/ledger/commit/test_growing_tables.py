"""Tables that grow: whatever happens, a Pond shows what a computation from scratch would give."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from tests.ledger.commit.growing import Growing

SEQUENCES = int(os.environ.get("PONDAGE_GROWING_SEQUENCES", "60"))
CHUNK = 20


@pytest.mark.parametrize("chunk", range(max(1, SEQUENCES // CHUNK)))
def test_followed_tables_equal_those_computed_from_scratch(
    driver_factory: Callable[[str, FakeClock], Driver], chunk: int
) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        growing = Growing(lambda clock, seed=seed: driver_factory(f"growing{seed}", clock), seed)
        try:
            for _ in range(30):
                growing.step()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        finally:
            growing.world.ledger.close()
