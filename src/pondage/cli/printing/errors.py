"""Errors as people read them: what happened, where, and the next command to type. A traceback only when asked for."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

import click

from pondage.cli.client.settings import Settings, typed
from pondage.errors import PondageError

USAGE_EXIT = 2
REFUSED_EXIT = 4
_REFUSALS = ("JOB_HAS_INPUTS", "NOT_HALTED", "RESUME_PLAN_MISMATCH", "RESUME_HASH_MISMATCH", "RUN_OF_RIPPLE")
"""Why a job does not begin or go on; everything else is an error like any other."""
INTERRUPTED_EXIT = 130


def report(error: BaseException, settings: Settings, *, is_json: bool) -> int:
    """Tell the person on stderr what went wrong and answer the exit code."""
    match error:
        case SystemExit():
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        case click.exceptions.Exit():
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            click.echo("", err=True)
            return INTERRUPTED_EXIT
        case BrokenPipeError():
            # Whoever read us has gone (`| head`): nobody is left to be told, and the interpreter must not try either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        case PondageError():
            _pondage(error, settings, is_json=is_json)
            return REFUSED_EXIT if error.code in _REFUSALS else 1
        case click.ClickException():
            _usage(error, is_json=is_json)
            return USAGE_EXIT
        case _:
            _unexpected(error, settings, is_json=is_json)
            return 1


def refuse(lines: list[str], view: dict[str, object], *, is_json: bool) -> NoReturn:
    """Print everything that is wrong with what cannot run, and end with exit code 4."""
    from pondage.cli.printing.output import print_view
    from pondage.views.words import count_text

    print_view(view, "\n".join([*lines, count_text(len(lines), "problem")]), is_json=is_json)
    sys.exit(REFUSED_EXIT)


def _pondage(error: PondageError, settings: Settings, *, is_json: bool) -> None:
    if is_json:
        click.echo(json.dumps({"error": error.as_json()}), err=True)
    else:
        _title(f"error[{error.code}]:", error.message, settings)
        if error.place:
            click.echo(f"  at: {error.place}", err=True)
        if error.hint:
            click.echo(f"  try: {typed(error.hint, settings)}", err=True)
    if settings.is_traced:
        click.echo("".join(traceback.format_exception(error)), err=True)


def _usage(error: click.ClickException, *, is_json: bool) -> None:
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.option_name == "--json":
        message = "--json stands behind a verb that prints something: pondage status --json"
    verb = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "pondage"
    if is_json:
        problem = {"code": "USAGE", "message": message, "place": None, "hint": f"{verb} --help"}
        click.echo(json.dumps({"error": problem}), err=True)
        return
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(message, err=True)
        return
    click.echo(f"error[USAGE]: {message}\n  try: {verb} --help", err=True)


def _unexpected(error: BaseException, settings: Settings, *, is_json: bool) -> None:
    trace = "".join(traceback.format_exception(error))
    message = f"{type(error).__name__}: {error}"
    if settings.is_traced:
        click.echo(trace, err=True)
        hint = None
    else:
        hint = f"read {_written(trace)}, or call it again with --trace"
    if is_json:
        problem = {"code": "UNEXPECTED", "message": message, "place": None, "hint": hint}
        click.echo(json.dumps({"error": problem}), err=True)
        return
    _title("error[UNEXPECTED]:", f"this is a mistake of Pondage, not yours: {message}", settings)
    if hint:
        click.echo(f"  try: {hint}", err=True)


def _written(trace: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="pondage-error-", suffix=".txt", text=True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"pondage {' '.join(sys.argv[1:])}\n\n{trace}")
    return Path(name)


def _title(head: str, message: str, settings: Settings) -> None:
    has_color = sys.stderr.isatty() and not settings.is_colorless and "NO_COLOR" not in os.environ
    click.echo(f"{click.style(head, fg='red', bold=True) if has_color else head} {message}", err=True)
