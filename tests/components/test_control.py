"""Components without data."""

from __future__ import annotations

import threading

from pondage.components.control import sleep
from pondage.define.job.component_run import ComponentRun
from tests.patience import PATIENCE_S


def test_a_sleep_ends_when_it_is_asked_to_stop() -> None:
    stop = threading.Event()
    run = ComponentRun(stop=stop)
    sleeping = threading.Thread(target=lambda: sleep(params={"seconds": 10 * PATIENCE_S}, run=run), daemon=True)
    sleeping.start()
    stop.set()
    sleeping.join(PATIENCE_S)
    assert not sleeping.is_alive()
    assert run.has_seen_stop, "a killed run executes it again when it is resumed"


def test_a_sleep_that_nobody_stops_takes_its_time() -> None:
    run = ComponentRun()
    sleep(params={"seconds": 0.001}, run=run)
    assert not run.has_seen_stop
