"""The deterministic simulation with PostgreSQL's SQL; PONDAGE_HISTORIES says how many histories."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from pondage.define.project.durability import Durability
from pondage.ledger.ledger import Ledger
from tests.histories.postgres import PostgresSchema
from tests.histories.story import play
from tests.services.postgres import PostgresServer

SEEDS = int(os.environ.get("PONDAGE_HISTORIES", "30"))
AT_ONCE = 10
TROUBLE_S = 40.0
"""Shorter than on SQLite in memory: a transaction takes ten times as long."""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("pondage")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.mark.parametrize("first", range(1, SEEDS, AT_ONCE))
def test_nothing_is_lost_and_nothing_is_done_twice(postgres: PostgresServer, first: int) -> None:
    failed = [
        ending
        for seed in range(first, first + AT_ONCE)
        if (ending := play(seed, PostgresSchema(postgres.url), trouble_s=TROUBLE_S)).violations
    ]
    assert not failed, "\n".join(f"{ending} (on PostgreSQL)" for ending in failed)


def test_a_transaction_whose_client_fell_silent_ends_within_the_threshold(postgres: PostgresServer) -> None:
    """Found by the chaos run "partitioned": cut off inside a claim, a worker was not declared dead for a minute."""
    ledger = Ledger.open(postgres.url, durability=Durability(heartbeat_s=0.5, reap_after_s=2))
    try:
        with ledger.reading() as tx:
            row = tx.row("SHOW idle_in_transaction_session_timeout")
        assert row is not None
        assert list(row.values()) == ["2s"]
    finally:
        ledger.close()
