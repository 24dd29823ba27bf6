"""A project with a durable reactor, deployed for real, and live hosts as processes of their own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pondage.engine.live.client import LiveClient, client_of
from pondage.engine.process.config import EngineConfig, WorkerConfig, config_of
from pondage.engine.supervise.live_keeper import start_live
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.tables import actors, reactors
from pondage.ledger.tables.reactors import ReactorRow
from pondage.ledger.upkeep import reap
from pondage.project.archive import pack_project
from pondage.project.project import Project, load_project
from pondage.project.reader import read_declared
from tests.patience import PATIENCE_S

SETTINGS = """
[project]
name = "live"
[durability]
heartbeat_s = 1
reap_after_s = 20
child_margin_s = 5
poll_s = 0.1
drain_s = 5
"""

CODE = '''
"""A reactor that writes down every fire, once for each id."""
import os
from dataclasses import dataclass
from pondage import Accumulator, Fire, Reactor

@dataclass
class Tick:
    number: int

ticks = Accumulator("ticks", Tick)
config = Accumulator("config", str, optional=True)
quote = Reactor("quote", version="{version}", sources=[ticks, config], strategy="sequential", durable="{level}")

@quote.graph(inline=True)
def note(ticks: Tick | None, config: str | None, fire: Fire) -> None:
    assert ticks is None or isinstance(ticks, Tick), ticks
    if config == "raise":
        raise ValueError("as told")
    number = "-" if ticks is None else ticks.number
    with open("fires.txt", "a") as file:
        file.write(f"{{fire.id}} {{fire.attempt}} {{number}}{mark}\\n")
'''


class Hosting:
    """One project, its ledger, and the live hosts that a test starts."""

    def __init__(self, root: Path, ledger_url: str | None = None, *, level: str = "process") -> None:
        self.root = root
        self.level = level
        root.mkdir(parents=True, exist_ok=True)
        place = "" if ledger_url is None else f'ledger = "{ledger_url}"\n'
        (root / "pondage.toml").write_text(SETTINGS.replace("[project]\n", f"[project]\n{place}"))
        self.hosts: list[tuple[str, subprocess.Popen[bytes]]] = []
        self.write()
        self.ledger: Ledger = self.config.open_ledger()
        self.code = self.deploy()

    @property
    def project(self) -> Project:
        return load_project(self.root)

    @property
    def config(self) -> EngineConfig:
        return config_of(self.project)

    def write(self, *, version: str = "1.0.0", mark: str = "") -> None:
        """Write the project's only module."""
        (self.root / "ponds.py").write_text(CODE.format(version=version, mark=mark, level=self.level))

    def deploy(self) -> str:
        """Deploy what the files say, and answer the digest of the code."""
        project = self.project
        declared = read_declared(project)
        with self.ledger.reading() as tx:
            found = deployed(tx, self.ledger, project.environment)
        return deploy(
            self.ledger, project.environment, project=project.name, definitions=declared.ponds, removed=[],
            archive=pack_project(project).data, summary="{}", expected=found, reactors=declared.reactors,
        )  # fmt: skip

    def start(self, code: str | None = None) -> subprocess.Popen[bytes]:
        """Start a live host."""
        public_id = self.ledger.ids.new("p")
        config = WorkerConfig(engine=self.config, public_id=public_id, code=code or self.code, parent=os.getpid())
        host = start_live(config)
        assert isinstance(host, subprocess.Popen)
        self.hosts.append((public_id, host))
        return host

    def kill(self, host: subprocess.Popen[bytes]) -> None:
        """Kill a host as `kill -9` does, and bury it as its supervisor would."""
        host.kill()
        self.bury(host)

    def bury(self, host: subprocess.Popen[bytes]) -> None:
        host.wait()
        public_id = next(name for name, other in self.hosts if other is host)
        with self.ledger.reading() as tx:
            row = next((row for row in processes.alive(tx) if row.public_id == public_id), None)
        if row is not None:
            reap.reap_process(self.ledger, row, reason="killed by the test")

    @property
    def row(self) -> ReactorRow | None:
        with self.ledger.reading() as tx:
            environment = actors.environment(tx, "main")
            assert environment is not None
            return reactors.find(tx, environment, "quote")

    def epoch(self) -> int:
        row = self.row
        return 0 if row is None else row.epoch

    def client(self, patience_s: float = PATIENCE_S) -> LiveClient:
        with self.ledger.reading() as tx:
            environment = actors.environment(tx, "main")
        assert environment is not None
        return client_of(self.ledger, environment, "quote", patience_s=patience_s)

    def push(self, number: int) -> dict[str, object]:
        return self.client().ask(op="push", source="ticks", value={"number": number})

    def state(self) -> dict[str, object]:
        state = self.client().ask(op="state")["state"]
        assert isinstance(state, dict)
        return state

    def fires(self) -> list[str]:
        path = self.root / "fires.txt"
        return path.read_text().splitlines() if path.exists() else []

    def until(self, condition: Callable[[], bool], *, what: str) -> None:
        """Wait for something that another process does."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{what}; logs: {self.logs()[-3000:]}"
            time.sleep(0.02)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.config.state.glob("logs/live-*.log")))

    def history(self, kind: str) -> list[dict[str, object]]:
        with self.ledger.reading() as tx:
            rows = tx.rows("SELECT payload FROM history WHERE kind = :kind ORDER BY id", kind=kind)
        return [msgspec.json.decode(str(row["payload"])) for row in rows]

    def close(self) -> None:
        for _, host in self.hosts:
            if host.poll() is None:
                host.kill()
            host.wait()
            if host.stdin is not None:
                host.stdin.close()
        self.ledger.close()


@contextmanager
def hosting(root: Path, ledger_url: str | None = None, *, level: str = "process") -> Iterator[Hosting]:
    made = Hosting(root, ledger_url, level=level)
    try:
        yield made
    finally:
        made.close()
