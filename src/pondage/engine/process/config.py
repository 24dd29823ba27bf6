"""What a process of the engine must know, as one JSON text: given to children through a pipe, never pickled."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from pondage.define.project.alert import AlertRule
from pondage.define.project.durability import Durability
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.queues import Offer, Role
from pondage.project.project import LineageTable, ProgramsTable, Project
from pondage.project.questions import QuestionsTable
from pondage.spark.jvm.settings import SparkSettings, available_cores

MOST_SLOTS = 4
"""More attempts side by side than this only take turns on one driver, unless the project file asks for it."""


class EngineConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A project as its processes see it. `workers` limits the worker processes, `slots` what one does side by side."""

    project: str
    root: str
    ledger: str
    warehouse: str
    state_directory: str
    environment: str = "main"
    spark: SparkSettings = SparkSettings()
    durability: Durability = Durability()
    workers: int = 2
    slots: int = 2
    labels: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """Variables of the environment that workers have beside those that all have."""
    questions: QuestionsTable = QuestionsTable()
    components: tuple[str, ...] = ()
    """The components that this machine serves, and nothing else; empty serves everything."""
    secret_key: str = ""
    secrets: dict[str, dict[str, str]] = {}
    programs: ProgramsTable = ProgramsTable()
    """Of each component: what it calls a secret, and where that is; never a value."""
    lineage: LineageTable = LineageTable()
    alerts: dict[str, AlertRule] = {}
    listen: str = ""
    """Where live hosts of this machine listen for others (`host:port`); empty: for this machine only."""
    vacuum_every_s: float = 600.0
    cancel_grace_s: float = 30.0

    @property
    def state(self) -> Path:
        """Answer the directory for what may be lost: unpacked code, scratch files, logs of processes."""
        return Path(self.state_directory)

    def offer(self, code: str, *, mebibytes: int | None, role: Role = "worker") -> Offer:
        """Answer what a process of this machine can do that has this role, this code and this memory."""
        components = frozenset(self.components) if self.components else None
        return Offer(code=code, labels=frozenset(self.labels), components=components, mebibytes=mebibytes, role=role)

    def open_ledger(self) -> Ledger:
        """Open the ledger of this project; raises `LedgerError`."""
        return Ledger.open(self.ledger, durability=self.durability, root=self.root)


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process is told when it is spawned.

    `public_id` is chosen by the supervisor, so that it finds the row of a child that died without a word. `code` is
    the digest of the one archive that the worker runs; empty means none. A live host with a `reactor` (its actor) runs
    that one alone; the others run those that need no process of their own. `variables` are what secrets may name with
    `env:`: the child has them, and its environment does not.
    """

    engine: EngineConfig
    public_id: str
    code: str
    parent: int
    reactor: int = 0
    role: Role = "worker"
    variables: dict[str, str] = {}


class SupervisorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a supervisor is told when a command starts it for itself; `parent` is the command's pid."""

    engine: EngineConfig
    parent: int


def config_of(project: Project) -> EngineConfig:
    """Answer what the processes of a project must know."""
    return of_row(
        EngineConfig,
        project,
        project=project.name,
        root=str(project.root),
        ledger=ledger_url(project),
        state_directory=str(project.state),
        spark=msgspec.convert(msgspec.structs.asdict(project.spark), SparkSettings),
        workers=project.worker.workers,
        slots=project.worker.slots or min(MOST_SLOTS, available_cores()),
        labels=project.worker.labels,
        env=project.worker.env,
        listen=project.live.listen,
    )


def shown_url(url: str) -> str:
    """Answer the address of a ledger as it may be printed: without a password."""
    return re.sub(r"(password=)[^&]*", r"\1***", re.sub(r"(://[^:/@]*):.*@", r"\1:***@", url))


def ledger_url(project: Project) -> str:
    """Answer the address of the ledger; a plain path in the project file means SQLite."""
    return project.ledger if "://" in project.ledger else f"sqlite:///{project.ledger}"
