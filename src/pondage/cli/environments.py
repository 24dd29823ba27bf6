"""`pondage env` and `pondage promote`: environments that read each other, and what moves between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pondage.cli.session import Session, session
from pondage.cli.settings import Settings, Verb, json_option, pass_settings, verb

if TYPE_CHECKING:
    from pondage.define.names import PondKey


@click.group()
def env() -> None:
    """Look at environments and remove them.

    `pondage deploy --env dev` makes one: it has only the Ponds that differ, and reads the rest from above.
    """


@env.command("list", cls=Verb)
@json_option
@pass_settings
def list_(settings: Settings, is_json: bool) -> None:
    """Print every environment: what is above it, its own Ponds, the size of its own data."""
    from pondage.cli.output import print_json, print_table
    from pondage.views.environments import all_environments
    from pondage.views.words import size_text

    with session(settings) as opened, opened.ledger.reading() as tx:
        view = all_environments(tx)
    if is_json:
        print_json(view)
        return
    if not view.environments:
        click.echo("there are no environments; the first is made by: pondage deploy")
        return
    rows = [
        (each.name, each.parent or "-", str(each.own), str(each.borrowed), size_text(each.bytes))
        for each in view.environments
    ]
    print_table(settings, ("ENVIRONMENT", "READS", "PONDS", "BORROWED", "DATA"), rows)


@env.command("show", cls=Verb)
@click.argument("name")
@json_option
@pass_settings
def show(settings: Settings, name: str, is_json: bool) -> None:
    """Print where each Pond that can be read in an environment comes from."""
    from pondage.cli.output import print_json, print_table
    from pondage.views.environments import environment

    with session(settings) as opened, opened.ledger.reading() as tx:
        view = environment(tx, name)
    if is_json:
        print_json(view)
        return
    above = view.environment.parent
    click.echo(f"environment {name}" + (f", below {above}" if above else ""))
    rows = [
        (each.key, "yes" if each.is_own else "no", each.read_from if each.run else "nothing yet", each.run or "-")
        for each in view.ponds
    ]
    print_table(settings, ("POND", "OWN", "READ FROM", "RUN"), rows)


@env.command("remove", cls=Verb)
@click.argument("name")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@json_option
@pass_settings
def remove(settings: Settings, name: str, is_sure: bool, is_json: bool) -> None:
    """Remove an environment: its Ponds, their triggers and Runs, and the data that no other environment shows.

    What runs in it is stopped. The data is marked at once and deleted by the next `pondage vacuum`.
    """
    from pondage.cli.output import print_json
    from pondage.ledger.removal import remove as remove_environment
    from pondage.ledger.verbs import who
    from pondage.views.environments import environment
    from pondage.views.words import count_text, size_text

    with session(settings) as opened:
        with opened.ledger.reading() as tx:
            own = environment(tx, name).environment.own
        if not is_sure:
            click.confirm(f"remove environment {name} with {count_text(own, 'Pond')} of its own?", abort=True, err=True)
        removed = remove_environment(opened.ledger, name, who=who())
    if is_json:
        print_json(removed)
        return
    click.echo(
        f"removed {name}: {count_text(removed.snapshots, 'snapshot')} ({size_text(removed.bytes)}) "
        "will be deleted by pondage vacuum"
        + (f"; {count_text(removed.kept, 'snapshot')} stay, because others show them" if removed.kept else "")
    )


@verb
@click.argument("ponds", nargs=-1, required=True, metavar="POND...")
@click.option("--to", "to", metavar="ENV", help="The environment to show them (else: the one above).")
@click.option("--deploy", "is_deployed", is_flag=True, help="Deploy the code that made them there first.")
@json_option
@pass_settings
def promote(settings: Settings, ponds: tuple[str, ...], to: str | None, is_deployed: bool, is_json: bool) -> None:
    """Make what an environment (--env) has made the current data of the one above, without computing anything.

    Refused when the code there is not the code that made it; all Ponds are promoted, or none. Like a rollback it lasts
    until the next Run there.
    """
    from pondage.cli.output import print_json
    from pondage.cli.triggers import find_ponds
    from pondage.ledger.promotion import promote as promote_runs
    from pondage.ledger.verbs import who

    with session(settings) as opened:
        keys = [_key(key) for key in find_ponds(opened, ponds)]
        target = to or _above(opened)
        if is_deployed:
            _deploy(opened, target, keys)
        promoted = promote_runs(opened.ledger, opened.environment, target, keys, who=who())
    if is_json:
        print_json({"environment": opened.environment, "to": target, "ponds": promoted})
        return
    for each in promoted:
        shown = "shows it now" if each.is_shown else "shows it as soon as the Run that is active there has ended"
        click.echo(f"{each.pond}#{each.number} of {opened.environment}: {target} {shown}")


def _key(key: str) -> PondKey:
    from pondage.define.names import PondKey

    return PondKey(key)


def _above(opened: Session) -> str:
    from pondage.ledger import environments
    from pondage.ledger.promotion import CannotPromote

    with opened.ledger.reading() as tx:
        levels = environments.chain(tx, environments.find(tx, opened.environment).id)
    if len(levels) == 1:
        raise CannotPromote(
            f"environment {opened.environment} is below no other one", hint="pondage env list", code="NOT_BELOW"
        )
    return levels[1].name


def _deploy(opened: Session, target: str, keys: list[PondKey]) -> None:
    """Put the declarations that made these Runs in force above, where they are not yet."""
    from pondage.ledger import work
    from pondage.ledger.deploy import deploy, deployed
    from pondage.ledger.promotion import definition_of
    from pondage.ledger.verbs import who
    from pondage.plan.change import change_of

    with opened.ledger.reading() as tx:
        found = deployed(tx, opened.ledger, target)
        known = {one.key: one.definition for one in found}
        made_by = {key: definition_of(tx, opened.ledger, opened.environment, key) for key in keys}
        wanted = [one for key, one in made_by.items() if key not in known or change_of(known[key], one) is not None]
        archives = {one.archive: work.stored_archive(tx, one.archive) for one in wanted}
    for digest, archive in archives.items():
        some = [one for one in wanted if one.archive == digest]
        for project in sorted({one.project for one in some}):
            with opened.ledger.reading() as tx:
                found = deployed(tx, opened.ledger, target)
            deploy(
                opened.ledger,
                target,
                project=project,
                definitions=[one for one in some if one.project == project],
                removed=[],
                archive=archive,
                summary="{}",
                expected=found,
                who=who(),
            )
