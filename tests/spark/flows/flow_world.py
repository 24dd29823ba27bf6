"""A project whose trees run for real: the verbs of `pondage flow` without a terminal, on the driver of all tests."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Any

from pondage.cli.files.tree import stored_tree
from pondage.connect.extraction import extracted
from pondage.ledger.act import extracts, jobs
from pondage.plan.job.stored_job import StoredJob
from pondage.spark.session.driver import SparkDriver
from pondage.views.jobs.flows import FlowDetail, flow_run
from tests.spark.job_world import JobWorld


def tree(nodes: dict[str, Any], *edges: list[Any], **extracts: str) -> dict[str, Any]:
    """A tree; an extract is `node.port` or `node.port as format`."""
    found = {}
    for name, text in extracts.items():
        source, _, form = text.partition(" as ")
        found[name] = {"from": source, "format": form or "parquet"}
    return {"version": 1, "nodes": nodes, "edges": list(edges), "extract": found}


def rows(type_: str, *values: object) -> dict[str, Any]:
    """A constant node that is a table."""
    return {"const": {"type": type_, "value": list(values)}}


class FlowWorld(JobWorld):
    """Runs trees to their end in this thread, as a worker would."""

    def __init__(self, root: Path, driver: SparkDriver | None = None, modules: str = "", settings: str = "") -> None:
        root.mkdir(parents=True, exist_ok=True)
        # A process imports a module of one name once, and all worlds share one.
        file = f"programs_{secrets.token_hex(4)}.py"
        if modules:
            (root / file).write_text(modules, encoding="utf-8")
        if not (root / "pondage.toml").exists():
            own = f'modules = ["{file}"]\n' if modules else ""
            (root / "pondage.toml").write_text(f'{own}[locations]\nlanding = "data"\n{settings}', encoding="utf-8")
        super().__init__(root, driver)

    def close(self) -> None:
        """Close the ledger and forget the modules that came from here."""
        super().close()
        here = str(self.root)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(here):
                del sys.modules[name]
        sys.path[:] = [place for place in sys.path if not place.startswith(here)]

    def submit(self, document: object, *, name: str = "tree") -> str:
        """Submit a tree and answer the id of the flow; raises FlowRefused."""
        file = self.root / "flows" / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(document), encoding="utf-8")
        stored, archive = stored_tree(self.session.project, str(file), name=name)
        return jobs.start_job(self.ledger, "main", stored, archive=archive, reason="submitted")

    def flow(self, document: object) -> FlowDetail:
        """Run a tree to its end."""
        run = self.submit(document)
        self.ended(run)
        return self.detail(run)

    def started(self, stored: StoredJob, archive: bytes) -> FlowDetail:
        """Run a stored tree to its end."""
        run = jobs.start_job(self.ledger, "main", stored, archive=archive, reason="submitted")
        self.ended(run)
        return self.detail(run)

    def example(self, name: str) -> FlowDetail:
        """Run the tree `flows/NAME.json` of the project to its end."""
        stored, archive = stored_tree(self.session.project, str(self.root / "flows" / f"{name}.json"), name=name)
        return self.started(stored, archive)

    def detail(self, run: str) -> FlowDetail:
        """Answer a flow as it is now."""
        with self.ledger.reading() as tx:
            return flow_run(tx, self.ledger, "main", run)

    def extracted(self, run: str, name: str) -> bytes:
        """Fetch an extract; it must be there."""
        with self.ledger.reading() as tx:
            one = extracts.find(tx, self.ledger, "main", run, name)
        return b"".join(extracted(self.ledger, one))


def node_states(view: FlowDetail) -> dict[str, str]:
    """Answer the state of each node."""
    return {one.name: one.state for one in view.flow.components}
