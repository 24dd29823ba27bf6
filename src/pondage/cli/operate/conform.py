"""`pondage conform`: run conformance scenarios through the real machines and compare everything they expect."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from pondage.conform.control import check_control
from pondage.conform.control_scenario import read_control_scenarios
from pondage.conform.demand import Verdict, check
from pondage.conform.demand_scenario import Scenario, read_scenarios
from pondage.conform.reaction import check_reaction
from pondage.conform.reaction_host import MakeReactorHost, VirtualReactorHost
from pondage.conform.reaction_scenario import read_reaction_scenarios
from pondage.errors import PondageError
from pondage.simulate.control_host import ControlHost
from pondage.simulate.control_virtual import VirtualControlHost
from pondage.simulate.host import Host
from pondage.simulate.virtual import VirtualHost


@click.group()
def conform() -> None:
    """Check the machines against scenario files: what must run, when, and why."""


@conform.command("demand")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--host",
    "host_name",
    type=click.Choice(["virtual", "ledger"]),
    default="virtual",
    show_default=True,
    help="virtual: the simulator. ledger: the durable code on a real SQLite file with a fake clock.",
)
@click.option("--only", metavar="ID", help="Run only the scenario with this id.")
@click.option("--json", "as_json", is_flag=True, help="Print a report as JSON.")
def demand(files: tuple[Path, ...], host_name: str, only: str | None, as_json: bool) -> None:
    """Run demand scenarios (when must a Pond run?) and compare runs, freshness, times, states and explanations.

    Exits 0 when all pass, 1 when one fails, 2 when a file cannot be used.
    """
    try:
        make_host = _host(host_name)
        scenarios = _chosen([scenario for path in files for scenario in read_scenarios(path)], only)
    except PondageError as error:
        click.echo(f"error[{error.code}]: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        sys.exit(2)
    verdicts = [check(scenario, make_host) for scenario in scenarios]
    failed = sum(not verdict.has_passed for verdict in verdicts)
    if as_json:
        click.echo(_report(verdicts, failed))
    else:
        for verdict in verdicts:
            _print_failure(verdict)
        click.echo(f"{len(verdicts) - failed} passed, {failed} failed")
    if failed:
        sys.exit(1)


@conform.command("control")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--host",
    "host_name",
    type=click.Choice(["virtual", "ledger"]),
    default="virtual",
    show_default=True,
    help="virtual: the simulator. ledger: the durable code on a real SQLite file with a fake clock.",
)
@click.option("--only", metavar="ID", help="Run only the scenario with this id.")
@click.option("--json", "as_json", is_flag=True, help="Print a report as JSON.")
def control(files: tuple[Path, ...], host_name: str, only: str | None, as_json: bool) -> None:
    """Run control scenarios (how does a job unfold?) and compare timelines, states, globals, checkpoints and errors.

    Exits 0 when all pass, 1 when one fails, 2 when a file cannot be used.
    """
    try:
        make_host = _control_host(host_name)
        found = [scenario for path in files for scenario in read_control_scenarios(path)]
        scenarios = [scenario for scenario in found if only in (None, scenario.id)]
        if only is not None and not scenarios:
            raise PondageError(f"no scenario has the id {only}", code="NOT_FOUND")
    except PondageError as error:
        click.echo(f"error[{error.code}]: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        sys.exit(2)
    verdicts = [check_control(scenario, make_host) for scenario in scenarios]
    failed = sum(not verdict.has_passed for verdict in verdicts)
    if as_json:
        click.echo(_report(verdicts, failed))
    else:
        for verdict in verdicts:
            _print_failure(verdict)
        click.echo(f"{len(verdicts) - failed} passed, {failed} failed")
    if failed:
        sys.exit(1)


def _control_host(name: str) -> Callable[[], ControlHost]:
    if name == "virtual":
        return VirtualControlHost
    # Imported by name and only when asked for: the durable host brings the ledger with it.
    try:
        module = importlib.import_module("pondage.conform.control_durable")
    except ModuleNotFoundError as error:
        if error.name != "pondage.conform.control_durable":
            raise
        raise PondageError(
            "this build has no durable host for control scenarios",
            hint="run it with --host virtual",
            code="NO_LEDGER_HOST",
        ) from error
    make_host: Callable[[], ControlHost] = module.LedgerControlHost
    return make_host


@conform.command("reaction")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--host",
    "host_name",
    type=click.Choice(["virtual", "ledger"]),
    default="virtual",
    show_default=True,
    help="virtual: the simulator. ledger: the live host on a real journal with a fake clock.",
)
@click.option("--only", metavar="ID", help="Run only the scenario with this id.")
@click.option("--json", "as_json", is_flag=True, help="Print a report as JSON.")
def reaction(files: tuple[Path, ...], host_name: str, only: str | None, as_json: bool) -> None:
    """Run reaction scenarios (what does data that arrives make run?) and compare fires, answers, health and state.

    Exits 0 when all pass, 1 when one fails, 2 when a file cannot be used.
    """
    try:
        make_host = _reaction_host(host_name)
        found = [scenario for path in files for scenario in read_reaction_scenarios(path)]
        scenarios = [scenario for scenario in found if only in (None, scenario.id)]
        if only is not None and not scenarios:
            raise PondageError(f"no scenario has the id {only}", code="NOT_FOUND")
    except PondageError as error:
        click.echo(f"error[{error.code}]: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        sys.exit(2)
    verdicts = [check_reaction(scenario, make_host) for scenario in scenarios]
    failed = sum(not verdict.has_passed for verdict in verdicts)
    if as_json:
        click.echo(_report(verdicts, failed))
    else:
        for verdict in verdicts:
            _print_failure(verdict)
        click.echo(f"{len(verdicts) - failed} passed, {failed} failed")
    if failed:
        sys.exit(1)


def _reaction_host(name: str) -> MakeReactorHost:
    if name == "virtual":
        return VirtualReactorHost
    # Imported by name and only when asked for: the live host brings the journal with it.
    try:
        module = importlib.import_module("pondage.conform.reaction_durable")
    except ModuleNotFoundError as error:
        if error.name != "pondage.conform.reaction_durable":
            raise
        raise PondageError(
            "this build has no live host for conformance scenarios",
            hint="run it with --host virtual",
            code="NO_LEDGER_HOST",
        ) from error
    make_host: MakeReactorHost = module.JournalReactorHost
    return make_host


def _host(name: str) -> Callable[[], Host]:
    if name == "virtual":
        return VirtualHost
    # Imported by name and only when asked for: the durable host brings the ledger with it.
    try:
        module = importlib.import_module("pondage.conform.demand_durable")
    except ModuleNotFoundError as error:
        if error.name not in ("pondage.ledger", "pondage.conform.demand_durable"):
            raise
        raise PondageError(
            "this build has no durable host for conformance scenarios",
            hint="run it with --host virtual",
            code="NO_LEDGER_HOST",
        ) from error
    make_host: Callable[[], Host] = module.LedgerHost
    return make_host


def _chosen(scenarios: list[Scenario], only: str | None) -> list[Scenario]:
    chosen = [scenario for scenario in scenarios if only in (None, scenario.id)]
    if only is not None and not chosen:
        raise PondageError(f"no scenario has the id {only}", code="NOT_FOUND")
    return chosen


def _print_failure(verdict: Verdict) -> None:
    if verdict.has_passed:
        return
    order = verdict.mismatches[0].order
    click.echo(f"FAILED {verdict.id} {verdict.title}" + (f" (order: {order})" if order else ""))
    for mismatch in verdict.mismatches:
        click.echo(f"  {mismatch.what}")
        click.echo(f"    expected {_text(mismatch.expected)}")
        click.echo(f"    got      {_text(mismatch.got)}")


def _report(verdicts: list[Verdict], failed: int) -> str:
    return _text(
        {
            "passed": len(verdicts) - failed,
            "failed": failed,
            "scenarios": [
                {
                    "id": verdict.id,
                    "title": verdict.title,
                    "passed": verdict.has_passed,
                    "mismatches": verdict.mismatches,
                }
                for verdict in verdicts
            ],
        }
    )


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
