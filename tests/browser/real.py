"""A project of its own under a real `pondage dev`: supervisor, a worker with Spark, and the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE_S

SOURCE = Path(__file__).parents[2] / "src"
EXAMPLES = Path(__file__).parents[2] / "examples" / "flows"
PONDAGE = "import sys; from pondage.cli.main import main; sys.exit(main(sys.argv[1:]))"
SETTINGS = """
[project]
name = "harbour"
[spark]
memory = "1g"
[worker]
slots = 2
workers = 1
[locations]
landing = "landing"
[durability]
poll_s = 0.1
drain_s = 2
"""
PONDS = '''
"""What comes into the harbour, and what is on it."""
from pathlib import Path

from pondage import pond


@pond(owner="harbour-office")
def ships(spark):
    """Ships as the office counts them."""
    return spark.range(12).withColumnRenamed("id", "ship")


@pond()
def cargo(ships):
    """What each ship carries."""
    if Path({broken!r}).exists():
        raise ValueError("container 7 is empty")
    return ships.selectExpr("ship", "ship * 10 as tons")
'''
JOB = """
job: {{name: manifests, version: 1.0.0}}
components:
  - {{name: first, type: read_csv, params: {{path: {root}/first.csv, columns: {{ship: bigint}}}}}}
  - {{name: kept, type: write_json, params: {{path: {root}/out/first, mode: overwrite}}}}
  - {{name: second, type: read_csv, params: {{path: {root}/second.csv, columns: {{ship: bigint}}}}}}
  - {{name: saved, type: write_json, params: {{path: {root}/out/second, mode: overwrite}}}}
connections:
  data: [first.main -> kept.input, second.main -> saved.input]
  control: [kept (subjob_ok) second]
"""


class Real:
    """The project, and where its page is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.broken = root / "BROKEN"
        self.url = ""
        root.mkdir(parents=True)
        (root / "jobs").mkdir()
        (root / "pondage.toml").write_text(SETTINGS)
        (root / "ponds.py").write_text(PONDS.format(broken=str(self.broken)))
        (root / "jobs" / "manifests.yaml").write_text(JOB.format(root=root))
        (root / "first.csv").write_text("ship\n1\n2\n")
        (root / "landing").mkdir()
        shutil.copy(EXAMPLES / "data" / "orders.csv", root / "landing")

    def pondage(self, *words: str) -> str:
        """Run a command of the project."""
        done = subprocess.run(
            [sys.executable, "-P", "-c", PONDAGE, *words],
            cwd=self.root,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _environment() -> dict[str, str]:
    """This checkout, wherever the command is run."""
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


@contextmanager
def real(root: Path) -> Iterator[Real]:
    """Begin `pondage dev` for a new project, and end it with the block."""
    made = Real(root)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", PONDAGE, "dev", "--port", "0"],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_environment(),
    )  # fmt: skip
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line)
            if "http://" in line:
                made.url = next(word for word in line.split() if word.startswith("http://"))
                break
        assert made.url, said
        # Nobody reads the rest; a full pipe would stop it.
        reading = threading.Thread(target=process.stdout.read, daemon=True)
        reading.start()
        yield made
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
