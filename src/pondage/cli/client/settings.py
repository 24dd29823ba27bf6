"""What every verb may be told, before or after its name: which project, which environment, how to speak."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click


class Settings:
    """The global options of one call."""

    def __init__(self) -> None:
        self.project: Path | None = None
        self.environment: str | None = None
        self.server: str | None = None
        self.token: str | None = None
        self.is_traced = False
        self.is_colorless = False


def _remember(name: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def callback(context: click.Context, _parameter: click.Parameter, value: object) -> None:
        # An option that was not given after the verb must not undo one that was given before it.
        if value is not None and value is not False:
            setattr(context.ensure_object(Settings), name, value)

    return callback


def global_options(*, is_hidden: bool) -> list[click.Parameter]:
    """Answer the options that the program and each of its verbs understand."""
    return [
        click.Option(
            ["--project"],
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="The project's directory (else: this one or the nearest above it).",
            callback=_remember("project"),
            expose_value=False,
            hidden=is_hidden,
        ),
        click.Option(
            ["--env"],
            metavar="NAME",
            help="The environment (else: that of the project file).",
            callback=_remember("environment"),
            expose_value=False,
            hidden=is_hidden,
        ),
        click.Option(
            ["--server"],
            metavar="URL",
            envvar="PONDAGE_SERVER",
            help="Ask this server, and not the ledger of the project (or set PONDAGE_SERVER).",
            callback=_remember("server"),
            expose_value=False,
            hidden=is_hidden,
        ),
        click.Option(
            ["--token"],
            metavar="TOKEN",
            help="With --server (or set PONDAGE_TOKEN, which no other user of the machine sees).",
            callback=_remember("token"),
            expose_value=False,
            hidden=is_hidden,
        ),
        click.Option(
            ["--trace"],
            is_flag=True,
            default=None,
            help="Show the whole traceback of an error.",
            callback=_remember("is_traced"),
            expose_value=False,
            hidden=is_hidden,
        ),
        click.Option(
            ["--no-color"],
            is_flag=True,
            default=None,
            help="Never use colours.",
            callback=_remember("is_colorless"),
            expose_value=False,
            hidden=is_hidden,
        ),
    ]


class Verb(click.Command):
    """A verb that also takes the global options, so that nobody has to remember where they belong."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Answer the verb's own options and the hidden global ones."""
        return [*super().get_params(ctx), *global_options(is_hidden=True)]


Function = TypeVar("Function", bound=Callable[..., object])


def verb(function: Callable[..., object]) -> click.Command:
    """Make a verb of a function. (click's own decorator keeps the help of the first function that it is given.)"""
    return click.command(cls=Verb)(function)


def json_option(function: Function) -> Function:
    """Give a reading verb its `--json`."""
    return click.option("--json", "is_json", is_flag=True, help="Print the object as JSON.")(function)


pass_settings = click.make_pass_decorator(Settings, ensure=True)
