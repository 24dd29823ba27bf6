"""The server under load: 200 Ponds, 50 clients that watch, 200 pushes a second, and a restart in the middle.

A real live host, a real server in a process of its own, workers without Spark. Beside the latency of a push over HTTP
stands the same push given to the live host directly; beside the memory at the end, that of the server before anybody
came. Then the server is ended and started again: whoever watches goes on by its place in the feed, whoever pushes tries
again, and both are counted against the ledger and the reactor: nothing may be missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from benchmarks.run import Row
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import api_tokens
from pondage.views.ponds.status import status
from tests.cli.workers import FakeWorkers
from tests.engine.live.hosting import Hosting, hosting
from tests.ledger.harness import pond
from tests.server.watching import Watching

PONDS = 200
WATCHERS = 50
PUSHES_A_SECOND = 200
PULSES_A_SECOND = 5
SECONDS = float(os.environ.get("PONDAGE_BENCH_SECONDS", "20"))
LANES = 16
"""Connections that push side by side."""


def run() -> list[Row]:
    """Measure, restart, and count."""
    with tempfile.TemporaryDirectory() as folder, hosting(Path(folder) / "project") as live:
        live.start()
        live.client().ask(op="state")
        _many(live)
        direct = _direct(live)
        with FakeWorkers().attached(live.project):
            return asyncio.run(_load(live, direct))


def _many(live: Hosting) -> None:
    """Deploy the Ponds: chains of five."""
    definitions = [
        pond(f"p{number}", sources={f"p{number - 1}": True} if number % 5 else None) for number in range(PONDS)
    ]
    with live.ledger.reading() as tx:
        expected = deployed(tx, live.ledger, "main")
    deploy(
        live.ledger, "main", project="many", definitions=definitions, removed=[], archive=b"a", summary="{}",
        expected=expected,
    )  # fmt: skip


def _direct(live: Hosting) -> list[float]:
    """Answer how long pushes take that go to the live host itself, at the same rate, in milliseconds."""
    client, taken = live.client(), []
    for number in range(PUSHES_A_SECOND):
        began = time.perf_counter()
        client.ask(op="push", source="ticks", value={"number": number})
        taken.append((time.perf_counter() - began) * 1e3)
        time.sleep(max(0.0, 1 / PUSHES_A_SECOND - taken[-1] / 1e3))
    return taken


class Served:
    """A server in a process of its own, on a port that stays the same."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.port = 0

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[str]]:
        """Start it, and end it as an operator does."""
        command = [sys.executable, "-m", "pondage.cli.main", "serve", "--port", str(self.port)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        with subprocess.Popen(command, cwd=self._root, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())):
                assert process.poll() is None, "the server did not start"
            self.port = int(found[1])
            try:
                yield process
            finally:
                process.terminate()
                process.wait(30)


class Load:
    """Pushes, pulses and looks at a steady rate, each until it is answered."""

    def __init__(self, served: Served, token: str) -> None:
        self._served = served
        self._token = token
        self.taken: list[float] = []
        self.looks: list[float] = []
        self.accepted = self.again = 0

    async def push(self, seconds: float) -> None:
        """Push from all lanes for so long."""
        each_s = LANES / PUSHES_A_SECOND
        await asyncio.gather(
            *(self._lane(lane, each_s, seconds) for lane in range(LANES)), self._pulse(seconds), self._look(seconds)
        )

    async def _lane(self, lane: int, each_s: float, seconds: float) -> None:
        end = time.perf_counter() + seconds
        due = time.perf_counter() + each_s * lane / LANES
        async with self._connection() as ask:
            while due < end:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                began = time.perf_counter()
                while (await ask("POST", "/v1/reactors/quote/sources/ticks", b'{"value": {"number": 1}}')) != 200:
                    self.again += 1
                    await asyncio.sleep(0.05)
                self.accepted += 1
                self.taken.append((time.perf_counter() - began) * 1e3)
                due += each_s

    async def _pulse(self, seconds: float) -> None:
        end, number = time.perf_counter() + seconds, 0
        async with self._connection() as ask:
            while time.perf_counter() < end:
                await ask("POST", f"/v1/ponds/p{(number * 5 + 4) % PONDS}/pulse", b"{}")
                number += 1
                await asyncio.sleep(1 / PULSES_A_SECOND)

    async def _look(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        async with self._connection() as ask:
            while time.perf_counter() < end:
                began = time.perf_counter()
                if await ask("GET", "/v1/status", b"") == 200:
                    self.looks.append((time.perf_counter() - began) * 1e3)
                await asyncio.sleep(0.2)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[_Ask]:
        ask = _Ask(self._served, self._token)
        try:
            yield ask
        finally:
            ask.close()


class _Ask:
    """A connection that is kept open, and opened again when the server was away: answers the status, or 0."""

    def __init__(self, served: Served, token: str) -> None:
        self._served = served
        self._token = token
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None

    async def __call__(self, method: str, path: str, body: bytes) -> int:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            if self._writer is None or self._reader is None:
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._served.port)
            self._writer.write(head.encode() + body)
            said = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = re.search(r"content-length: (\d+)", said)
            await self._reader.readexactly(int(length[1]) if length else 0)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return 0
        return int(said.split(" ", 2)[1])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = self._reader = None


async def _load(live: Hosting, direct: list[float]) -> list[Row]:
    with live.ledger.transaction() as tx:
        token, _ = api_tokens.create(tx, live.ledger.ids, name="bench", level="operate", environments=("main",))
    served = Served(live.root)
    before = _seen(live)
    with served.running() as process:
        idle = _memory(process.pid)
        load = Load(served, token)
        watchers = [Watching(f"http://127.0.0.1:{served.port}", token) for _ in range(WATCHERS)]
        tasks = [asyncio.create_task(each.run()) for each in watchers]
        await _until(lambda: all(each.seq is not None for each in watchers))
        await load.push(SECONDS)
        taken, looks = list(load.taken), list(load.looks)
        messages = [each.messages for each in watchers]
        busy = _memory(process.pid)
    # The pushes go on while nobody answers, and the next server takes them.
    pushing = asyncio.create_task(load.push(SECONDS / 2))
    await asyncio.sleep(1.0)
    with served.running():
        await pushing
        await _until(lambda: not _active(live.ledger))
        known = _runs(live.ledger)
        with contextlib.suppress(TimeoutError):
            await _until(lambda: all(each.runs() == known for each in watchers))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    wrong = sum(each.runs() != known for each in watchers)
    lost = max(0, load.accepted - (_seen(live) - before))
    return [
        _row("p50 of a push over HTTP", _at(taken, 50), "to the live host directly", _at(direct, 50), "ms", taken),
        _row("p99 of a push over HTTP", _at(taken, 99), "to the live host directly", _at(direct, 99), "ms", taken),
        _row("p99 of GET /v1/status, 200 Ponds", _at(looks, 99), "p50 of the same", _at(looks, 50), "ms", looks),
        _row("pushes answered", len(taken) / SECONDS, "asked for", PUSHES_A_SECOND, "/s", taken),
        _row("memory of the server under load", busy, "before anybody came", idle, "MiB", [1]),
        _row("messages to a watcher", statistics.fmean(messages) / SECONDS, "at most", 20, "/s", messages),
        _row("messages to all watchers", sum(messages), "watchers", WATCHERS, "messages", messages),
        _row("watchers that miss something after a restart", wrong, "of", WATCHERS, "watchers", watchers),
        _row("gaps in the feeds", sum(each.gaps for each in watchers), "goal", 0, "gaps", watchers),
        _row("watchers that needed a snapshot", sum(each.resets for each in watchers), "goal", 0, "resets", watchers),
        _row("accepted pushes that the reactor does not have", lost, "goal", 0, "pushes", [1] * load.accepted),
        _row("pushes that were tried again", load.again, "pushes", load.accepted, "pushes", [1] * load.accepted),
    ]  # fmt: skip


def _row(what: str, ours: float, against: str, anchor: float, unit: str, measured: list[object] | list[float]) -> Row:
    return Row(
        what=what, ours=round(ours, 3), against=against, anchor=round(anchor, 3), unit=unit, n=len(measured)
    )  # fmt: skip


def _at(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1] if len(values) > 1 else 0.0


def _memory(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0


def _seen(live: Hosting) -> int:
    state = msgspec.convert(live.client().ask(op="state")["state"], dict[str, object])
    sources = msgspec.convert(state["sources"], dict[str, dict[str, object]])
    return int(str(sources["ticks"]["seen"]))


def _runs(ledger: Ledger) -> dict[str, int]:
    with ledger.reading() as tx:
        return {each.key: each.runs for each in status(tx, "main").ponds}


def _active(ledger: Ledger) -> bool:
    with ledger.reading() as tx:
        return any(each.active for each in status(tx, "main").ponds)


async def _until(is_so: object, *, within_s: float = 60.0) -> None:
    assert callable(is_so)
    async with asyncio.timeout(within_s):
        while not await asyncio.to_thread(is_so):
            await asyncio.sleep(0.1)
