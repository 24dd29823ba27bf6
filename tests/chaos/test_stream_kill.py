"""kill -9 of workers in the middle of a stream that Spark reads: each micro-batch still gives exactly one boundary."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from pondage.engine.process.config import WorkerConfig
from pondage.engine.supervise.supervisor import start_process
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap
from tests.engine.live.hosting import Hosting
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.spark

CODE = """
import os, signal
from dataclasses import dataclass
from pondage import Accumulator, Fire, Reactor

@dataclass
class Taken:
    batch: int
    values: list[int]

ticks = Accumulator.spark("ticks", Taken, every="200ms")

@ticks.query
def read(spark):
    return spark.readStream.format("rate").option("rowsPerSecond", 50).load()

@ticks.gather
def gather(rows, batch):
    values = sorted(row.value for row in rows.collect())
    for name in ("before", "after"):
        if os.path.exists(f"die-{name}-{batch % 3}"):
            os.unlink(f"die-{name}-{batch % 3}")
            if name == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            _die_after_the_commit()
    return Taken(batch, values)

def _die_after_the_commit():
    from pondage.ledger.commit import stream_batches
    commit = stream_batches.commit_batch
    def commit_and_die(*args, **kwargs):
        commit(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)
    stream_batches.commit_batch = commit_and_die

quote = Reactor("quote", sources=[ticks], strategy="sequential", on_source_failed="degrade")

@quote.graph(inline=True)
def note(ticks: Taken | None, fire: Fire) -> None:
    with open("fires.txt", "a") as file:
        file.write(f"{fire.id} {ticks.batch} {ticks.values}\\n")
"""


class Desk(Hosting):
    """A reactor over a stream, with real workers."""

    def write(self, *, version: str = "1.0.0", mark: str = "") -> None:
        (self.root / "ponds.py").write_text(CODE)
        settings = self.root / "pondage.toml"
        settings.write_text(settings.read_text() + '[spark]\nmaster = "local[1]"\nmemory = "1g"\n')

    def work(self) -> tuple[str, subprocess.Popen[bytes]]:
        public_id = self.ledger.ids.new("p")
        config = WorkerConfig(engine=self.config, public_id=public_id, code=self.code, parent=os.getpid())
        worker = start_process(config)
        self.hosts.append((public_id, worker))
        return public_id, worker

    def reap(self, public_id: str) -> None:
        """Bury a dead worker, as its supervisor would."""
        with self.ledger.reading() as tx:
            row = next(row for row in processes.alive(tx) if row.public_id == public_id)
        reap.reap_process(self.ledger, row, reason="killed by the test")

    def batches(self) -> list[int]:
        return [int(line.split(" ")[1]) for line in self.fires()]


MOMENTS = ["after", "before"] if "PONDAGE_REACTOR_DEPTH" in os.environ else ["after"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_that_is_killed_at_its_commit_loses_and_repeats_no_micro_batch(tmp_path: Path, moment: str) -> None:
    desk = Desk(tmp_path / "project")
    try:
        desk.start()
        name, first = desk.work()
        desk.until(lambda: len(desk.batches()) >= 2, what="no boundaries")
        for rest in range(3):
            (desk.root / f"die-{moment}-{rest}").touch()
        assert first.wait(PATIENCE_S) == -signal.SIGKILL
        for file in desk.root.glob("die-*"):
            file.unlink()
        desk.reap(name)
        desk.until(lambda: desk.state()["running"] is None, what="a fire hangs")
        known = len(desk.batches())
        _, second = desk.work()
        desk.until(lambda: len(desk.batches()) >= known + 2, what="nobody reads on")
        second.terminate()
        assert second.wait(PATIENCE_S) == 0
        lines = [line.split(" ", 2) for line in desk.fires()]
        assert [int(batch) for _, batch, _ in lines] == list(range(len(lines)))
        values = [value for _, _, text in lines for value in msgspec.json.decode(text)]
        assert values == list(range(len(values)))
    finally:
        desk.close()
