"""Files that land, on a real ledger, with workers that read them in plain Python: everything but Spark is as shipped.

What a Run takes is decided, kept, tried again, rolled back and forgotten by the code that workers run. `State` is what
the table must have, told from the files alone.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from pondage.connect.landing import landed_files
from pondage.connect.landing.asked import Asked
from pondage.connect.landing.reading import Reading
from pondage.connect.landing.taken_lists import Entry
from pondage.define.pond.run import Run, Unchanged
from pondage.define.project.durability import Durability
from pondage.define.values.names import PondKey
from pondage.engine.attempt.followed_tables import Following
from pondage.kernel.demand.events import Force, Pulse
from pondage.ledger.act import rollback
from pondage.ledger.commit import guarded
from pondage.ledger.commit.increments import Increments
from pondage.ledger.commit.positions import Positions
from pondage.ledger.data import landed, manifests, snapshots
from pondage.ledger.kinds.kind import Ending, Work
from pondage.ledger.kinds.ripple import RippleTask, Same, Written
from pondage.ledger.upkeep import reap
from pondage.work.snapshot import DataFile, SnapshotContent
from tests.ledger.harness import SCHEMA, SECOND, MakeDriver, World, pond

Fate = Literal["finish", "crash", "zombie"]
MOST = 3
SCHEMA_OF_FILES = StructType([StructField("id", LongType())])


class State(msgspec.Struct):
    """How often the table has each row, and which writing of each file it has taken last."""

    rows: Counter[int]
    taken: dict[str, int]

    def copy(self) -> State:
        return State(rows=Counter(self.rows), taken=dict(self.taken))


class Landing:
    """A folder and a Pond that takes its files, three in a Run; whatever is asked of it is drawn by lot."""

    def __init__(self, make_driver: MakeDriver, root: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(landed_files, "rows_of", self._read)
        self.chance = random.Random(seed)
        self.world = World(make_driver, durability=Durability(crash_budget=100, crash_delay_s=0.0, probe_s=0.0))
        self.world.deploy(msgspec.structs.replace(pond("trips"), mode="append"))
        self.worker = self.world.worker()
        self.folder, self.place = root / "landing", root / "taken"
        self.folder.mkdir()
        self.contents: dict[int, tuple[int, ...]] = {}
        self.there: dict[str, int] = {}
        self.batches: dict[str, tuple[int, ...]] = {}
        self.state = State(rows=Counter(), taken={})
        self.shown: dict[int, State] = {}
        self._rows: tuple[int, ...] = ()

    def land(self, *, is_new: bool = False) -> None:
        """Write a new file, or (unless `is_new`) another content of one that is there."""
        name = self.chance.choice([f"f{len(self.there)}.csv", *(() if is_new else self.there)])
        writing = len(self.contents) + 1
        self.contents[writing] = tuple(writing * 10 + each for each in range(self.chance.randrange(3)))
        (self.folder / name).write_text("\n".join(["id", *map(str, self.contents[writing])]) + "\n")
        os.utime(self.folder / name, (1_700_000_000 + writing, 1_700_000_000 + writing))
        self.there[name] = writing

    def ask(self, fates: Sequence[Fate] = ("finish",)) -> None:
        """Ask once, and do all the work: everything that waits is taken, however often whoever takes it dies."""
        self.world.clock.time += SECOND
        self.world.send(Pulse(pond=PondKey("trips@1")))
        self._work(fates)

    def take_all(self) -> None:
        """What must be true when nothing waits any more."""
        for name, writing in self.there.items():
            if self.state.taken.get(name) != writing:
                self.state.rows.update(self.contents[writing])
                self.state.taken[name] = writing
        self.shown[self._newest_run()] = self.state.copy()

    def force(self) -> None:
        self.world.clock.time += SECOND
        self.world.send(Force(pond=PondKey("trips@1"), full=True))
        self.state = State(rows=Counter(), taken={})
        self._work(("finish",))

    def forget(self) -> None:
        if self.state.taken:
            name = self.chance.choice(sorted(self.state.taken))
            with self.world.ledger.transaction() as tx:
                landed.forget(tx, tx.one("SELECT id FROM datasets", int), [name])
            del self.state.taken[name]

    def go_back(self) -> None:
        if len(self.shown) > 1:
            run = self.chance.choice(sorted(self.shown)[:-1])
            rollback.roll_back_pond(self.world.ledger, "main", PondKey("trips@1"), run)
            self._work(("finish",))
            self.state = self.shown[run].copy()

    @property
    def table(self) -> Counter[int]:
        """What the Pond shows, batch by batch."""
        with self.world.ledger.reading() as tx:
            shown = snapshots.current_run(tx, tx.one("SELECT id FROM ponds", int))
            assert shown is not None
            _, content = manifests.table(tx, snapshots.outputs(tx, shown)["trips"].snapshot)
        return Counter(row for file in content.files for row in self.batches[file.name])

    def _newest_run(self) -> int:
        with self.world.ledger.reading() as tx:
            return tx.one("SELECT max(id) FROM runs WHERE state = 'completed'", int)

    def _work(self, fates: Sequence[Fate]) -> None:
        while (held := self.worker.claim()) is not None:
            self.world.clock.time += SECOND
            fate = self.chance.choice(fates)
            ending = self._carried_out(held)
            if fate == "finish":
                assert guarded.commit(self.world.ledger, held, ending, process=self.worker.id)
                continue
            if self.chance.random() < 0.5:
                self.land(is_new=True)  # after it was decided which files this Run reads
            reap.reap_process(self.world.ledger, self.worker.row, reason="it was silent")
            dead, self.worker = self.worker, self.world.worker()
            if fate == "zombie":
                assert not guarded.commit(self.world.ledger, held, ending, process=dead.id)

    def _carried_out(self, held: Work) -> Ending:
        """Call what an author calls, and answer what a worker would commit."""
        run = Run(
            freshness_us=held.claim.freshness or 0, positions=Positions(self.world.ledger, held, str(self.place))
        )  # fmt: skip
        asked = Asked(
            path=str(self.folder), glob="*", form="csv", schema=SCHEMA_OF_FILES, drift="fail", bad="fail",
            replaced="append", folders=False, most=MOST, settle=None, marker=None, keep=(), header=True, options={},
            name=None,
        )  # fmt: skip
        following = Following(
            held.given(RippleTask), Increments(self.world.ledger, held.claim), whole=_nothing, part=_nothing
        )
        following.is_full  # noqa: B018 - a worker's Ripple asks
        try:
            landed_files.rows_that_landed(None, run, asked)  # type: ignore[arg-type]
        except Unchanged:
            return Same()
        path = f"/w/{held.claim.token}"
        self.batches[f"{path}/part"] = self._rows
        return Written(
            SnapshotContent(
                path=path, files=(DataFile(name="part", rows=len(self._rows), bytes=1),), schema=SCHEMA,
                rows=len(self._rows), bytes=1, increment=following.increment(), positions=dict(run.positions),
                lists=run.lists, left=run.left,
            )
        )  # fmt: skip

    def _read(self, reading: Reading, run: Run, entries: Sequence[Entry]) -> None:
        """Read the files as Spark would: as they are now, by the schema that was decided."""
        assert [each["name"] for each in json.loads(reading.schema)["fields"]] == ["id"]
        assert len(entries) <= MOST
        lines = [line for each in entries for line in (self.folder / each.path).read_text().splitlines()[1:]]
        self._rows = tuple(map(int, lines))


def _nothing(*_: Any) -> Any:
    return None
