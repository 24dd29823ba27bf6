"""`pondage`: the group of all verbs. A verb's module is imported only when the verb is called.

`--help` and `--version` import neither Spark, nor a database driver, nor the terminal library.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from pondage.cli.client.settings import Settings, global_options
from pondage.cli.printing.errors import report

VERBS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Start",
        "start",
        (
            ("demo", "Copy the example pipeline and walk through it."),
            ("init", "Start a project: a small pipeline with a test."),
            ("import-sdp", "Make a project of a Spark Declarative Pipeline."),
            ("test", "Run the project's own tests, with tables to try its Ripples on."),
            ("dev", "Run everything on this machine until Ctrl-C."),
            ("plan", "Show what a deploy would change."),
            ("deploy", "Put the Ponds of the project into the ledger."),
            ("rollback", "The deployment before, or an older Run of a Pond."),
            ("promote", "Show what an environment made in the one above."),
            ("env", "Environments: which reads which, where data is from."),
        ),
    ),
    (
        "Ask for data",
        "ask",
        (
            ("run", "Pulse a Pond, follow it, print its rows."),
            ("query", "Ask the published tables something in SQL."),
            ("read", "Write all rows of a table into a file."),
            ("tap", "Pull once: take what the Sources have."),
            ("pulse", "Push once: be as fresh as now."),
            ("wave", "Pull again and again, until calmed."),
            ("tide", "Never be staler than a limit, until calmed."),
            ("calm", "Take a Wave or a Tide away."),
        ),
    ),
    (
        "Look",
        "look",
        (
            ("status", "Every Pond: live until Ctrl-C, once with --once."),
            ("why", "Why a Pond runs, or does not."),
            ("runs", "The newest Runs."),
            ("readers", "Who reads which Pond, and the Runs that nobody read."),
            ("logs", "What the Ripples of a Pond or a Run logged, or the streams of a reactor."),
            ("show", "A Pond, a Run or a snapshot in full."),
            ("files", "Which files a Pond has taken, which wait or were set aside."),
            ("error", "What an error code means, and what helps."),
            ("checks", "How the expectations went over the Runs; rows that break them."),
            ("diff", "What differs between two states of a Pond: rows by key, and columns."),
            ("lineage", "Where a table or a column comes from, and where it goes."),
            ("job", "Check, draw, play and run jobs: control flow inside a run."),
            ("flow", "Check and run trees of programs that are written as data."),
            ("component", "What jobs and flows are built of, and the queues of their work."),
            ("type", "What travels between components: meaning and serialisation."),
            ("mailbox", "For programs of flows that are shell scripts: their ports."),
            ("simulate", "Play the Ponds in virtual time, without Spark."),
        ),
    ),
    (
        "Operate",
        "operate",
        (
            ("clear", "Acknowledge a failure or a kill: kept demand runs again."),
            ("kill", "Stop a Pond at once and block its Sinks."),
            ("sleep", "Forget demand and triggers; started Runs complete."),
            ("pause", "Let a standing trigger ask for nothing, until resumed."),
            ("resume", "Let a paused trigger ask again."),
            ("wake", "Clear, and run once if the Sources are ahead."),
            ("force", "Clear, and run once even if nothing is new."),
            ("backfill", "Compute partitions of a Pond again, chunk by chunk."),
            ("reactor", "Reactors: state, pushes, fires, pauses, dead letters."),
            ("live", "Run the reactors on this machine, until SIGTERM."),
            ("worker", "Work for a ledger from this machine, until SIGTERM."),
            ("serve", "Serve the API over HTTP, until Ctrl-C."),
            ("token", "Make and revoke the tokens that the server asks for."),
            ("alert", "What somebody was told of by a webhook, and whether one works."),
            ("doctor", "Check Python, Java, the ledger and the disk."),
            ("warmup", "Prepare Java and Spark, so that the first Run is fast."),
            ("compact", "Put many small batches of a Pond into few files."),
            ("vacuum", "Delete data that no Run needs any more."),
            ("secret", "Keep passwords for Ripples, encrypted in the ledger."),
            ("backup", "Copy the ledger to a file while it is in use."),
            ("restore", "Put a copy of the ledger back, and look for its data."),
            ("conform", "Check the machines against scenario files."),
        ),
    ),
)
"""The sections of the help, each with its room: the verb `import-sdp` is `import_sdp` in `import_sdp.py` there."""

_ROOMS = {name: room for _, room, rows in VERBS for name, _ in rows}

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("Pond", "a table, or several made together, with the code that makes them; named name@major"),
    ("Ripple", "one step of a Pond: a function or a SQL file that gives one table"),
    ("Source, Sink", "a Pond that this one reads; a Pond that reads this one"),
    ("Inlet, Outlet", "a Pond without Sources: data enters there; one without Sinks: people read it"),
    ("Run", "one time that a Pond was made; its tables become visible together when it completes"),
    ("freshness", "the moment that the data of a Pond describes; staleness is how long ago that is"),
    ("demand", "somebody wants newer data; without demand nothing runs"),
    ("Tap", "pull once: take what the Sources have now, and let them prepare more"),
    ("Pulse", "push once: be as fresh as this moment, the whole way up from the Inlets"),
    ("Wave", "a Tap again and again: always run, as fast as the slowest Pond on the way allows"),
    ("Tide", "never be staler than a limit, and run no more often than that needs"),
    ("calm", "take a Wave or a Tide away"),
    ("Window", "when an Inlet may take data: once in each window, for example daily after 02:00"),
    ("blocked", "a Source failed or was killed; demand is kept until somebody clears it"),
    ("snapshot", "the files that one Ripple wrote once; they never change"),
    ("catchment", "all Ponds that are connected; it decides as one"),
    ("environment", "a separate set of Ponds on the same ledger; the usual one is main"),
    ("ledger, warehouse", "the database that remembers everything; the directory that holds the data"),
)

_OTHER_WORDS = {
    "completion": '--help (completion: eval "$(_PONDAGE_COMPLETE=bash_source pondage)", or zsh_source, fish_source)',
    "describe": "show",
    "explain": "why",
    "help": "--help, or a verb and --help",
    "list": "status --once",
    "ls": "status --once",
    "ps": "status --once",
    "start": "dev",
    "stop": "kill (one Pond; all of it: Ctrl-C where pondage dev runs)",
    "validate": "plan",
    "version": "--version",
}
"""What people type who know other programs."""


class Program(click.Group):
    """The group: it knows the name and one line of each verb without importing any of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Answer the verbs in the order of the help text."""
        return list(_ROOMS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Import the module of a verb; None when there is no such verb."""
        if cmd_name not in _ROOMS:
            return None
        name = cmd_name.replace("-", "_")
        found = getattr(importlib.import_module(f"pondage.cli.{_ROOMS[cmd_name]}.{name}"), name)
        assert isinstance(found, click.Command), f"{cmd_name} is not a command"
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that was typed; an unknown one is answered with the nearest."""
        if args and args[0] not in _ROOMS and not args[0].startswith("-"):
            from pondage.define.values.suggestion import nearest

            close = _OTHER_WORDS.get(args[0]) or nearest(args[0], _ROOMS)
            meant = f" Did you mean: pondage {close}" if close else ""
            raise click.UsageError(f"There is no verb {args[0]!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the verbs by what they are for, then the words."""
        for title, _, rows in VERBS:
            with formatter.section(title):
                formatter.write_dl(rows)
        with formatter.section("Words"):
            formatter.write_dl(GLOSSARY)


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        import pondage

        click.echo(f"pondage {pondage.__version__}")
        ctx.exit()


program = Program(
    name="pondage",
    help="Data pipelines on Apache Spark that run when somebody needs the result.\n\n"
    "Global options may stand before or after a verb. `pondage VERB --help` explains one.",
    params=[
        *global_options(is_hidden=False),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version.",
        ),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    no_args_is_help=True,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code: 0, 1 for an error, 2 for a wrong call, 130 after Ctrl-C.

    Jobs have two more: 3 when one was killed, 4 when one is refused.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    settings = Settings()
    try:
        code = program.main(args=given, prog_name="pondage", standalone_mode=False, obj=settings)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the last handler: each is reported and becomes an exit code
        return report(error, settings, is_json="--json" in given)
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
