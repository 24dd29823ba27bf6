"""`pondage conform`: run conformance scenarios through the real machines and compare everything they expect."""

import sys
from pathlib import Path
from typing import Any

import click

from pondage.conform.machines import CONTROL, DEMAND, REACTION, HostName, Machine
from pondage.errors import PondageError


@click.group()
def conform() -> None:
    """Check the machines against scenario files: what must run, when, and why."""


def _add(machine: Machine[Any, Any]) -> None:
    @conform.command(
        machine.name,
        help=f"Run {machine.name} scenarios ({machine.asks}) and compare {machine.compares}.\n\n"
        "Exits 0 when all pass, 1 when one fails, 2 when a file cannot be used.",
    )
    @click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
    @click.option(
        "--host",
        type=click.Choice(["virtual", "ledger"]),
        default="virtual",
        show_default=True,
        help=f"virtual: the simulator. ledger: {machine.durable_is}.",
    )
    @click.option("--only", metavar="ID", help="Run only the scenario with this id.")
    @click.option("--json", "as_json", is_flag=True, help="Print a report as JSON.")
    def run(files: tuple[Path, ...], host: HostName, only: str | None, as_json: bool) -> None:
        try:
            scenarios = machine.chosen(files, only)
        except PondageError as error:
            click.echo(f"error[{error.code}]: {error.message}", err=True)
            if error.hint:
                click.echo(f"  {error.hint}", err=True)
            sys.exit(2)
        report = machine.play(scenarios, host)
        click.echo(report.as_json() if as_json else "\n".join(report.lines()))
        if report.failed:
            sys.exit(1)


for _machine in (DEMAND, CONTROL, REACTION):
    _add(_machine)
