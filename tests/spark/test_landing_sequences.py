"""Files that land, change, break, are forgotten or rolled back, in any order, against tables made from scratch."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from pondage.define.values.names import PondKey
from pondage.engine.attempt.attempt import Attempt
from pondage.engine.attempt.log import AttemptLog
from pondage.engine.services.vacuum import vacuum
from pondage.errors import LedgerError
from pondage.kernel.demand.events import Clear, Pulse
from pondage.ledger.act import compaction, rollback, verbs
from pondage.ledger.commit import guarded, polling, work
from pondage.operations import landed_files
from tests.operations.calling import Here
from tests.spark.pipeline import Pipeline

PONDS = """
from pondage import pond, sources

@pond(mode="append")
def trips(spark, run):
    return sources.files(spark, run, "{folder}", format="csv", schema="id bigint, fare double", drift="add",
                         bad="quarantine", replaced="append", most=3)
"""
EXCHANGED = """
from pondage import pond, sources

@pond(mode="partition", by=["day"])
def trips(spark, run):
    rows = sources.files(spark, run, "{folder}", format="csv", schema="id bigint, fare double", drift="add",
                         bad="quarantine", replaced="replace", keep=["_file"], most=3)
    return rows.selectExpr("*", "concat('d', id % 4) AS day")
"""
SEQUENCES = int(os.environ.get("PONDAGE_LANDING_SEQUENCES", "2"))
Row = tuple[int, str | None]


class Content(msgspec.Struct, frozen=True):
    """What a file holds: good rows (id, fee), how many bad ones, and when it was written."""

    rows: tuple[Row, ...]
    bad: int
    at: int


class State(msgspec.Struct):
    """What a table must have: its rows, its bad rows, and which content of each file it has taken."""

    rows: Counter[Row]
    bad: int
    taken: dict[str, Content]

    def copy(self) -> State:
        return State(rows=Counter(self.rows), bad=self.bad, taken=dict(self.taken))


class Story:
    """The folder, the ledger, and beside them what must be true, kept in plain Python."""

    def __init__(self, folder: Path, pipeline: Pipeline, seed: int, *, is_exchanged: bool = False) -> None:
        self.is_exchanged = is_exchanged
        self.chance = random.Random(seed)
        self.folder = folder
        self.pipeline = pipeline
        self.there: dict[str, Content] = {}
        self.state = State(rows=Counter(), bad=0, taken={})
        self.shown: dict[int, State] = {}
        self._clock = 1_700_000_000
        self._next = 0

    def land(self) -> None:
        """Write a new file, or another content of one that is there."""
        name = self.chance.choice([f"f{len(self.there)}.csv", *self.there])
        has_fee, bad = self.chance.random() < 0.3, int(self.chance.random() < 0.3)
        rows: list[Row] = []
        for _ in range(self.chance.randrange(1, 4)):
            self._next += 1
            rows.append((self._next, str(self._next) if has_fee else None))
        lines = ["id,fare,fee" if has_fee else "id,fare"]
        lines += [f"{key},1.5" + (f",{fee}" if has_fee else "") for key, fee in rows]
        lines += ["bad,1.5" + (",0" if has_fee else "")] * bad
        (self.folder / name).write_text("\n".join(lines) + "\n")
        self._clock += 1
        os.utime(self.folder / name, (self._clock, self._clock))
        self.there[name] = Content(rows=tuple(rows), bad=bad, at=self._clock)

    def run(self) -> None:
        """Ask once: everything that waits is taken, three files at a time."""
        self.pipeline.run("trips")
        assert self.pipeline.failures == []
        for name, content in self.there.items():
            if self.state.taken.get(name) != content:
                if self.is_exchanged and name in self.state.taken:
                    self.state.rows.subtract(self.state.taken[name].rows)
                self.state.rows.update(content.rows)
                self.state.bad += content.bad
                self.state.taken[name] = content
        with self.pipeline.ledger.reading() as tx:
            newest = tx.one("SELECT max(id) FROM runs WHERE state = 'completed'", int)
        self.shown[newest] = self.state.copy()

    def crash(self) -> None:
        """Let a worker do all of its work, and never commit it."""
        verbs.send(self.pipeline.ledger, "main", Pulse(pond=PondKey("trips@1")))
        held = work.claim_work(
            self.pipeline.ledger, process=self.pipeline.process, token=self.pipeline.ledger.ids.new("t"), is_alone=True,
            queues=polling.queues_for(self.pipeline.ledger, code=self.pipeline.code),
        )  # fmt: skip
        assert held is not None
        log = AttemptLog(self.pipeline.path / "lost.log")
        self.pipeline.executor.execute(Attempt(held, log, clock=lambda: 0.0, on_phase=lambda _: None))
        log.close()
        if self.chance.random() < 0.5:
            self.land()  # after it was decided what that Run reads
        assert guarded.release(self.pipeline.ledger, held)
        while self.pipeline.attempt():
            pass
        if self.pipeline.failures:
            # One of the files that it had decided to read was written anew: it is told, and looked at anew.
            assert {each.code for each in self.pipeline.failures} == {"FILE_GONE"}
            self.pipeline.failures.clear()
            verbs.send(self.pipeline.ledger, "main", Clear(pond=PondKey("trips@1")))
        self.run()
        # What landed after the decision is taken by the next Run.
        self.run()

    def forget(self) -> None:
        if self.state.taken:
            name = self.chance.choice(sorted(self.state.taken))
            Here(self.pipeline.ledger).ask(landed_files.files_forget, pond="trips", paths=[name])
            if not self.is_exchanged:
                del self.state.taken[name]

    def go_back(self) -> None:
        """Show an older Run: the next one takes again what came after. Wishes that it granted are wishes again."""
        if len(self.shown) > 1:
            run = self.chance.choice(sorted(self.shown)[:-1])
            rollback.roll_back_pond(self.pipeline.ledger, "main", PondKey("trips@1"), run)
            while self.pipeline.attempt():
                pass
            self.state = self.shown[run].copy()

    def compact(self) -> None:
        with suppress(LedgerError):
            compaction.begin(self.pipeline.ledger, "main", PondKey("trips@1"))
        while self.pipeline.attempt():
            pass

    def check(self) -> None:
        with self.pipeline.ledger.reading() as tx:
            newest = tx.one("SELECT content FROM snapshots ORDER BY id DESC LIMIT 1", str)
        fee = "fee" if "fee" in newest else "NULL"
        seen = Counter((int(row[0]), row[1]) for row in self.pipeline.rows(f"select id, {fee} from trips"))
        assert seen == +self.state.rows
        if not self.is_exchanged:
            assert len(self.pipeline.rows("select _bad from trips__bad")) == self.state.bad


@pytest.mark.parametrize("ponds", [PONDS, EXCHANGED], ids=["appended", "exchanged"])
@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_every_file_is_in_the_table_as_often_as_it_was_meant_to_be(
    tmp_path: Path, deployed: Callable[[str], Pipeline], seed: int, ponds: str
) -> None:
    folder = tmp_path / "landing"
    folder.mkdir()
    story = Story(folder, deployed(ponds.format(folder=folder)), seed, is_exchanged=ponds == EXCHANGED)
    story.land()
    story.run()
    has_forgotten = False
    for _ in range(9):
        for _ in range(story.chance.randrange(3)):
            story.land()
        step = story.chance.choice(["run", "run", "crash", "forget", "back", "vacuum", "compact"])
        if step == "forget":
            story.forget()
            # In a table that is appended to, a wish that was granted later counts again after a rollback.
            has_forgotten = not story.is_exchanged
        elif step == "back" and not has_forgotten:
            story.go_back()
        elif step == "vacuum":
            vacuum(story.pipeline.ledger, story.pipeline.config.warehouse)
        elif step == "compact":
            story.compact()
        elif step == "crash":
            story.crash()
        story.run()
        if story.is_exchanged:
            story.check()
    story.check()
