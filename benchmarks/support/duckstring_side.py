"""The side of a benchmark that runs in Duckstring's own environment: a question on stdin.

`engine`: its pure engine (`duckstring.engine`), told of each completed Ripple as its module says: `complete_ripple`,
then `sentinel`. `chain`: its Catchment's driver on its own SQLite file, without Duck processes (`NoopLauncher`): jobs
are taken and events reported as a Duck does, but in the same process and without HTTP or DuckDB.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path

# mypy checks our own environment, which does not have Duckstring.
# mypy: disable-error-code="import-not-found"
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def main() -> None:
    """Answer the question on stdout as JSON."""
    question = json.load(sys.stdin)
    # Whoever asked may be gone, and a single step may take for ever: then this process ends itself.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(question.pop("patience_s")) + 5)
    kind = question.pop("kind")
    try:
        answer = engine(**question) if kind == "engine" else chain(**question)
    except RecursionError:
        answer = {"problem": "RecursionError"}
    print(json.dumps(answer))


def engine(ponds: dict[str, list[str]], outlet: str, trigger: str, budget_s: float, most: int) -> dict[str, object]:
    """Measure events (completed Ripples with everything they cause) for each second of processor time."""
    from duckstring.engine import (
        EngineState,
        Pond,
        PondState,
        Refresh,
        Ripple,
        RippleState,
        complete_ripple,
        refresh_now,
        sentinel,
        tick,
    )

    state = EngineState(
        ponds={key: Pond(id=key, name=key, sources=sources) for key, sources in ponds.items()},
        pond_states={key: PondState() for key in ponds},
        ripples={f"{key}.r": Ripple(id=f"{key}.r", pond_id=key, name="r") for key in ponds},
        ripple_states={f"{key}.r": RippleState() for key in ponds},
    )
    now = BEGIN
    began = time.process_time()
    if trigger == "wave":  # it has no Wave any more: a Refresh without a period keeps a Pond as fresh as it can be
        state.refreshes = {outlet: [Refresh(pond_id=outlet, name="continuous")]}
        state = tick(now, state)
    else:
        state = refresh_now(state, outlet, now)
    state, started = sentinel(now, state)
    triggered = time.process_time() - began
    running = deque(started)
    count, began = 0, time.process_time()
    while running and count < most and time.process_time() - began < budget_s:
        now += timedelta(milliseconds=10)
        state = complete_ripple(state, running.popleft(), now)
        if trigger == "wave":
            state = tick(now, state)
        state, started = sentinel(now, state)
        running.extend(started)
        count += 1
    spent = time.process_time() - began
    if count == 0:
        return {"problem": f"nothing started (trigger {triggered:.1f} s)"}
    return {"figure": count / spent, "count": count}


def chain(length: int, rounds: int, folder: str) -> dict[str, object]:
    """Measure the milliseconds for each hop of a chain: from a refresh of its end until its end has run."""
    from duckstring.catchment.db import connect, ensure_identity, migrate
    from duckstring.catchment.driver import Driver
    from duckstring.catchment.launcher import NoopLauncher
    from duckstring.catchment.routes.deploy import _register

    with tempfile.TemporaryDirectory(dir=folder) as made:
        root = Path(made)
        db = connect(root / "catchment.db")
        migrate(db)
        ensure_identity(db, "bench")
        budgets = {"immediate_retries": 0, "source_retries": 0}
        for number in range(length):
            sources = {f"p{number - 1}": "1.0.0"} if number else {}
            ripples = [{"name": "r", "func": "r", "parents": [], "always_run": False}]
            config = {**budgets, "sources": sources}
            _register(db, f"p{number}", "1.0.0", "pond", f"ponds/p{number}/1.0.0", config, ripples)
        driver = Driver(db, root, None, NoopLauncher())
        hops = []
        for _ in range(rounds):
            began = time.perf_counter()
            driver.refresh_now(f"p{length - 1}@1")
            for number in range(length):
                (job,) = [job for job in driver.take_jobs(f"p{number}@1") if job["kind"] == "begin_run"]
                done = {"f": job["f"], "status": "success"}
                driver.on_event(f"p{number}@1", {"kind": "ripple", "ripple": "r", **done})
                driver.on_event(f"p{number}@1", {"kind": "run_completed", **done})
            hops.append((time.perf_counter() - began) / length * 1000)
        db.close()
    return {"figure": sorted(hops)[len(hops) // 2], "count": len(hops)}


if __name__ == "__main__":
    main()
