"""A component whose Spark ran out of memory is run again by a worker that has more of it: real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PONDAGE = "import sys; from pondage.cli.main import main; sys.exit(main())"
PROJECT = '[project]\nname = "shop"\nmodules = ["shop.py"]\n[spark]\nmaster = "local[1]"\nmemory = "600m"\n'
COMPONENTS = '''
from pondage import Resources, component
from pyspark.sql import functions as F


@component("hungry", outputs={"main": "Table<{n: int}>"}, startable=True, deterministic=True, restartable=False,
           resources=Resources(memory=("600m", "3g")))
def hungry(*, params, run):
    """Make one text of 800 MB in the JVM."""
    one = run.spark.range(1)
    longer = F.repeat(F.concat(F.lit("x"), F.col("id").cast("string")), 400_000_000)
    return one.select(F.length(longer).alias("n"))
'''
JOB = """
components:
  - {name: eat, type: hungry}
  - {name: check, type: assert, params: {that: "n == 800000000"}}
connections: {data: [eat.main -> check.input]}
"""


def test_what_kills_the_jvm_for_lack_of_memory_is_run_again_with_the_next_size(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text(PROJECT)
    (tmp_path / "shop.py").write_text(COMPONENTS)
    (tmp_path / "job.yaml").write_text(JOB)
    done = subprocess.run(
        [sys.executable, "-c", PONDAGE, "job", "run", "job.yaml", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert json.loads(done.stdout)["run"]["state"] == "OK"
    logs = "".join(path.read_text(errors="replace") for path in (tmp_path / ".pondage").rglob("*.log"))
    assert "OutOfMemoryError" in logs, "it was enough at once, so nothing was tested"
