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
from pondage.cli.words import GLOSSARY

VERBS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Start",
        (
            ("demo", "pondage.cli.start.demo:demo", "Copy the example pipeline and walk through it."),
            ("init", "pondage.cli.start.deploy:init", "Start a project: a small pipeline with a test."),
            (
                "import-sdp",
                "pondage.cli.start.import_sdp:import_sdp",
                "Make a project of a Spark Declarative Pipeline.",
            ),
            ("test", "pondage.cli.start.test:test", "Run the project's own tests, with tables to try its Ripples on."),
            ("dev", "pondage.cli.start.deploy:dev", "Run everything on this machine until Ctrl-C."),
            ("plan", "pondage.cli.start.deploy:plan", "Show what a deploy would change."),
            ("deploy", "pondage.cli.start.deploy:deploy", "Put the Ponds of the project into the ledger."),
            ("rollback", "pondage.cli.start.rollback:rollback", "The deployment before, or an older Run of a Pond."),
            ("promote", "pondage.cli.start.env:promote", "Show what an environment made in the one above."),
            ("env", "pondage.cli.start.env:env", "Environments: which reads which, where data is from."),
        ),
    ),
    (
        "Ask for data",
        (
            ("run", "pondage.cli.ask.query:run", "Pulse a Pond, follow it, print its rows."),
            ("query", "pondage.cli.ask.query:query", "Ask the published tables something in SQL."),
            ("tap", "pondage.cli.ask.pulse:tap", "Pull once: take what the Sources have."),
            ("pulse", "pondage.cli.ask.pulse:pulse", "Push once: be as fresh as now."),
            ("wave", "pondage.cli.ask.pulse:wave", "Pull again and again, until calmed."),
            ("tide", "pondage.cli.ask.pulse:tide", "Never be staler than a limit, until calmed."),
            ("calm", "pondage.cli.ask.pulse:calm", "Take a Wave or a Tide away."),
        ),
    ),
    (
        "Look",
        (
            ("status", "pondage.cli.look.status:status", "Every Pond: live until Ctrl-C, once with --once."),
            ("why", "pondage.cli.look.status:why", "Why a Pond runs, or does not."),
            ("runs", "pondage.cli.look.status:runs", "The newest Runs."),
            (
                "logs",
                "pondage.cli.look.logs:logs",
                "What the Ripples of a Pond or a Run logged, or the streams of a reactor.",
            ),
            ("show", "pondage.cli.look.show:show", "A Pond, a Run or a snapshot in full."),
            (
                "checks",
                "pondage.cli.look.checks:checks",
                "How the expectations went over the Runs; rows that break them.",
            ),
            (
                "diff",
                "pondage.cli.look.diff:diff",
                "What differs between two states of a Pond: rows by key, and columns.",
            ),
            ("lineage", "pondage.cli.look.lineage:lineage", "Where a table or a column comes from, and where it goes."),
            ("job", "pondage.cli.job.job:job", "Check, draw, play and run jobs: control flow inside a run."),
            ("flow", "pondage.cli.flow.flow:flow", "Check and run trees of programs that are written as data."),
            (
                "component",
                "pondage.cli.look.component:component",
                "What jobs and flows are built of, and the queues of their work.",
            ),
            ("type", "pondage.cli.look.type:types", "What travels between components: meaning and serialisation."),
            (
                "mailbox",
                "pondage.cli.look.mailbox:mailbox",
                "For programs of flows that are shell scripts: their ports.",
            ),
            ("simulate", "pondage.cli.look.simulate:simulate", "Play the Ponds in virtual time, without Spark."),
        ),
    ),
    (
        "Operate",
        (
            ("clear", "pondage.cli.ask.pulse:clear", "Acknowledge a failure or a kill: kept demand runs again."),
            ("kill", "pondage.cli.ask.pulse:kill", "Stop a Pond at once and block its Sinks."),
            ("sleep", "pondage.cli.ask.pulse:sleep", "Forget demand and triggers; started Runs complete."),
            ("wake", "pondage.cli.ask.pulse:wake", "Clear, and run once if the Sources are ahead."),
            ("force", "pondage.cli.ask.pulse:force", "Clear, and run once even if nothing is new."),
            ("reactor", "pondage.cli.operate.reactor:reactor", "Reactors: state, pushes, fires, pauses, dead letters."),
            ("live", "pondage.cli.operate.live:live", "Run the reactors on this machine, until SIGTERM."),
            ("worker", "pondage.cli.operate.worker:worker", "Work for a ledger from this machine, until SIGTERM."),
            ("serve", "pondage.cli.operate.serve:serve", "Serve the API over HTTP, until Ctrl-C."),
            ("token", "pondage.cli.operate.token:token", "Make and revoke the tokens that the server asks for."),
            (
                "alert",
                "pondage.cli.operate.alert:alert",
                "What somebody was told of by a webhook, and whether one works.",
            ),
            ("doctor", "pondage.cli.operate.doctor:doctor", "Check Python, Java, the ledger and the disk."),
            ("warmup", "pondage.cli.operate.doctor:warmup", "Prepare Java and Spark, so that the first Run is fast."),
            ("compact", "pondage.cli.operate.compact:compact", "Put many small batches of a Pond into few files."),
            ("vacuum", "pondage.cli.operate.doctor:vacuum", "Delete data that no Run needs any more."),
            ("secret", "pondage.cli.operate.secret:secret", "Keep passwords for Ripples, encrypted in the ledger."),
            ("backup", "pondage.cli.operate.backup:backup", "Copy the ledger to a file while it is in use."),
            ("restore", "pondage.cli.operate.backup:restore", "Put a copy of the ledger back, and look for its data."),
            ("conform", "pondage.cli.operate.conform:conform", "Check the machines against scenario files."),
        ),
    ),
)

_PLACES = {name: place for _, rows in VERBS for name, place, _ in rows}

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
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Import the module of a verb; None when there is no such verb."""
        if cmd_name not in _PLACES:
            return None
        module, _, attribute = _PLACES[cmd_name].partition(":")
        found = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, click.Command), f"{_PLACES[cmd_name]} is not a command"
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that was typed; an unknown one is answered with the nearest."""
        if args and args[0] not in _PLACES and not args[0].startswith("-"):
            from pondage.define.values.meant import nearest

            close = _OTHER_WORDS.get(args[0]) or nearest(args[0], _PLACES)
            meant = f" Did you mean: pondage {close}" if close else ""
            raise click.UsageError(f"There is no verb {args[0]!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the verbs by what they are for, then the words."""
        for title, rows in VERBS:
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, _, line in rows])
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
