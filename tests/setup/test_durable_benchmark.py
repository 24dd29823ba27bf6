"""The benchmark `durable` works with the worker that is shipped, and says so when it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.durable import ROOT, Deployed, Place
from benchmarks.support.durable_jobs import Chains


class File(Place):
    """An SQLite file; no server is asked."""

    def __init__(self, folder: Path) -> None:
        self.database = "sqlite"
        self.folder = folder
        self.raw = str(folder / "ledger.db")
        self.url = f"sqlite://{self.raw}"


def test_its_worker_does_every_step_of_a_chain_of_ponds_and_of_a_job(tmp_path: Path) -> None:
    made = Deployed(File(tmp_path), chains=1, length=3)
    side = made.worker()
    made.pulse()
    Chains(made.ledger, chains=1, length=2, code=made.code, require_workers=made.require_workers).run()
    assert side.answer()["steps"] == 5
    made.ledger.close()


def test_a_worker_that_ended_ends_the_benchmark_instead_of_letting_it_wait(tmp_path: Path) -> None:
    made = Deployed(File(tmp_path), chains=1, length=1)
    made.worker().answer()
    with pytest.raises(RuntimeError, match="ended"):
        made.pulse()
    with pytest.raises(RuntimeError, match="ended"):
        Chains(made.ledger, chains=1, length=2, code=made.code, require_workers=made.require_workers).run()
    made.ledger.close()


def test_a_short_measure_repeats_less_and_asks_nobody_else() -> None:
    assert _read(short="1") == "2 rounds, 2 kills, peers:"
    assert _read(short="0") == "5 rounds, 20 kills, peers: dbos procrastinate"


def _read(*, short: str) -> str:
    asked = (
        "from benchmarks.durable import KILLS, ROUNDS, _peers_of\n"
        "print(f'{ROUNDS} rounds, {KILLS} kills, peers:', *_peers_of('postgres'))"
    )
    environment = {**os.environ, "PONDAGE_BENCH_SHORT": short}
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, env=environment, cwd=ROOT)
    return said.stdout.decode().strip()
