"""Calling a Ripple again with everything, when a table that it newly follows cannot say what changed."""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from pondage.engine.attempt.followed_tables import NeedsAll
from pondage.engine.execute.bench import Bench
from pondage.engine.execute.lineage import LineageKeeper
from pondage.engine.execute.ripple_executor import RippleExecutor
from pondage.errors import PondageError
from pondage.kernel.demand.events import Pulse
from pondage.ledger.commit import guarded
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.ledger.kinds.kind import Work
from pondage.ledger.kinds.ripple import Written
from pondage.spark.files import changes
from pondage.spark.ripple import ripple
from pondage.spark.ripple.ripple import RippleWork
from pondage.work.snapshot import SnapshotContent
from tests.engine.plain import attempt_of, engine_config
from tests.ledger.commit.test_growing_rules import appending, commit_batch
from tests.ledger.harness import Worker, World, content, pond


class PlainCode:
    """Deployed code in which every Pond has any Ripple."""

    def pond(self, _entry: str) -> object:
        declared = SimpleNamespace(function=None, expectations=())
        return SimpleNamespace(ripples=defaultdict(lambda: declared))


class Called:
    """An author's code: it asks for the changes of some tables, and may catch whatever that raises."""

    def __init__(self, path: Path, *tables: str, is_catching: bool = False) -> None:
        self.path = path
        self.tables = tables
        self.is_catching = is_catching
        self.calls: list[tuple[bool, str]] = []

    def run(self, world: World, held: Work) -> SnapshotContent:
        held = msgspec.structs.replace(held, claim=msgspec.structs.replace(held.claim, token="token"))
        attempt = attempt_of(held, self.path)
        bench = Bench(
            config=engine_config(self.path), ledger=world.ledger, code=PlainCode(),  # type: ignore[arg-type]
            lineage=LineageKeeper(world.ledger), opened=lambda _: nullcontext(None),  # type: ignore[arg-type,return-value]
        )  # fmt: skip
        done = RippleExecutor().execute(attempt, bench)
        assert isinstance(done, Written)
        return msgspec.structs.replace(content(held), increment=done.content.increment)

    def place(self, given: RippleWork) -> str:
        """Where it writes, below the directory of its Run."""
        return "/".join(Path(given.destination).relative_to(self.path / "warehouse" / "data").parts[2:])

    def body(self, _session: object, given: RippleWork) -> SnapshotContent:
        try:
            for table in self.tables:
                given.run.changes(table)
        except NeedsAll as error:
            self.calls.append((False, self.place(given)))
            if not self.is_catching:
                raise PondageError("the Ripple failed", code="RIPPLE_FAILED") from error
        else:
            self.calls.append((given.run.is_full, self.place(given)))
        return SnapshotContent(path=given.destination, files=(), schema="", rows=0, bytes=0)


@pytest.mark.parametrize("is_catching", [False, True])
def test_a_newly_followed_table_means_that_everything_is_computed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_catching: bool
) -> None:
    def driver(clock: FakeClock) -> SqliteDriver:
        return SqliteDriver(tmp_path / "ledger.db", clock)

    world = World(driver)
    worker = Worker(world)
    for name in ("read_all", "read_changes"):
        monkeypatch.setattr(changes, name, lambda *_, **__: "rows")

    def asked(author: Called) -> None:
        monkeypatch.setattr(ripple, "run_ripple", author.body)
        world.clock.time += 1_000_000
        world.send(Pulse(pond="mid@1"))  # type: ignore[arg-type]
        while (held := worker.claim()) is not None:
            if held.claim.node == "mid":
                assert guarded.commit(world.ledger, held, Written(author.run(world, held)), process=worker.id)
            else:
                assert commit_batch(world, worker, held)

    world.deploy(appending("raw"), appending("mid", "raw"))
    first = Called(tmp_path, "raw")
    asked(first)
    assert first.calls == [(True, "token")]
    both = msgspec.structs.replace(pond("mid", sources={"raw": True, "fx": True}, code="c2"), mode="append")
    world.deploy(appending("raw"), appending("fx"), both)
    second = Called(tmp_path, "raw", "fx.fx", is_catching=is_catching)
    asked(second)
    assert second.calls == [(False, "token"), (True, "token/token.again")]
    assert world.one("SELECT number FROM batches ORDER BY snapshot DESC LIMIT 1") == 1, "its table began anew"
    world.ledger.close()
