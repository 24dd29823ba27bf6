"""Real projects for tests: files on a disk, read and deployed the way the command line does it."""

from __future__ import annotations

from pathlib import Path

from pondage.engine.process.config import config_of
from pondage.ledger.act.branching import deployed
from pondage.ledger.act.deploy import deploy
from pondage.ledger.ledger import Ledger
from pondage.plan.deploy import values
from pondage.plan.deploy.planner import checked, make_plan
from pondage.project.archive import pack_project
from pondage.project.project import Project, load_project
from pondage.project.reader import read_project

SETTINGS = """
[project]
name = "tests"
[spark]
master = "local[2]"
memory = "1g"
[durability]
heartbeat_s = 1
reap_after_s = 20
child_margin_s = 5
poll_s = 0.2
drain_s = 5
"""


def write_project(root: Path, ponds: str, settings: str = SETTINGS) -> Project:
    """Write a project of one module and answer it."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "pondage.toml").write_text(settings)
    (root / "ponds.py").write_text(ponds)
    return load_project(root)


def deploy_project(project: Project) -> str:
    """Deploy what the project's files say and answer the digest of the code."""
    ledger = config_of(project).open_ledger()
    try:
        return deployed_into(ledger, project)
    finally:
        ledger.close()


def deployed_into(ledger: Ledger, project: Project) -> str:
    with ledger.reading() as tx:
        before = deployed(tx, ledger, project.environment)
    known = [values.Deployed(definition=one.definition, project=one.project) for one in before]
    plan = checked(make_plan(read_project(project), known, project=project.name, environment=project.environment))
    return deploy(
        ledger,
        project.environment,
        project=project.name,
        definitions=list(plan.ponds),
        removed=list(plan.removed),
        archive=pack_project(project).data,
        summary="{}",
        expected=before,
    )
