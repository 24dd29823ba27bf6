"""`vacuum` beside those who read and write: cut into each other at every statement, no file is missed that is needed.

`vacuum` marks what nobody needs and deletes it a grace later. In between somebody may pin what it marked, publish old
files, or write once more though it was declared dead.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from pondage.define.project.durability import Durability
from pondage.engine.services.vacuum import READER_GRACE_S, vacuum
from pondage.kernel.demand.events import Force, Pulse
from pondage.ledger.act import verbs
from pondage.ledger.commit import guarded
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.driver import Driver
from pondage.ledger.database.postgres import PostgresDriver
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import RippleTask, Written
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap
from tests.histories.postgres import PostgresSchema
from tests.ledger.harness import SECOND, World, content, pond
from tests.services.interleaving import EVERY, cut_everywhere
from tests.services.postgres import PostgresServer

GRACE = int(2 * READER_GRACE_S * SECOND)
KEEP = Durability(keep_runs=2, retention_days=0)
STRICT = Durability(keep_runs=1, retention_days=0)
"""Two machines with other settings: one still pins what the other finds unused."""


class Store:
    """A diamond whose upper left side is one Run ahead: only its older Run goes together with the right side.

    That older Run is out of retention, and the next Run of `both` will pin it. Meanwhile somebody works on `other`.
    """

    def __init__(self, server: PostgresServer, folder: Path, *, is_marked: bool = False) -> None:
        PostgresSchema(server.url, "vacuumed")
        self.warehouse = folder / f"warehouse{len(list(folder.iterdir()))}"
        self.warehouse.mkdir()
        self._made: list[Driver] = []

        def make(clock: FakeClock) -> Driver:
            self._made.append(PostgresDriver(server.url, schema="vacuumed", clock=clock))
            return self._made[-1]

        self.world = World(make, durability=KEEP)
        self.world.deploy(
            pond("orders"),
            pond("left", sources={"orders": True}),
            pond("right", sources={"orders": True}),
            pond("both", sources={"left": True, "right": True}),
            pond("other"),
        )
        self.worker = self.world.worker()
        for key in ("both@1", "left@1"):
            self.world.send(Pulse(pond=key))
            self.finish_all()
        self.old = self._paths("left")[0]
        self.world.send(Pulse(pond="other@1"))
        held = self.worker.claim()
        assert held is not None
        self.held: Work = held
        self.place = self.write(held)
        if is_marked:
            self._vacuum()
            self.world.clock.time += GRACE

    # -------------------------------------------------------------------------------------------------- the acts

    def pin(self, ledger: Ledger) -> object:
        return verbs.send(ledger, "main", Force(pond="both@1"))

    def vacuum(self, ledger: Ledger) -> object:
        ledger.durability = STRICT
        return vacuum(ledger, str(self.warehouse))

    def commit(self, ledger: Ledger) -> object:
        written = msgspec.structs.replace(content(self.held), path=str(self.place))
        return guarded.commit(ledger, self.held, Written(written), process=self.worker.id)

    def commit_late(self, ledger: Ledger) -> object:
        """Somebody who was declared dead goes on: it writes, publishes in vain, and writes once more."""
        reap.reap_process(self.world.ledger, self.worker.row, reason="silent")
        self.write(self.held)
        assert not self.commit(ledger), "it was fenced"
        return self.write(self.held)

    # ------------------------------------------------------------------------------------------------- afterwards

    def ending(self) -> list[str]:
        """Look at every moment until nobody needs anything: what is needed is there, what is not is gone."""
        self._let_grace_pass()
        found = self._missing("after the sweep")
        with self.world.ledger.reading() as tx:
            rows = processes.alive(tx)
        for row in rows:
            reap.reap_process(self.world.ledger, row, reason="silent")
        self.worker = self.world.worker(pid=9)
        self.finish_all()
        found += self._missing("when everything was done")
        self._let_grace_pass()
        self._let_grace_pass()
        found += self._missing("in the end")
        named = {self._named(row) for row in self.world.rows("SELECT path FROM snapshots WHERE swept_at IS NULL")}
        found += [f"{each} is left over" for each in self.warehouse.glob("data/*/*/*") if str(each) not in named]
        if Path(self.old).exists():
            found.append("the old Run is kept for ever")
        return found

    def close(self) -> None:
        for driver in self._made:
            driver.close()

    # --------------------------------------------------------------------------------------------------- helpers

    def write(self, held: Work) -> Path:
        """Write files that look old: only the ledger says that they are needed."""
        place = self.warehouse / "data" / "d" / "r" / held.claim.token
        place.mkdir(parents=True, exist_ok=True)
        (place / "part-0.parquet").write_text("rows")
        for each in (place / "part-0.parquet", place):
            os.utime(each, (0, 0))
        return place

    def finish_all(self) -> None:
        while (held := self.worker.claim()) is not None:
            self._read(held)
            written = msgspec.structs.replace(content(held), path=str(self.write(held)))
            assert guarded.commit(self.world.ledger, held, Written(written), process=self.worker.id)
            self.world.clock.time += SECOND

    def _read(self, held: Work) -> None:
        assert isinstance(held.task, RippleTask)
        for given in held.task.inputs.values():
            assert given is None or Path(given.path).is_dir(), f"{held.claim.node} misses {given.path}"

    def _vacuum(self) -> None:
        try:
            self.vacuum(self.world.ledger)
        finally:
            self.world.ledger.durability = KEEP

    def _let_grace_pass(self) -> None:
        self._vacuum()
        self.world.clock.time += GRACE
        for place in self.warehouse.glob("data/*/*/*"):
            os.utime(place, (0, 0))
        self._vacuum()

    def _missing(self, when: str) -> list[str]:
        rows = self.world.rows("SELECT path FROM snapshots WHERE swept_at IS NULL")
        return [f"{each} is missing {when}" for each in map(self._named, rows) if not Path(each).is_dir()]

    def _named(self, row: dict[str, object]) -> str:
        return str(row["path"])

    def _paths(self, ripple: str) -> list[str]:
        rows = self.world.rows(
            "SELECT s.path AS path FROM snapshots s JOIN datasets d ON d.id = s.dataset WHERE d.ripple = :ripple"
            " ORDER BY s.id",
            ripple=ripple,
        )
        return [self._named(row) for row in rows]


PAIRS = [
    (one, other, is_marked)
    for act, is_marked in (("pin", False), ("pin", True), ("commit", False), ("commit_late", False))
    for one, other in ((act, "vacuum"), ("vacuum", act))
]


@pytest.mark.parametrize(("one", "other", "is_marked"), PAIRS)
def test_what_is_needed_stays_and_what_is_not_goes(
    postgres: PostgresServer, tmp_path: Path, one: str, other: str, is_marked: bool
) -> None:
    """With `is_marked` the grace is over and files are deleted, else this `vacuum` marks them."""
    cut_everywhere(
        lambda: Store(postgres, tmp_path, is_marked=is_marked), postgres.url, one, other, every=2 * EVERY - 1
    )


def test_the_next_run_would_pin_what_a_vacuum_finds_unused(postgres: PostgresServer, tmp_path: Path) -> None:
    """What makes the races above races."""
    store = Store(postgres, tmp_path)
    store.pin(store.world.ledger)
    claimed = store.world.worker(pid=2).claim()
    assert claimed is not None
    assert isinstance(claimed.task, RippleTask)
    given = claimed.task.inputs["left"]
    assert given is not None
    assert given.path == store.old
    store.close()
    store = Store(postgres, tmp_path)
    store.vacuum(store.world.ledger)
    marked = store.world.rows("SELECT path FROM snapshots WHERE tombstoned_at IS NOT NULL")
    assert store.old in {str(row["path"]) for row in marked}
    store.close()
