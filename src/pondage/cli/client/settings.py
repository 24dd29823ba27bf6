"""What every verb may be told, before or after its name: which project, which environment, how to speak."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


_OF_AN_ENVIRONMENT = re.compile(r"\bpondage (?!(?:dev|env|error|init|live|serve|warmup|worker)\b)(?=[a-z])")


def typed(text: str, settings: Settings | None = None) -> str:
    """Answer a text with its commands as they must be typed to mean the environment of this call.

    A call without --env means that of the project file, and so do the commands; a text that names one is right already.
    """
    context = click.get_current_context(silent=True)
    given = settings or (None if context is None else context.find_object(Settings))
    if given is None or given.environment is None or "--env" in text:
        return text
    return _OF_AN_ENVIRONMENT.sub(f"pondage --env {given.environment} ", text)


def _remember(name: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def callback(context: click.Context, _parameter: click.Parameter, value: object) -> None:
        # An option that was not given after the verb must not undo one that was given before it.
        if value is not None and value is not False:
            setattr(context.ensure_object(Settings), name, value)

    return callback


def global_options(*, is_hidden: bool) -> list[click.Parameter]:
    """Answer the options that the program and each of its verbs understand."""

    def option(flag: str, name: str, text: str, **given: Any) -> click.Parameter:
        return click.Option([flag], help=text, callback=_remember(name), expose_value=False, hidden=is_hidden, **given)

    directory = click.Path(file_okay=False, path_type=Path)
    where = "The project's directory (else: this one or the nearest above it)."
    server = "Ask this server, and not the ledger of the project (or set PONDAGE_SERVER)."
    token = "With --server (or set PONDAGE_TOKEN, which no other user of the machine sees)."
    return [
        option("--project", "project", where, type=directory, metavar="DIR"),
        option("--env", "environment", "The environment (else: that of the project file).", metavar="NAME"),
        option("--server", "server", server, metavar="URL", envvar="PONDAGE_SERVER"),
        option("--token", "token", token, metavar="TOKEN"),
        option("--trace", "is_traced", "Show the whole traceback of an error.", is_flag=True, default=None),
        option("--no-color", "is_colorless", "Never use colours.", is_flag=True, default=None),
    ]


class Verb(click.Command):
    """A verb that also takes the global options, so that nobody has to remember where they belong."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Answer the verb's own options and the hidden global ones."""
        return [*super().get_params(ctx), *global_options(is_hidden=True)]


def verb(function: Callable[..., object]) -> click.Command:
    """Make a verb of a function. (click's own decorator keeps the help of the first function that it is given.)"""
    return click.command(cls=Verb)(function)


pass_settings = click.make_pass_decorator(Settings, ensure=True)
json_option = click.option("--json", "is_json", is_flag=True, help="Print the object as JSON.")


def settings_and_json(function: Callable[..., object]) -> Callable[..., object]:
    """Give a verb the settings of its call, and a `--json` of its own."""
    return json_option(pass_settings(function))
