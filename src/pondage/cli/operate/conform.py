"""`pondage conform`: run conformance scenarios through the real machines and compare everything they expect."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pondage.conform.machines import CONTROL, DEMAND, REACTION, HostName, Machine
from pondage.conform.verdict import Report
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
        with _usable():
            scenarios = machine.chosen(files, only)
        _show(machine.play(scenarios, host), as_json=as_json)


@conform.command("incremental")
@click.argument("places", metavar="DIR|FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--only", metavar="NAME", help="Run only the case with this name.")
@click.option("--no-cost", is_flag=True, help="Fail also where less is proved than can be.")
@click.option("--json", "as_json", is_flag=True, help="Print a report as JSON.")
def _incremental(places: tuple[Path, ...], only: str | None, no_cost: bool, as_json: bool) -> None:
    """Run cases of incremental maintenance (what must be computed again?) and compare the table after each step.

    Each case is deployed as Ponds with mode="auto", and each step lands as a Run of its Sources.
    Exits 0 when all pass, 1 when one fails, 2 when a file cannot be used.
    """
    # It brings Spark with it, which none of the others need.
    from pondage.conform.incremental import play_incremental
    from pondage.conform.incremental_scenario import read_incremental_cases

    with _usable():
        cases = read_incremental_cases(places, only)
    _show(play_incremental(cases, no_cost=no_cost), as_json=as_json)


@contextmanager
def _usable() -> Iterator[None]:
    """End with 2 when what was given cannot be read."""
    try:
        yield
    except PondageError as error:
        click.echo(f"error[{error.code}]: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        sys.exit(2)


def _show(report: Report, *, as_json: bool) -> None:
    """Print how it went; end with 1 when something failed."""
    click.echo(report.as_json() if as_json else "\n".join(report.lines()))
    if report.failed:
        sys.exit(1)


for _machine in (DEMAND, CONTROL, REACTION):
    _add(_machine)
