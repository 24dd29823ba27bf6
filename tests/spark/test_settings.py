"""Settings are refused when they are read, or the demo runs with them: with real processes, to its end.

`PONDAGE_SETTINGS=20` draws so many, and each seed of the suite others.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import pondage
from pondage.cli.start.demo import copy_example
from pondage.define.project.durability import LEAST_LEASE_S, LEAST_PROGRESS_S, LONGEST_S, SHORTEST_S, Durability
from pondage.errors import ProjectError
from pondage.project.project import load_project
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.spark

SEED = int(os.environ.get("PONDAGE_TEST_SEED", "1"))
DRAWS = int(os.environ.get("PONDAGE_SETTINGS", "1"))
NAMES = Durability.__struct_fields__
COUNTS = ("crash_budget", "advance_retries", "keep_runs")
LEAST = {
    "heartbeat_s": SHORTEST_S, "poll_s": SHORTEST_S, "reap_after_s": LEAST_LEASE_S, "child_margin_s": 0,
    "probe_s": 0, "retry_delay_s": 0, "crash_delay_s": 0, "drain_s": 0, "termination_grace_s": 0, "retention_days": 0,
    "advance_retries": 0, "keep_runs": 1, "progress_lease_s": LEAST_PROGRESS_S,
}  # fmt: skip


def drawn(luck: random.Random) -> dict[str, float]:
    """Draw some settings, each of any size: also such as make no sense."""
    chosen = luck.sample(NAMES, luck.randint(2, len(NAMES)))
    values = {name: luck.choice([0.0, math.exp(luck.uniform(math.log(1e-3), math.log(LONGEST_S)))]) for name in chosen}
    return {name: int(min(value, 1e6)) if name in COUNTS else value for name, value in values.items()}


def is_accepted(root: Path, settings: dict[str, float]) -> bool:
    """Write the demo with these settings; answer whether they are taken."""
    shutil.rmtree(root, ignore_errors=True)
    copy_example(root)
    with (root / "pondage.toml").open("a") as file:
        file.write("\n[durability]\n" + "".join(f"{name} = {value!r}\n" for name, value in settings.items()))
    try:
        read = load_project(root).durability
    except ProjectError:
        return False
    assert msgspec.structs.asdict(read).items() >= settings.items()
    return True


@pytest.mark.parametrize("number", range(DRAWS + 1))
def test_settings_are_refused_or_the_demo_runs(tmp_path: Path, number: int) -> None:
    luck = random.Random(SEED * 1_000 + number)
    settings: dict[str, float] = LEAST
    if number == 0:
        assert is_accepted(tmp_path / "demo", settings)
    else:
        settings = drawn(luck)
        while not is_accepted(tmp_path / "demo", settings):
            settings = drawn(luck)
    here = {**os.environ, "PYTHONPATH": str(Path(pondage.__file__).parents[1])}
    command = [sys.executable, "-m", "pondage.cli.main", "demo", "--into", str(tmp_path / "demo"), "--seconds", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, env=here, capture_output=True, text=True, check=False, timeout=4 * PATIENCE_S
    )
    assert done.returncode == 0, f"{settings}\n{done.stdout}\n{done.stderr}"
    assert "pondage show sales" in done.stdout, "it walked to its end"
