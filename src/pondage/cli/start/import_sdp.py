"""`import-sdp`: a Spark Declarative Pipeline becomes a project of Ponds; its own files stay as they are."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import msgspec

from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.printing.output import print_json, print_table, print_title
from pondage.connect.sdp.files import find_specification, read_specification
from pondage.connect.sdp.graph import Imported
from pondage.connect.sdp.writing import ponds_text, project_text
from pondage.errors import ProjectError

MODULE = "ponds/pipeline.py"
COPIED = "pipeline"


@verb
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", "target", type=click.Path(file_okay=False, path_type=Path), help="Where the project goes.")
@click.option("--dry-run", is_flag=True, help="Only print what would be carried over.")
@settings_and_json
def import_sdp(settings: Settings, directory: Path, target: Path | None, dry_run: bool, is_json: bool) -> None:
    """Make a project of the Spark Declarative Pipeline in DIRECTORY.

    Each materialized view and streaming table becomes a Pond; temporary views are made where they are used. The
    pipeline's own files are not changed: with --to they are copied, else the project is made around them.
    """
    specification = find_specification(directory.resolve())
    place = (target or directory).resolve()
    if not dry_run and (place / "pondage.toml").exists():
        raise ProjectError(
            f"{place} is a project already", hint="choose another directory with --to", code="PROJECT_EXISTS"
        )
    found = _inspected(specification, is_quiet=is_json)
    if not dry_run:
        _write(found, specification, place)
    if is_json:
        print_json(found)
        return
    _print(settings, found)
    if not dry_run:
        click.echo(f"\nwritten: {place / 'pondage.toml'} and {place / MODULE}")
        click.echo(f"next: cd {place} && pondage plan")


def _inspected(specification: Path, *, is_quiet: bool) -> Imported:
    read_specification(specification)
    if not is_quiet:
        click.echo("starting Spark, to see which tables each dataset reads …", err=True)
    with tempfile.TemporaryDirectory(prefix="pondage-import-") as made:
        answer = Path(made) / "answer.json"
        done = subprocess.run(
            [sys.executable, "-m", "pondage.connect.sdp.inspect", str(specification), str(answer), f"{made}/state"],
            cwd=specification.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        body = answer.read_bytes() if answer.exists() else b""
    if not body:
        last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise ProjectError(f"the files of the pipeline cannot be read: {last}", code="BAD_PIPELINE")
    raw = msgspec.json.decode(body)
    if "error" in raw:
        raise ProjectError(raw["error"], code=raw["code"], hint=raw["hint"])
    return msgspec.convert(raw, Imported)


def _write(found: Imported, specification: Path, place: Path) -> None:
    root = specification.parent
    inside = ".."
    if place != root:
        for file in (specification, *read_specification(specification).files):
            copy = place / COPIED / file.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        inside = f"../{COPIED}"
    module = place / MODULE
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(ponds_text(found, f"{inside}/{specification.name}"), encoding="utf-8")
    (place / "pondage.toml").write_text(project_text(found), encoding="utf-8")


def _print(settings: Settings, found: Imported) -> None:
    print_table(
        settings,
        ("DATASET", "POND", "KIND", "READS", "DECLARED"),
        [
            (
                each.name,
                each.pond,
                "append" if each.kind == "stream" else "replace",
                ", ".join(
                    (
                        *each.reads,
                        *(f"new rows of {name}" for name in each.follows),
                        *(f"new files of {name}" for name in each.watches),
                    )
                )
                or "-",
                each.place,
            )
            for each in found.datasets
        ],
    )
    if found.left:
        print_title("not carried over", settings)
        print_table(settings, ("WHAT", "WHY"), [(each.what, each.why) for each in found.left])
    if found.tables:
        print_title("tables of somebody else, read by name", settings)
        click.echo(", ".join(found.tables))
