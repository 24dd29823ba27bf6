"""Calling a Ripple again with everything, when a table that it newly follows cannot say what changed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pondage.define.pond.run import Followed, Run
from pondage.engine.attempt.followed_tables import NeedsAll
from pondage.engine.execute.growing_tables import Growing
from pondage.errors import PondageError
from pondage.kernel.demand.events import Pulse
from pondage.ledger.commit import work
from pondage.ledger.commit.work import Work
from pondage.ledger.database.clock import FakeClock
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.spark.files import changes
from pondage.spark.ripple import ripple
from pondage.spark.ripple.merge import Merge
from pondage.spark.ripple.ripple import RippleWork
from pondage.work.snapshot import SnapshotContent
from tests.ledger.commit.test_growing_rules import appending, commit_batch
from tests.ledger.harness import Worker, World, content, pond


class Called:
    """An author's code: it asks for the changes of some tables, and may catch whatever that raises."""

    def __init__(self, *tables: str, is_catching: bool = False) -> None:
        self.tables = tables
        self.is_catching = is_catching
        self.calls: list[tuple[bool, str]] = []

    def run(self, world: World, held: Work) -> SnapshotContent:
        assert held.ripple is not None
        task = held.ripple

        def prepared(followed: Followed, merge: Merge | None) -> RippleWork:
            return RippleWork(
                pond=task.definition.name, ripple=task.ripple, function=None, inputs=task.inputs,
                run=Run(freshness_us=0, followed=followed), destination="/w/token", merge=merge,
            )  # fmt: skip

        done = Growing(None, world.ledger, held.claim, task).run(prepared)  # type: ignore[arg-type]
        assert done is not None
        return msgspec.structs.replace(content(held), increment=done.increment)

    def body(self, _session: object, given: RippleWork) -> SnapshotContent:
        try:
            for table in self.tables:
                given.run.changes(table)
        except NeedsAll as error:
            self.calls.append((False, given.destination))
            if not self.is_catching:
                raise PondageError("the Ripple failed", code="RIPPLE_FAILED") from error
        else:
            self.calls.append((given.run.is_full, given.destination))
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
                assert work.commit_written(world.ledger, held, author.run(world, held), process=worker.id)
            else:
                assert commit_batch(world, worker, held)

    world.deploy(appending("raw"), appending("mid", "raw"))
    first = Called("raw")
    asked(first)
    assert first.calls == [(True, "/w/token")]
    both = msgspec.structs.replace(pond("mid", sources={"raw": True, "fx": True}, code="c2"), mode="append")
    world.deploy(appending("raw"), appending("fx"), both)
    second = Called("raw", "fx.fx", is_catching=is_catching)
    asked(second)
    assert second.calls == [(False, "/w/token"), (True, "/w/token/token.again")]
    assert world.one("SELECT number FROM batches ORDER BY snapshot DESC LIMIT 1") == 1, "its table began anew"
    world.ledger.close()
