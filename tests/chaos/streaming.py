"""A project with flows, and real workers that a test, or a program of theirs, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pondage.cli.files.tree import stored_tree
from pondage.connect.extraction import extracted
from pondage.define.types.segment import Segment
from pondage.engine.process.config import WorkerConfig, config_of
from pondage.engine.supervise.supervisor import start_process
from pondage.ledger.act import extracts, jobs
from pondage.ledger.data import segments
from pondage.ledger.data.segments import Stream
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import processes
from pondage.ledger.upkeep import reap
from pondage.project.project import load_project
from pondage.views.jobs.flows import FlowDetail, flow_run
from tests.patience import PATIENCE_S
from tests.services.postgres import wait_until

SETTINGS = """[project]
name = "streaming"
modules = ["parts.py"]
[worker]
slots = 2
[spark]
master = "local[1]"
memory = "1g"
[durability]
poll_s = 0.1
"""


class Streaming:
    """Flows of one project. The test is its supervisor: it starts workers and buries them."""

    def __init__(self, root: Path, parts: str, programs: Mapping[str, str]) -> None:
        self.root = root
        (root / "programs").mkdir(parents=True)
        (root / "pondage.toml").write_text(SETTINGS)
        (root / "parts.py").write_text(parts)
        for name, text in programs.items():
            (root / "programs" / name).write_text(text)
        self.project = load_project(root)
        self.config = config_of(self.project)
        self.ledger: Ledger = self.config.open_ledger()
        self._code = ""
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    def submit(self, tree: object) -> str:
        """Begin a flow, and answer its id."""
        file = self.root / "tree.json"
        file.write_text(json.dumps(tree))
        stored, archive = stored_tree(self.project, str(file), name="flow")
        self._code = stored.archive
        return jobs.start_job(self.ledger, "main", stored, archive=archive, reason="submitted")

    def work(self) -> str:
        """Start a worker, and answer its name."""
        name = self.ledger.ids.new("p")
        config = WorkerConfig(engine=self.config, public_id=name, code=self._code, parent=os.getpid())
        self._workers[name] = start_process(config)
        return name

    def killed(self, name: str) -> None:
        """Wait until a worker was killed, and bury it, as its supervisor would."""
        assert self._workers[name].wait(PATIENCE_S) == -signal.SIGKILL
        with self.ledger.reading() as tx:
            row = next(row for row in processes.alive(tx) if row.public_id == name)
        reap.reap_process(self.ledger, row, reason="killed by the test")

    def kill(self, name: str) -> None:
        self._workers[name].kill()
        self.killed(name)

    def ended(self, run: str) -> FlowDetail:
        """Wait for the end of a flow."""
        wait_until(lambda: self.detail(run).flow.run.ended_at is not None)
        return self.detail(run)

    def detail(self, run: str) -> FlowDetail:
        with self.ledger.reading() as tx:
            return flow_run(tx, self.ledger, "main", run)

    def stream(self, run: str, node: str) -> list[Segment]:
        """What is in the stream `NODE.out` by now."""
        with self.ledger.reading() as tx:
            return segments.read(tx, Stream(jobs.find(tx, "main", run).id, node, "out"))

    def extracted(self, run: str, name: str) -> list[dict[str, object]]:
        """The rows of an extract as JSON lines."""
        with self.ledger.reading() as tx:
            one = extracts.find(tx, self.ledger, "main", run, name)
        return [json.loads(line) for line in b"".join(extracted(self.ledger, one)).splitlines()]

    def close(self) -> None:
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            worker.wait(PATIENCE_S)
            assert worker.stdin is not None
            worker.stdin.close()
        self.ledger.close()
