"""kill -9 of live hosts at random points; `docs/reactors.md` says how to play many seeds, also on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.live.hosting import hosting
from tests.engine.live.kill import story


@pytest.mark.parametrize(("seed", "level"), [(1, "process"), (2, "power")])
def test_kill_9_loses_no_acknowledged_boundary_and_commits_none_twice(tmp_path: Path, seed: int, level: str) -> None:
    with hosting(tmp_path / "project", level=level) as world:
        assert story(seed, world, count=200) >= 2
