"""The short form of `make chaos`: every fault once on each database, and the controls, which must be caught."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.__main__ import told
from tests.chaos.matrix import CONTROLS, FAULTS
from tests.chaos.running import Fault, run
from tests.services.postgres import PostgresServer

SEED = int(os.environ.get("PONDAGE_TEST_SEED", "1"))
RUNS = [(fault, database) for fault in FAULTS for database in fault.databases]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of our own: some faults stop it."""
    made = PostgresServer()
    yield made
    made.close()


def name(case: object) -> str:
    return case.name if isinstance(case, Fault) else str(case)


@pytest.mark.parametrize(("fault", "database"), RUNS, ids=name)
def test_nothing_is_lost_and_nothing_is_doubled(
    fault: Fault, database: str, server: PostgresServer, tmp_path: Path
) -> None:
    result = run(fault, database, server, SEED, tmp_path)
    assert result.is_sound, told(result)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.parametrize("control", CONTROLS, ids=name)
def test_the_checker_finds_what_the_program_prevents(
    control: Fault, database: str, server: PostgresServer, tmp_path: Path
) -> None:
    result = run(control, database, server, SEED, tmp_path)
    assert result.is_caught, f"with {control.name} the checker does not find it and proves nothing: {told(result)}"
