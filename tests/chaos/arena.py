"""One chaos run: a ledger, a warehouse, machines that serve them, load, a fault, and what is left afterwards."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from unittest.mock import patch

import psycopg

from pondage.define.project import durability
from pondage.define.project.durability import Durability
from pondage.engine.services.vacuum import vacuum
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Event, Pulse
from pondage.ledger.act import verbs
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.queue.processes import ProcessRow
from pondage.project.project import Project
from tests.chaos.fault import PLUGIN, ROOT
from tests.chaos.invariants import violations
from tests.engine.projects import deployed_into, write_project
from tests.patience import PATIENCE_S
from tests.services.postgres import PostgresServer
from tests.services.proxy import Proxy

CHAINS = 3
SETTINGS = """
[worker]
workers = 2
slots = 2
[durability]
heartbeat_s = 0.3
reap_after_s = {reap_after_s}
child_margin_s = 0.5
poll_s = 0.1
drain_s = 5
retry_delay_s = 0
crash_budget = {crash_budget}
crash_delay_s = {crash_delay_s}
"""
PONDS = "import random, time\nfrom pondage import pond\n" + "".join(
    f"""
@pond
def inlet_{number}(spark) -> object:
    time.sleep(random.uniform(0, {{work_s}}))
    return [1, 2, 3]

@pond
def middle_{number}(inlet_{number}: object) -> object:
    time.sleep(random.uniform(0, {{work_s}}))
    return [value * 2 for value in inlet_{number}]

@pond
def outlet_{number}(middle_{number}: object) -> object:
    return [sum(middle_{number})]
"""
    for number in range(CHAINS)
)

_PONDAGE = "import sys; from pondage.cli.main import main; sys.exit(main())"
_numbers = count(1)


class NotDone(AssertionError):
    """What should have come true did not."""


class Machine:
    """One `pondage worker` in a process group of its own."""

    def __init__(self, arena: Arena, name: str, chaos: dict[str, object]) -> None:
        self.arena = arena
        self.name = name
        self.chaos = chaos
        self.folder = arena.folder / name
        self.folder.mkdir()
        self.url = arena.url
        self.proxy: Proxy | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def behind_proxy(self) -> Proxy:
        """Reach the server through a wire that can be cut."""
        assert self.arena.server is not None
        self.proxy = Proxy(self.arena.server.port)
        self.url = self.url.replace(f":{self.arena.server.port}/", f":{self.proxy.port}/")
        return self.proxy

    def start(self) -> None:
        (self.folder / "pondage.toml").write_text(
            f'[project]\nname = "{self.name}"\nledger = "{self.url}"\nwarehouse = "{self.arena.warehouse}"\n'
            + self.arena.settings
        )
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(PLUGIN), str(ROOT / "src")]),
            "PONDAGE_CHAOS": json.dumps(
                {"executor": "plain", "events": str(self.arena.events), "seed": self.arena.seed, **self.chaos}
            ),
        }
        with (self.folder / "output.log").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PONDAGE, "worker"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=self.folder, env=environment,
                start_new_session=True,
            )  # fmt: skip

    def kill(self) -> None:
        """Kill the supervisor alone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def kill_group(self) -> None:
        """Kill everything of this machine at once."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def drain(self) -> int:
        """End in an orderly way, and answer the exit code."""
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        self.process = None
        return code

    def pids(self) -> list[int]:
        """Answer the processes of this machine: the supervisor and its workers."""
        assert self.process is not None
        return [self.process.pid, *_children(self.process.pid)]

    def workers(self) -> list[int]:
        """Answer the worker processes of this machine."""
        return [] if self.process is None else _children(self.process.pid)

    def limit_files(self, size: int) -> None:
        """Let no process of this machine write beyond this size: what a full disk looks like."""
        assert self.process is not None
        _limit_files(self.process.pid, size)
        # Looked for only now: one that the supervisor starts meanwhile has inherited what is set above.
        for pid in self.workers():
            _limit_files(pid, size)


class Arena:
    """Everything of one run. What happens to it is decided by its seed."""

    def __init__(
        self,
        folder: Path,
        database: str,
        server: PostgresServer | None,
        *,
        seed: int,
        crash_budget: int = 100,
        crash_delay_s: float = Durability().crash_delay_s,
        reap_after_s: float = 1.5,
        work_s: float = 0.1,
        ponds: str = PONDS,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.database = database
        self.server = server if database == "postgres" else None
        self.seed = seed
        self.random = random.Random(seed)
        self.warehouse = folder / "warehouse"
        self.events = folder / "events"
        self.settings = SETTINGS.format(
            crash_budget=crash_budget, crash_delay_s=crash_delay_s, reap_after_s=reap_after_s
        )
        self.machines: list[Machine] = []
        self._ponds = ponds
        self._work_s = work_s
        self.url = self._made()
        self.project = self.write(work_s)
        self.ledger = Ledger.open(self.url, durability=self.project.durability)
        self.deploy()

    def _made(self) -> str:
        if self.server is None:
            return f"sqlite://{self.folder / 'ledger.db'}"
        name = f"chaos_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.server.url.replace("/postgres", f"/{name}")

    def write(self, work_s: float) -> Project:
        """Write the author's project; another time to work is other code."""
        head = f'[project]\nname = "chaos"\nledger = "{self.url}"\nwarehouse = "{self.warehouse}"\n'
        ponds = self._ponds.replace("{work_s}", str(work_s)).replace("{mark}", str(self.folder / "mark"))
        with patch.object(durability, "LEAST_LEASE_S", 0.0):  # as in the processes: they have no Spark
            return write_project(self.folder / "author", ponds, head + self.settings)

    def deploy(self) -> None:
        deployed_into(self.ledger, self.project)

    def add(self, count_: int = 1, **chaos: object) -> list[Machine]:
        """Start machines."""
        made = [Machine(self, f"machine{len(self.machines) + number}", chaos) for number in range(count_)]
        self.machines += made
        for machine in made:
            machine.start()
        return made

    def ask(self) -> None:
        """Ask for every chain once more, up to this moment: three steps each."""
        for number in range(CHAINS):
            self.send(Pulse(pond=f"outlet_{number}@1"))

    def ask_and_wait(self, least: int) -> None:
        """Ask once more and wait for some of it. Counted before: all of it may be done when the question returns."""
        before: list[int] = []

        def is_counted() -> bool:
            before.append(self.done())
            return True

        self.wait("the ledger answers", is_counted)
        self.ask()
        self.wait_done(before[0] + least)

    def send(self, event: Event) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                verbs.send(self.ledger, "main", event)
            except LedgerError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
                continue
            return

    def count(self, statement: str) -> int:
        with self.ledger.reading() as tx:
            return len(tx.rows(statement))

    def done(self) -> int:
        """Answer how many executions ended well."""
        return self.count("SELECT 1 FROM executions WHERE outcome = 'ok'")

    def alive(self) -> list[ProcessRow]:
        with self.ledger.reading() as tx:
            return processes.alive(tx)

    def wait(self, what: str, is_true: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        """Wait until something holds; a database that is down meanwhile is asked again."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                if is_true():
                    return
            except LedgerError:
                pass
            if time.monotonic() > deadline:
                raise NotDone(f"it never came true that {what}")
            time.sleep(0.02)

    def can_write(self) -> bool:
        """Answer whether nobody keeps the write lock of a SQLite ledger; a server's locks are rows."""
        if self.server is not None:
            return True
        with closing(sqlite3.connect(self.folder / "ledger.db", timeout=0.2, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            except sqlite3.OperationalError:
                return False
        return True

    def wait_done(self, least: int) -> None:
        self.wait(f"{least} executions ended well", lambda: self.done() >= least)

    def is_quiet(self) -> bool:
        with self.ledger.reading() as tx:
            return not any(
                tx.row(question)
                for question in (
                    "SELECT 1 AS yes FROM runs WHERE ended_at IS NULL LIMIT 1",
                    "SELECT 1 AS yes FROM executions WHERE completed_at IS NULL LIMIT 1",
                    "SELECT 1 AS yes FROM signals WHERE due_at <= :now LIMIT 1",
                    "SELECT 1 AS yes FROM outbox WHERE done_at IS NULL LIMIT 1",
                )
            )

    def wait_quiet(self, patience_s: float = PATIENCE_S) -> None:
        self.wait("everything is done", self.is_quiet, patience_s)

    def worker_pids(self) -> list[int]:
        """Answer the worker processes of all machines that run now."""
        return [pid for machine in self.machines for pid in machine.workers()]

    def reached(self, mark: str, patience_s: float = PATIENCE_S) -> None:
        path = self.folder / mark
        self.wait(f"{mark} was reached", path.exists, patience_s)

    def noted(self, word: str) -> list[str]:
        """Answer what processes wrote down: who was reaped, what was fenced."""
        if not self.events.exists():
            return []
        return [line for line in self.events.read_text().splitlines() if line.startswith(word)]

    def orphans(self) -> list[str]:
        """Let all files grow old, collect what no snapshot names, and answer what is left over all the same."""
        for place in self.warehouse.glob("data/**/*"):
            with suppress(FileNotFoundError):
                os.utime(place, (0, 0))
        vacuum(self.ledger, str(self.warehouse))
        with self.ledger.reading() as tx:
            named = {str(row["path"]) for row in tx.rows("SELECT path FROM snapshots")}
        return [str(place) for place in self.warehouse.glob("data/*/*/*") if str(place) not in named]

    def violations(self) -> list[str]:
        return violations(self.ledger, self.warehouse)

    def close(self) -> None:
        for machine in self.machines:
            machine.kill_group()
            if machine.proxy is not None:
                machine.proxy.close()
        self.ledger.close()


def sent(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process that may just have ended, for example because its supervisor found it too silent."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _limit_files(pid: int, size: int) -> None:
    with suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
