"""Random lives of three environments: nobody loses what it reads, and nothing below changes what is above."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.partition import PartitionColumn, PartitionDefinition
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.services.vacuum import vacuum
from pondage.kernel.demand.events import Force, Pulse, Tap, Wave
from pondage.ledger.act import promotion, removal, verbs
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.act.promotion import CannotPromote
from pondage.ledger.act.removal import CannotRemove
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.data import manifests, snapshots
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.step import advance
from pondage.ledger.tables import environments
from pondage.ledger.upkeep.replay import replay
from pondage.work.snapshot import Increment
from tests.ledger.harness import MakeDriver, Worker, World, content, pond

SOURCES = {"orders": None, "sales": "orders", "report": "sales", "both": "sales"}
PARENTS = {"main": None, "dev": "main", "feature": "dev"}


BY = PartitionDefinition(by=(PartitionColumn(column="number"),))


class Lives:
    """A ledger with random environments, and everything that can happen to them."""

    def __init__(self, make_driver: MakeDriver, seed: int, warehouse: Path) -> None:
        self.random = random.Random(seed)
        self.warehouse = warehouse
        self.world = World(make_driver, durability=Durability(keep_runs=self.random.choice([1, 2]), retention_days=0.5))
        self.worker = Worker(self.world)
        self.mode: Literal["replace", "append", "partition"] = self.random.choice(["replace", "append", "partition"])
        self.deploy("main", *SOURCES)
        self.work()

    def definition(self, name: str) -> PondDefinition:
        source = SOURCES[name]
        sources = {} if source is None else {source: True}
        if name == "both":
            sources["orders"] = True
        made = pond(name, sources=sources, code=self.random.choice(["c1", "c1", "c2"]))
        mode = "replace" if name == "report" else self.mode
        return msgspec.structs.replace(made, mode=mode, partition=BY if mode == "partition" else None)

    def deploy(self, environment: str, *names: str) -> None:
        ledger = self.world.ledger
        with ledger.reading() as tx:
            found = deployed(tx, ledger, environment)
            parent = PARENTS[environment]
            is_there = parent is None or parent in [each.name for each in environments.rows(tx)]
        if not is_there:
            return
        removed = [one.key for one in found if one.definition.name not in names and self.random.random() < 0.3]
        chosen = [self.definition(name) for name in names]
        deploy(
            ledger,
            environment,
            project="p",
            definitions=chosen,
            removed=[] if environment == "main" else removed,
            archive=b"a",
            summary="{}",
            expected=found,
            parent=parent,
        )

    def known(self) -> list[str]:
        with self.world.ledger.reading() as tx:
            return [each.name for each in environments.rows(tx)]

    def own(self, environment: str) -> list[PondKey]:
        with self.world.ledger.reading() as tx:
            return [one.key for one in deployed(tx, self.world.ledger, environment)]

    def ask(self, environment: str) -> None:
        key = self.random.choice(self.own(environment) or [None])
        if key is not None:
            event = self.random.choice([Tap(pond=key), Force(pond=key), Pulse(pond=key), Wave(pond=key)])
            verbs.send(self.world.ledger, environment, event)

    def work(self, most: int = 12) -> None:
        for _ in range(most):
            advance.advance_due(self.world.ledger, process=None)
            held = self.worker.claim()
            if held is None:
                return
            self.finish(held)
            self.world.clock.time += 1_000_000

    def finish(self, held: Work) -> None:
        written = content(held)
        assert isinstance(held.task, RippleTask)
        if held.task.definition.mode != "replace":
            base = Increments(self.world.ledger, held.claim).base()
            increment = Increment(base=None if base is None else base.snapshot)
            if held.task.definition.mode == "partition":
                partition = (self.random.randint(1, 4),)
                files = tuple(msgspec.structs.replace(file, partition=partition) for file in written.files)
                written = msgspec.structs.replace(written, files=files)
                gone = (self.random.randint(1, 4),)
                increment = msgspec.structs.replace(increment, by=("number",), partitions=(partition, gone))
            written = msgspec.structs.replace(written, increment=increment)
        assert guarded.commit(self.world.ledger, held, Written(written), process=self.worker.id)

    def vacuum(self) -> None:
        self.world.clock.time += 60_000_000_000
        vacuum(self.world.ledger, str(self.warehouse))
        self.world.clock.time += 10_000_000_000
        vacuum(self.world.ledger, str(self.warehouse))

    def shown(self, environment: str) -> dict[str, tuple[int, ...]]:
        """The snapshots whose files every table of an environment is made of."""
        found: dict[str, tuple[int, ...]] = {}
        with self.world.ledger.reading() as tx:
            for each in environments.readable(tx, environments.find(tx, environment).id):
                run = snapshots.current_run(tx, each.row.id)
                for ripple, output in ({} if run is None else snapshots.outputs(tx, run)).items():
                    parts = manifests.snapshots_of(tx, manifests.newest(tx, [output.snapshot]).values())
                    found[f"{each.row.key}.{ripple}"] = (output.snapshot, *parts)
        return found

    def check(self) -> None:
        gone = {
            int(str(row["id"])) for row in self.world.rows("SELECT id FROM snapshots WHERE tombstoned_at IS NOT NULL")
        }
        for environment in self.known():
            for table, parts in self.shown(environment).items():
                assert gone.isdisjoint(parts), f"{table} of {environment} has lost files"
        with self.world.ledger.reading() as tx:
            halted = tx.rows("SELECT halted FROM actors WHERE halted IS NOT NULL OR errors > 0")
            assert not halted

    def above(self, environment: str) -> object:
        """Everything that the environments above know of their Runs and machines."""
        with self.world.ledger.reading() as tx:
            ids = [each.id for each in environments.chain(tx, environments.find(tx, environment).id)[1:]]
            runs = [tx.rows("SELECT * FROM runs WHERE environment = :id ORDER BY id", id=each) for each in ids]
            ponds = [tx.rows("SELECT * FROM ponds WHERE environment = :id ORDER BY id", id=each) for each in ids]
        return [[dict(row) for row in some] for some in (*runs, *ponds)]

    def happen(self) -> None:
        environment = self.random.choice(self.known())
        if environment != "main" and self.random.random() < 0.5:
            before = self.above(environment)
            what = self.random.choice([self.ask, self._deploy_some, self._remove])
            what(environment)
            if environment in self.known():
                assert self.above(environment) == before, f"{what.__name__} in {environment} changed what is above"
            return
        what_else = self.random.choice([self._deploy_some, self.ask, self._promote, self._below])
        what_else(environment)

    def _deploy_some(self, environment: str) -> None:
        names = list(SOURCES) if environment == "main" else self.random.sample(list(SOURCES), self.random.randint(1, 3))
        self.deploy(environment, *names)

    def _below(self, environment: str) -> None:
        for name, parent in PARENTS.items():
            if parent == environment:
                self._deploy_some(name)

    def _promote(self, environment: str) -> None:
        parent = PARENTS[environment]
        own = self.own(environment)
        if parent is None or not own:
            return
        key, ledger = self.random.choice(own), self.world.ledger
        with suppress(CannotPromote):
            with ledger.reading() as tx:
                made_by = promotion.definition_of(tx, ledger, environment, key)
                found = deployed(tx, ledger, parent)
            deploy(
                ledger,
                parent,
                project="p",
                definitions=[made_by],
                removed=[],
                archive=b"a",
                summary="{}",
                expected=found,
            )
            promotion.promote(ledger, environment, parent, [key])

    def _remove(self, environment: str) -> None:
        if self.random.random() < 0.3:
            with suppress(CannotRemove):
                removal.remove(self.world.ledger, environment)


@pytest.mark.parametrize("seed", range(25))
def test_no_environment_loses_what_it_shows_and_none_below_changes_one_above(
    make_driver: MakeDriver, tmp_path: Path, seed: int
) -> None:
    lives = Lives(make_driver, seed, tmp_path)
    for step in range(40):
        lives.happen()
        lives.work(lives.random.randint(0, 6))
        if step % 5 == 4:
            lives.vacuum()
        lives.check()
    for environment in lives.known():
        with lives.world.ledger.reading() as tx:
            found = replay(tx, lives.world.ledger, environments.find(tx, environment).id)
        assert not found.differences
