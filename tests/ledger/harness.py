"""A ledger with a fake clock, Ponds made of strings, and a worker without Spark."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pondage.define.pond.definition import (
    PondDefinition,
    ReadDefinition,
    Retries,
    RippleDefinition,
    SourceDefinition,
    Triggers,
)
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.kernel.demand.events import Event
from pondage.kernel.demand.state import decode_state
from pondage.ledger.act import verbs
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.commit import guarded, polling, work
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.ids import SeededIds
from pondage.ledger.database.migrate import migrate
from pondage.ledger.kinds.failed import Failed
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.queue.claims import Queue
from pondage.ledger.step import advance
from pondage.work.failure import Failure
from pondage.work.snapshot import DataFile, SnapshotContent

MakeDriver = Callable[[FakeClock], Driver]
SECOND = 1_000_000
SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'


def pond(
    name: str,
    *,
    sources: dict[str, bool] | None = None,
    ripples: dict[str, list[str]] | None = None,
    version: str = "1.0.0",
    code: str = "c1",
    triggers: Triggers | None = None,
    retries: Retries | None = None,
    always: bool = False,
    labels: tuple[str, ...] = (),
    pool: str | None = None,
) -> PondDefinition:
    """A Pond whose root Ripples read the same-named Ripple of every Source; Ripples are given with their parents."""
    shape = ripples or {name: []}
    given = sources or {}
    return PondDefinition(
        name=name,
        version=version,
        entry=f"ponds:{name}",
        sources=tuple(SourceDefinition(pond=source, major=1, required=required) for source, required in given.items()),
        ripples=tuple(
            RippleDefinition(
                name=ripple,
                digest=f"{code}-{ripple}",
                always=always,
                reads=tuple(
                    [ReadDefinition(parameter=parent, ripple=parent) for parent in parents]
                    if parents
                    else [
                        ReadDefinition(parameter=source, ripple=source, pond=source, optional=not required)
                        for source, required in given.items()
                    ]
                ),
            )
            for ripple, parents in shape.items()
        ),
        triggers=triggers or Triggers(),
        retries=retries or Retries(),
        labels=labels,
        pool=pool,
    )


def content(work_: Work, rows: int = 1) -> SnapshotContent:
    """What a Ripple would have written."""
    return SnapshotContent(
        path=f"/warehouse/{work_.claim.token}",
        files=(DataFile(name="part-0.parquet", rows=rows, bytes=10),),
        schema=SCHEMA,
        rows=rows,
        bytes=10,
    )


def _close_with(driver: Driver, ledger: Ledger) -> None:
    """Let the threads of a ledger end before its driver is closed, as `Ledger.close` does: fixtures know drivers."""
    close = driver.close

    def close_all() -> None:
        ledger.reads.close()
        ledger.leases.close()
        close()

    driver.close = close_all  # type: ignore[method-assign]


class World:
    """One ledger on a real file, with a clock that only a test moves."""

    def __init__(self, make_driver: MakeDriver, *, durability: Durability | None = None):
        self.clock = FakeClock(1_000 * SECOND)
        self.make_driver = make_driver
        self.ledger = self.open(1, durability)

    def open(self, seed: int, durability: Durability | None = None) -> Ledger:
        """The same ledger once more, as another process would hold it."""
        driver = self.make_driver(self.clock)
        migrate(driver)
        ledger = Ledger(driver, ids=SeededIds(seed), durability=durability)
        _close_with(driver, ledger)
        return ledger

    def deploy(self, *ponds: PondDefinition, removed: tuple[str, ...] = (), project: str = "p", archive: bytes = b"a"):
        with self.ledger.reading() as tx:
            expected = deployed(tx, self.ledger, "main")
        return deploy(
            self.ledger,
            "main",
            project=project,
            definitions=list(ponds),
            removed=[PondKey(key) for key in removed],
            archive=archive,
            summary="{}",
            expected=expected,
        )

    def send(self, event: Event) -> None:
        verbs.send(self.ledger, "main", event)

    def worker(self, **options: object) -> Worker:
        return Worker(self, **options)  # type: ignore[arg-type]

    def pass_time(self, seconds: float) -> None:
        self.clock.time += int(seconds * SECOND)
        advance.advance_due(self.ledger, process=None)

    def rows(self, statement: str, **values: object) -> list[dict[str, object]]:
        with self.ledger.reading() as tx:
            return [dict(row) for row in tx.rows(statement, **values)]  # type: ignore[arg-type]

    def one(self, statement: str, **values: object) -> object:
        (row,) = self.rows(statement, **values)
        (value,) = row.values()
        return value

    def runs(self, name: str) -> list[tuple[str, int]]:
        return [
            (str(row["state"]), int(row["freshness"]))  # type: ignore[call-overload]
            for row in self.rows(
                """SELECT r.state AS state, r.freshness AS freshness FROM runs r JOIN ponds p ON p.id = r.pond
                   WHERE p.name = :name ORDER BY r.id""",
                name=name,
            )
        ]


class Worker:
    """A process that claims and commits, one piece of work at a time unless a test holds more."""

    def __init__(self, world: World, *, labels: frozenset[str] = frozenset(), pid: int = 1):
        self.world = world
        self.labels = labels
        with world.ledger.transaction() as tx:
            self.id = processes.register(
                tx, public_id=world.ledger.ids.new("p"), machine="m", pid=pid, pid_started=pid, role="worker", slots=1
            )

    @property
    def row(self) -> processes.ProcessRow:
        with self.world.ledger.reading() as tx:
            return next(row for row in processes.alive(tx) if row.id == self.id)

    def queues(self) -> list[Queue]:
        found = {
            queue.id: queue
            for code in {str(row["code"]) for row in self.world.rows("SELECT code FROM queues")}
            for queue in polling.queues_for(self.world.ledger, code=code, labels=self.labels)
        }
        return [found[identity] for identity in sorted(found)]

    def claim(self, *, token: str | None = None, is_alone: bool = True) -> Work | None:
        return work.claim_work(
            self.world.ledger,
            process=self.id,
            queues=self.queues(),
            token=token or self.world.ledger.ids.new("t"),
            is_alone=is_alone,
        )

    def finish(self, held: Work) -> bool:
        return guarded.commit(self.world.ledger, held, Written(content(held)), process=self.id)

    def fail(self, held: Work, code: str = "BOOM") -> bool:
        return guarded.commit(
            self.world.ledger, held, Failed(Failure(code=code, message="it went wrong")), process=self.id
        )

    def drain(self, limit: int = 1_000) -> list[str]:
        """Do everything that is claimable, and answer which Ripples ran, in order."""
        done: list[str] = []
        while (held := self.claim()) is not None:
            assert len(done) < limit, f"it never ends: {done[-10:]}"
            done.append(held.claim.node)
            assert self.finish(held)
            self.world.clock.time += SECOND
        return done


def state(world: World, key: str) -> dict[str, object]:
    """The machine's state of a Pond."""
    name, _, major = key.partition("@")
    text = world.one("SELECT state FROM ponds WHERE name = :name AND major = :major", name=name, major=int(major or 1))
    return msgspec.structs.asdict(decode_state(str(text)))
