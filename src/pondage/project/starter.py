"""`pondage init`: a small project that works as it is."""

from __future__ import annotations

from pathlib import Path

from pondage.define.values.names import checked_name
from pondage.errors import ProjectError

_FILES = {
    "pondage.toml": """\
[project]
name = "{name}"
# modules = ["ponds"]              # files and directories with Ponds
# code = ["lists/*.csv"]           # files that workers need beside the modules and what these name
# environment = "main"
# warehouse = ".pondage/warehouse"
# ledger = ".pondage/ledger.db"    # or "postgresql://…"

[spark]
master = "local[*]"
""",
    "ponds/visits.py": '''\
"""Two Ponds: `visits` brings data in, `popular` makes something of it."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pondage import not_null, pond, rows


@pond
def visits(spark: SparkSession) -> DataFrame:
    """Visits of pages. Nothing is read from another Pond, so this is an Inlet: replace it with your own source."""
    pages = F.element_at(F.array(F.lit("home"), F.lit("shop"), F.lit("help")), (F.col("id") % 3 + 1).cast("int"))
    return spark.range(1_000).select(F.col("id").alias("visit"), pages.alias("page"))


@pond(expect=[rows(min=1), not_null("page")])
def popular(visits: DataFrame) -> DataFrame:
    """Pages by the number of their visits. The parameter `visits` is the Pond of that name."""
    return visits.groupBy("page").agg(F.count("*").alias("visits")).orderBy(F.desc("visits"))
''',
    "conftest.py": '''\
"""Lets `pytest` find the fixtures of Pondage: `spark`, `table`, `run_ripple`."""

pytest_plugins = ["pondage.testing"]
''',
    "tests/test_visits.py": '''\
"""A Ripple is a plain function: a test calls it with small tables."""

from ponds.visits import popular


def test_pages_are_counted(table, run_ripple):
    visits = table([(1, "home"), (2, "home"), (3, "help")], "visit long, page string")
    rows = run_ripple(popular, visits=visits, expectations=True).collect()
    assert [tuple(row) for row in rows] == [("home", 2), ("help", 1)]
''',
    "README.md": """\
# {name}

A data pipeline on Pondage.

    pondage plan             # what a deploy would change
    pondage deploy           # store the definitions and the code
    pondage dev              # run everything on this machine (leave it running)
    pondage run popular      # ask for fresh data and print the rows
    pondage test             # test the Ripples as plain functions
""",
    ".gitignore": """\
.pondage/
__pycache__/
spark-warehouse/
""",
}


def create_project(path: Path | str, name: str | None = None) -> list[Path]:
    """Write a small working project into `path` and answer its files; `name` is the directory's unless given.

    Raises `ProjectError` and writes nothing when one of the files is already there, `DefinitionError` for a bad name.
    """
    root = Path(path)
    chosen = checked_name(name if name is not None else _name_of(root), what="project")
    present = [each for each in _FILES if (root / each).exists() or (root / each).is_symlink()]
    if root.exists() and not root.is_dir():
        present = [root.name]
    if present:
        raise ProjectError(
            f"{', '.join(present)} already exists in {root}",
            hint="choose an empty directory: `pondage init DIRECTORY`",
            place=str(root),
            code="EXISTS",
        )
    written: list[Path] = []
    for each, text in _FILES.items():
        file = root / each
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as output:
            output.write(text.replace("{name}", chosen))
        written.append(file)
    return written


def _name_of(root: Path) -> str:
    text = "".join(each if each.isalnum() and each.isascii() else "_" for each in root.resolve().name.lower()).strip(
        "_"
    )
    return text if text[:1].isalpha() else f"project_{text}".rstrip("_")
