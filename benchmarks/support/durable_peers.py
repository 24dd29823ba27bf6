"""DBOS and procrastinate, asked in an environment of their own: this file is run there and imports nothing of ours."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import sys
import threading
import time

logging.disable(logging.CRITICAL)


def used_s() -> float:
    """Answer the processor time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def dbos(asked: dict[str, object]) -> dict[str, object]:
    """Steps of one workflow, or workflows of a queue with its default polling."""
    from dbos import DBOS

    DBOS(
        config={  # type: ignore[arg-type]
            "name": "bench", "system_database_url": asked["url"], "executor_id": str(asked["number"]),
            "run_admin_server": False, "log_level": "CRITICAL",
        }
    )  # fmt: skip
    starts: list[float] = []

    @DBOS.step()
    def nothing(number: int) -> int:
        return number

    @DBOS.workflow()
    def chain(length: int) -> int:
        for number in range(length):
            nothing(number)
        return length

    @DBOS.workflow()
    def started(at: float) -> None:
        starts.append(time.time() - at)

    DBOS.launch()
    queue = DBOS.register_queue("bench")
    chain(5)
    count = int(str(asked["count"]))
    print("ready", flush=True)
    sys.stdin.readline()
    began, began_s = used_s(), time.monotonic()
    if asked["play"] == "steps":
        chain(count)
    else:
        for _ in range(count):
            queue.enqueue(started, time.time()).get_result()
    answer = {"steps": count, "cpu_s": used_s() - began, "seconds": time.monotonic() - began_s, "waits": starts}
    DBOS.destroy()
    return answer


def procrastinate(asked: dict[str, object]) -> dict[str, object]:
    """Single jobs: it has no chains."""
    from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

    url, count = str(asked["url"]), int(str(asked["count"]))
    app = App(connector=PsycopgConnector(conninfo=url))
    starts: list[float] = []

    @app.task(queue="bench", name="nothing")
    async def nothing(at: float) -> None:
        starts.append(time.time() - at)

    async def steps() -> dict[str, object]:
        async with app.open_async():
            if asked["number"] == 0:
                await app.schema_manager.apply_schema_async()
                await nothing.batch_defer_async(*[{"at": time.time()} for _ in range(count)])
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            began, began_s = used_s(), time.monotonic()
            await app.run_worker_async(queues=["bench"], wait=False, concurrency=1, install_signal_handlers=False)
            return {"steps": len(starts), "cpu_s": used_s() - began, "seconds": time.monotonic() - began_s}

    async def latency() -> dict[str, object]:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            worker = asyncio.create_task(
                app.run_worker_async(queues=["bench"], concurrency=1, install_signal_handlers=False)
            )
            await asyncio.sleep(1.0)
            other = App(connector=SyncPsycopgConnector(conninfo=url))

            def defer() -> None:
                with other.open():
                    for _ in range(count):
                        other.configure_task("nothing", queue="bench").defer(at=time.time())
                        time.sleep(0.03)

            await asyncio.to_thread(defer)
            while len(starts) < count:
                await asyncio.sleep(0.05)
            worker.cancel()
            return {"waits": starts}

    print("", end="")
    return asyncio.run(steps() if asked["play"] == "steps" else latency())


def main() -> None:
    """Do what the line says."""
    asked = json.loads(sys.stdin.readline())
    threading.excepthook = lambda _: None
    if asked["play"] != "steps" and asked["peer"] == "procrastinate":
        print("ready", flush=True)
    print(json.dumps({"dbos": dbos, "procrastinate": procrastinate}[asked["peer"]](asked)), flush=True)


if __name__ == "__main__":
    main()
