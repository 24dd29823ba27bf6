"""What durability costs: steps for each second, enqueue to start, processor time, recovery, and idling.

One server and one disk for everybody, in one run: the hand-written claim-and-commit loop (psycopg or sqlite3, inline
advance, no machine, no history), ours (deployed chains of Ponds and the shipped worker with an executor that does
nothing), DBOS and procrastinate (in an environment of their own; never a dependency).

The whole of it takes a quarter of an hour, most of it kills. PONDAGE_BENCH_SHORT=1 does everything a few times only and
leaves the other systems out: about a minute and a half.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import psycopg

from benchmarks.run import Row
from benchmarks.support.durable_jobs import Chains
from benchmarks.support.durable_side import Raw
from pondage.define.values.names import PondKey
from pondage.engine.process.config import EngineConfig
from pondage.engine.supervise.supervisor import Supervisor
from pondage.kernel.demand.events import Pulse
from pondage.ledger.act import verbs
from pondage.ledger.act.deploy import deploy
from pondage.ledger.ledger import Ledger
from tests.chaos.arena import Arena
from tests.ledger.harness import pond
from tests.services.postgres import PostgresServer

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".cache" / "bench" / "durable"
PEERS = ("dbos==3.3.0", "procrastinate==3.10.0", "psycopg[binary]")
IS_SHORT = os.environ.get("PONDAGE_BENCH_SHORT", "") not in ("", "0")
LENGTH = 100
ROUNDS = 2 if IS_SHORT else 5
SAMPLES = 50 if IS_SHORT else 200
KILLS = 2 if IS_SHORT else 20
IDLE_S = 3.0 if IS_SHORT else 10.0
IDLE_PONDS = 1_000
SETTLE_S = 300.0
"""How long chains may take before something must be wrong."""
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}

_numbers = count(1)


class Side:
    """A process of the benchmark that was told what to do and is ready."""

    def __init__(self, command: Sequence[str], asked: dict[str, object]) -> None:
        # Without buffers: an answer that comes together with the first line would stay in one.
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, cwd=ROOT
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        line = self._process.stdout.readline()
        if line.strip() != b"ready":
            raise RuntimeError(f"{asked}: {line!r} {self._process.communicate()[1].decode()[-2000:]}")

    def require_alive(self) -> None:
        """Raise what it said when it has ended by itself."""
        if self._process.poll() is not None:
            raise RuntimeError(self._process.communicate()[1].decode()[-2000:] or "a side of the benchmark ended")

    def answer(self, timeout_s: float = 300.0) -> dict[str, list[float]]:
        """End its input, and answer what it measured."""
        out, error = self._process.communicate(b"\n", timeout=timeout_s)
        if self._process.returncode != 0 or not out.strip():
            raise RuntimeError(error.decode()[-2000:] or "it said nothing")
        answered: dict[str, list[float]] = json.loads(out.strip().splitlines()[-1])
        return answered


OURS = [sys.executable, "-m", "benchmarks.support.durable_side"]


class Place:
    """Where one measurement is made: a new file, or a new database of the one server."""

    def __init__(self, database: str, server: PostgresServer, folder: Path) -> None:
        self.database = database
        self.folder = folder / f"{database}{next(_numbers)}"
        self.folder.mkdir()
        if database == "sqlite":
            self.raw = str(self.folder / "ledger.db")
            self.url = f"sqlite://{self.raw}"
            return
        name = f"bench_{next(_numbers)}"
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        self.raw = self.url = server.url.replace("/postgres", f"/{name}")


class Deployed:
    """Chains of Ponds on the shipped ledger."""

    def __init__(self, place: Place, *, chains: int, length: int) -> None:
        self.place = place
        self.ledger = Ledger.open(place.url)
        self._ends = [PondKey(f"c{chain}p{length - 1}@1") for chain in range(chains)]
        self.code = deploy(
            self.ledger, "main", project="bench",
            definitions=[
                pond(f"c{chain}p{number}", sources={f"c{chain}p{number - 1}": True} if number else None)
                for chain in range(chains)
                for number in range(length)
            ],
            removed=[], archive=b"bench", summary="{}", expected=[],
        )  # fmt: skip
        self._changes = self.ledger.driver.changes()
        self._sides: list[Side] = []

    def pulse(self) -> None:
        """Ask for every chain up to this moment, and wait until all is done."""
        for key in self._ends:
            verbs.send(self.ledger, "main", Pulse(pond=key))
        self.settle()

    def settle(self) -> None:
        """Wait until all is done; raises when a worker has ended before, or when it takes far too long."""
        deadline = time.monotonic() + SETTLE_S
        while self._is_busy():
            self.require_workers()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the Ponds are not done after {SETTLE_S:.0f} s")
            self._changes.wait(0.5)

    def require_workers(self) -> None:
        """Raise what a worker said that has ended by itself."""
        for side in self._sides:
            side.require_alive()

    def ask(self) -> None:
        """Ask for the first chain."""
        verbs.send(self.ledger, "main", Pulse(pond=self._ends[0]))

    def _is_busy(self) -> bool:
        with self.ledger.reading() as tx:
            return tx.row("SELECT 1 AS yes FROM runs WHERE ended_at IS NULL LIMIT 1") is not None

    def worker(self) -> Side:
        """Start a shipped worker."""
        asked = {"play": "ours", "url": self.place.url, "folder": str(self.place.folder), "code": self.code}
        self._sides.append(Side(OURS, asked))
        return self._sides[-1]


def _raw_steps(place: Place, workers: int) -> tuple[float, float]:
    """Answer steps for each second and processor seconds for each step of the hand-written loop."""
    raw = Raw(place.database, place.raw, is_new=True)
    raw.begin()
    for _ in range(workers):
        raw.enqueue(LENGTH * ROUNDS)
    raw.run("COMMIT")
    sides = [Side(OURS, {"play": "raw_steps", "database": place.database, "place": place.raw}) for _ in range(workers)]
    answers = [side.answer() for side in sides]
    steps = sum(float(str(answer["steps"])) for answer in answers)
    longest = max(float(str(answer["seconds"])) for answer in answers)
    return steps / longest, sum(float(str(answer["cpu_s"])) for answer in answers) / steps


def _our_steps(place: Place, workers: int) -> tuple[float, float]:
    made = Deployed(place, chains=workers, length=LENGTH)
    sides = [made.worker() for _ in range(workers)]
    made.pulse()
    warm = LENGTH * workers
    began_s = time.monotonic()
    for _ in range(ROUNDS):
        made.pulse()
    seconds = time.monotonic() - began_s
    answers = [side.answer() for side in sides]
    made.ledger.close()
    steps = sum(float(str(answer["steps"])) for answer in answers)
    assert steps == warm * (ROUNDS + 1), f"{steps} steps"
    return (steps - warm) / seconds, sum(float(str(answer["cpu_s"])) for answer in answers) / steps


def _component_steps(place: Place, workers: int) -> tuple[float, float]:
    """Answer the same for chains of components, each the run of a job."""
    made = Deployed(place, chains=1, length=1)
    chains = Chains(made.ledger, chains=workers, length=LENGTH, code=made.code, require_workers=made.require_workers)
    sides = [made.worker() for _ in range(workers)]
    chains.run()
    warm = LENGTH * workers
    began_s = time.monotonic()
    for _ in range(ROUNDS):
        chains.run()
    seconds = time.monotonic() - began_s
    answers = [side.answer() for side in sides]
    made.ledger.close()
    steps = sum(float(str(answer["steps"])) for answer in answers)
    assert steps == warm * (ROUNDS + 1), f"{steps} components"
    return (steps - warm) / seconds, sum(float(str(answer["cpu_s"])) for answer in answers) / steps


def _raw_starts(place: Place) -> list[float]:
    raw = Raw(place.database, place.raw, is_new=True)
    side = Side(OURS, {"play": "raw_starts", "database": place.database, "place": place.raw, "count": SAMPLES})
    asked: list[float] = []
    for _ in range(SAMPLES):
        time.sleep(0.03)
        asked.append(time.time())
        raw.begin()
        raw.enqueue(1)
        if not raw.is_sqlite:
            raw.run("NOTIFY hop")
        raw.run("COMMIT")
    starts = side.answer()["starts"]
    return [(start - at) * 1000 for start, at in zip(starts, asked, strict=True)]


def _our_starts(place: Place) -> list[float]:
    made = Deployed(place, chains=1, length=1)
    side = made.worker()
    made.pulse()
    asked: list[float] = []
    for _ in range(SAMPLES):
        time.sleep(0.03)
        asked.append(time.time())
        made.ask()
        # What is asked for while a Run is under way is not started before that ends.
        made.settle()
    starts = side.answer()["starts"][1 : SAMPLES + 1]
    made.ledger.close()
    assert len(starts) == len(asked), f"{len(starts)} starts of {len(asked)}"
    return [(start - at) * 1000 for start, at in zip(starts, asked, strict=True)]


@cache
def _peers() -> Path | None:
    """Answer the interpreter of the peers, installing them the first time; None when that failed."""
    found = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "complete").exists():
        ENVIRONMENT.parent.mkdir(parents=True, exist_ok=True)
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)],
            [str(found), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEERS],
        ):
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                return None
        (ENVIRONMENT / "complete").touch()
    return found


def _peers_of(database: str) -> tuple[str, ...]:
    if IS_SHORT:
        return ()
    return ("dbos", "procrastinate") if database == "postgres" else ("dbos",)


def _peer(peer: str, play: str, url: str, *, workers: int, steps: int) -> tuple[list[dict[str, list[float]]], str]:
    """Ask a peer; the second answer is why there is no figure."""
    interpreter = _peers()
    if interpreter is None:
        return [], "could not be installed"
    asked = {"peer": peer, "play": play, "url": url, "count": steps}
    command = [str(interpreter), str(Path(__file__).parent / "support" / "durable_peers.py")]
    try:
        sides = [Side(command, {**asked, "number": number}) for number in range(workers)]
        return [side.answer() for side in sides], ""
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return [], (str(error).strip().splitlines() or ["no message"])[-1][:80]


def _peer_steps(peer: str, place: Place, workers: int) -> tuple[float, float, str]:
    url = place.url if place.database == "postgres" else f"sqlite:///{place.raw}"
    answers, problem = _peer(peer, "steps", url, workers=workers, steps=LENGTH * ROUNDS)
    steps = sum(float(str(answer["steps"])) for answer in answers)
    if not steps:
        return 0.0, 0.0, f"{peer}: {problem}"
    seconds = max(float(str(answer["seconds"])) for answer in answers)
    return steps / seconds, sum(float(str(answer["cpu_s"])) for answer in answers) / steps, peer


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _steps(database: str, server: PostgresServer, folder: Path) -> list[Row]:
    rows: list[Row] = []
    for workers in (1, 2):
        raw_rate, raw_cpu = _raw_steps(Place(database, server, folder), workers)
        rate, cpu = _our_steps(Place(database, server, folder), workers)
        what = f"{NAMES[database]}, {workers} worker{'s' * (workers > 1)}"
        steps = LENGTH * ROUNDS * workers
        rows += [
            _row(f"{what}: chained steps each second", rate, "raw loop; goal: at least 0.7×", raw_rate, "/s", steps),
            _row(
                f"{what}: client processor time for a step",
                cpu * 1e3,
                "raw loop; goal: 1 ms",
                raw_cpu * 1e3,
                "ms",
                steps,
            ),
        ]
        job_rate, job_cpu = _component_steps(Place(database, server, folder), workers)
        rows += [
            _row(f"{what}: chained components each second", job_rate, "raw loop", raw_rate, "/s", steps),
            _row(
                f"{what}: client processor time for a component", job_cpu * 1e3, "raw loop", raw_cpu * 1e3, "ms", steps
            ),
        ]
        for peer in _peers_of(database):
            peer_rate, peer_cpu, against = _peer_steps(peer, Place(database, server, folder), workers)
            rows += [
                _row(f"{what}: chained steps each second", rate, against, peer_rate, "/s", steps),
                _row(f"{what}: client processor time for a step", cpu * 1e3, against, peer_cpu * 1e3, "ms", steps),
            ]
    return rows


def _row(what: str, ours: float, against: str, anchor: float, unit: str, n: int) -> Row:
    return Row(what=what, ours=_rounded(ours), against=against, anchor=_rounded(anchor), unit=unit, n=n)


def _starts(database: str, server: PostgresServer, folder: Path) -> list[Row]:
    raw, ours = _raw_starts(Place(database, server, folder)), _our_starts(Place(database, server, folder))
    hint = "NOTIFY" if database == "postgres" else "data_version"
    what = f"{NAMES[database]}: enqueue to start"
    rows = [
        _row(
            f"{what}, p50",
            _quantile(ours, 0.5),
            f"raw {hint} loop; goal: at most 2×",
            _quantile(raw, 0.5),
            "ms",
            SAMPLES,
        ),
        _row(f"{what}, p99", _quantile(ours, 0.99), f"raw {hint} loop", _quantile(raw, 0.99), "ms", SAMPLES),
    ]
    for peer in _peers_of(database):
        samples = 10 if peer == "dbos" else 100
        place = Place(database, server, folder)
        url = place.url if database == "postgres" else f"sqlite:///{place.raw}"
        answers, problem = _peer(peer, "starts", url, workers=1, steps=samples)
        waits = [wait * 1000 for answer in answers for wait in answer["waits"]] or [0.0]
        against = f"{peer}: {problem}" if problem else f"{peer}, its defaults"
        rows.append(_row(f"{what}, p50", _quantile(ours, 0.5), against, statistics.median(waits), "ms", len(waits)))
    return rows


WAITING = """
import os, time
from pathlib import Path
from pondage import pond

@pond
def waiting(spark) -> object:
    with open("{folder}/starts", "a") as file:
        file.write(f"{os.getpid()} {time.time()}\\n")
    while not Path("{folder}/go").exists():
        time.sleep(0.01)
    return [1]
"""


def _recovery(database: str, server: PostgresServer, folder: Path) -> list[Row]:
    """Kill a worker in the middle of its work, again and again: when does the work start anew?"""
    place = folder / f"recovery-{database}"
    place.mkdir()
    text = WAITING.replace("{folder}", str(place))
    # What is measured is how soon it is seen: work that crashed often is kept waiting on purpose.
    arena = Arena(
        place / "arena", database, server, seed=1, crash_budget=10_000, crash_delay_s=0, reap_after_s=60, ponds=text
    )
    waits: list[float] = []
    try:
        arena.send(Pulse(pond=PondKey("waiting@1")))
        for number in range(KILLS):
            # A new machine each time: workers that die in quick succession are held back on purpose.
            (machine,) = arena.add(1)
            began = _started(place, 2 * number + 1)
            time.sleep(0.2)
            os.kill(began[0], signal.SIGKILL)
            at = time.time()
            waits.append(_started(place, 2 * number + 2)[1] - at)
            machine.kill_group()
        arena.add(1)
        (place / "go").touch()
        arena.wait_quiet()
    finally:
        arena.close()
    return [
        _row(
            f"{NAMES[database]}: kill -9 to rerun started, p50",
            statistics.median(waits),
            "goal for p99",
            2.0,
            "s",
            KILLS,
        ),
        _row(f"{NAMES[database]}: kill -9 to rerun started, p99", _quantile(waits, 0.99), "goal", 2.0, "s", KILLS),
    ]


def _started(place: Path, number: int) -> tuple[int, float]:
    """Wait for the n-th start, and answer who started when."""
    deadline = time.monotonic() + 120
    file = place / "starts"
    while True:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) >= number:
            pid, at = lines[number - 1].split()
            return int(pid), float(at)
        assert time.monotonic() < deadline, f"start {number} did not come"
        time.sleep(0.005)


def _silent(line: str) -> None:
    del line


@contextmanager
def _served(ledger: Ledger, config: EngineConfig) -> Iterator[None]:
    """Run a supervisor in a thread of this process."""
    has_ended = threading.Event()
    supervisor = Supervisor(config, ledger, say=_silent)
    thread = threading.Thread(target=lambda: supervisor.run(has_ended.is_set))
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        supervisor.wake()
        thread.join()


def _idle(database: str, server: PostgresServer, folder: Path) -> list[Row]:
    """A supervisor over a thousand deployed Ponds that nobody asks for anything, against one over none."""
    figures: list[tuple[float, float]] = []
    for ponds in (IDLE_PONDS, 1):
        place = Place(database, server, folder)
        made = Deployed(place, chains=max(1, ponds // 10), length=min(ponds, 10))
        config = EngineConfig(
            project="bench", root=str(place.folder), ledger=place.url, warehouse=str(place.folder / "warehouse"),
            state_directory=str(place.folder / "state"),
        )  # fmt: skip
        with _served(made.ledger, config):
            time.sleep(2.0)
            before, used = made.ledger.driver.counts.statements, time.process_time()
            time.sleep(IDLE_S)
            after = made.ledger.driver.counts.statements
            figures.append(((after - before) / IDLE_S, (time.process_time() - used) / IDLE_S * 100))
        made.ledger.close()
    (queries, share), (few_queries, few_share) = figures
    what = f"{NAMES[database]}: {IDLE_PONDS} idle Ponds"
    return [
        _row(f"{what}, statements each second", queries, "1 idle Pond", few_queries, "/s", int(IDLE_S)),
        _row(f"{what}, processor", share, "1 idle Pond", few_share, "%", int(IDLE_S)),
    ]


def run() -> list[Row]:
    """Measure everything."""
    rows: list[Row] = []
    server = PostgresServer(is_quick=False)
    try:
        with tempfile.TemporaryDirectory(prefix="pondage-durable-") as made:
            for database in ("postgres", "sqlite"):
                for measure in (_steps, _starts, _recovery, _idle):
                    new = measure(database, server, Path(made))
                    rows += new
                    for row in new:
                        print(f"  {row.what}: {row.ours} against {row.anchor} {row.unit} ({row.against})", flush=True)
    finally:
        server.close()
    return rows
