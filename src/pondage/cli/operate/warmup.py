"""`warmup`: Java and Spark are prepared, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import click

from pondage.cli.client.settings import verb
from pondage.errors import PondageError
from pondage.views.installation.doctor import child_environment

# The first argument of the answer says whether it was warm before; phases go to stderr as they begin.
_WARM = """
import json, sys
from pondage.errors import PondageError
from pondage.spark.session.warmup import is_warm, warm
try:
    was_warm = is_warm()
    place = warm(lambda phase: print(f"  {phase}", file=sys.stderr, flush=True))
    print(json.dumps({"was_warm": was_warm, "directory": str(place)}))
except PondageError as error:
    print(json.dumps({"error": error.as_json()}))
"""


@verb
@click.option("--if-needed", is_flag=True, help="Say nothing when it was done before.")
@click.option("--json", "is_json", is_flag=True, help="Print what was done as JSON.")
def warmup(if_needed: bool, is_json: bool) -> None:
    """Prepare Java and Spark once on this machine, so that every later start takes about half the time.

    What was prepared before is kept: a second call does nothing.
    """
    done = subprocess.run(
        [sys.executable, "-c", _WARM], stdout=subprocess.PIPE, text=True, check=False, env=child_environment()
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise PondageError(
            f"the preparation ended with code {done.returncode} and without an answer",
            hint="pondage doctor",
            code="WARMUP",
        ) from None
    if "error" in answer:
        raise PondageError(**answer["error"])
    if is_json:
        click.echo(json.dumps(answer))
    elif not (if_needed and answer["was_warm"]):
        click.echo(f"{'was warm already' if answer['was_warm'] else 'is warm now'}: {answer['directory']}")
