"""`pondage backfill`: compute a part of the past again, chunk by chunk, and look how far that is."""

from __future__ import annotations

import click

from pondage.cli.client.desk import asked
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.printing.output import print_json, print_list, print_pairs, print_table, print_view, state_cell
from pondage.define.pond.partition import Partition
from pondage.operations import backfills
from pondage.views.ponds.backfills import BackfillDetail, BackfillPlan, BackfillView, ChunkView
from pondage.views.words import age_text, count_text, duration_text, list_text, size_text

SHOWN = 20
"""How many chunks a dry run and `show` print; `--json` has all."""
_PAUSED = {
    "deploying": "the Pond is being deployed",
    "deployed": "the Pond was deployed with other code: resume goes on with the new code",
    "killed": "the Pond was killed: clear it first",
    "failed": "a chunk has failed",
}


class Backfills(click.Group):
    """A group that begins a backfill when the first word is no verb of its own: that is the name of a Pond."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or begin."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            return "start", self.commands["start"], args
        return super().resolve_command(ctx, args)


@click.group(cls=Backfills, subcommand_metavar="POND [OPTIONS] | COMMAND [ARGS]...")
def backfill() -> None:
    """Compute partitions of a Pond again: `pondage backfill POND --from 2026-01-01 --to 2026-03-31`.

    For Ponds with mode="partition"; all others: `pondage force POND --full`. The chunks are computed one after the
    other, the newest first, each in a Run of its own, whenever nothing that is asked for can start.
    """


@backfill.command("start", cls=Verb)
@click.argument("pond")
@click.option("--from", "first", metavar="VALUE", help="The first value of time, 2026-01-01.")
@click.option("--to", "last", metavar="VALUE", help="The last one, included; 2026-03 means all of March.")
@click.option("--where", metavar="CONDITION", help="Partitions for which this holds: \"region = 'DE'\".")
@click.option("--missing", is_flag=True, help="Those that are missing between the first and the last.")
@click.option("--failed", is_flag=True, help="Those whose last chunk has failed.")
@click.option("--older-code", is_flag=True, help="Those that older code has made.")
@click.option("--all", "everything", is_flag=True, help="All that the table has.")
@click.option("--chunk", "each", metavar="SIZE", help="How much one Run computes: 7d, or a number of partitions.")
@click.option("--oldest-first", is_flag=True, help="Begin with the oldest.")
@click.option("--stop", is_flag=True, help="Pause at the first chunk that fails.")
@click.option("--dry-run", is_flag=True, help="Only say what would be computed.")
@click.option("--note", default="", help="Why, for the audit.")
@settings_and_json
def start(settings: Settings, pond: str, dry_run: bool, stop: bool, is_json: bool, **selection: object) -> None:
    """Begin a backfill. What is said of its partitions must all hold."""
    if dry_run:
        plan = asked(settings, backfills.backfill_plan, pond=pond, **selection)  # type: ignore[arg-type]
        print_view(plan, lambda: _print_plan(settings, plan), is_json=is_json)
        return
    done = asked(settings, backfills.backfill_start, pond=pond, stop=stop, **selection)  # type: ignore[arg-type]
    if is_json:
        print_json(done)
        return
    click.echo(
        f"backfill {done.backfill} computes {count_text(done.partitions, 'partition')} of {done.pond} again, "
        f"in {count_text(done.chunks, 'chunk')}: pondage backfill show {done.backfill}"
    )


@backfill.command("list", cls=Verb)
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@settings_and_json
def list_(settings: Settings, limit: int, is_json: bool) -> None:
    """Print the newest backfills and how far they are."""
    view = asked(settings, backfills.backfill_list, limit=limit)
    rows = [
        (each.backfill, each.pond, state_cell(each.state), _progress(each), age_text(each.created_at, view.at))
        for each in view.backfills
    ]
    empty = "there are no backfills; one is begun by: pondage backfill POND --from … --to …"
    print_list(settings, view, ("BACKFILL", "POND", "STATE", "PROGRESS", "BEGUN"), rows, empty=empty, is_json=is_json)


@backfill.command("show", cls=Verb)
@click.argument("backfill")
@settings_and_json
def show(settings: Settings, backfill: str, is_json: bool) -> None:
    """Print how far a backfill is, and its chunks: those that run or have failed before the others."""
    view = asked(settings, backfills.backfill_show, backfill=backfill)
    print_view(view, lambda: _print_detail(settings, view), is_json=is_json)


@backfill.command("pause", cls=Verb)
@click.argument("backfill")
@click.option("--note", default="", help="Why, for the audit.")
@settings_and_json
def pause(settings: Settings, backfill: str, note: str, is_json: bool) -> None:
    """Let the chunk that runs finish, and compute no other until resumed."""
    done = asked(settings, backfills.backfill_pause, backfill=backfill, note=note)
    print_view(done, f"backfill {done.backfill} is paused: pondage backfill resume {done.backfill}", is_json=is_json)


@backfill.command("resume", cls=Verb)
@click.argument("backfill")
@click.option("--note", default="", help="Why, for the audit.")
@settings_and_json
def resume(settings: Settings, backfill: str, note: str, is_json: bool) -> None:
    """Go on with the chunks that wait, with the code that is deployed now."""
    done = asked(settings, backfills.backfill_resume, backfill=backfill, note=note)
    left = done.chunks - done.completed - done.failed
    goes_on = f"backfill {done.backfill} goes on: {count_text(left, 'chunk')} to come"
    print_view(done, goes_on if done.state == "running" else _state(done), is_json=is_json)


@backfill.command("cancel", cls=Verb)
@click.argument("backfill")
@click.option("--note", default="", help="Why, for the audit.")
@settings_and_json
def cancel(settings: Settings, backfill: str, note: str, is_json: bool) -> None:
    """Stop the chunk that runs, and compute no other; what was computed stays."""
    done = asked(settings, backfills.backfill_cancel, backfill=backfill, note=note)
    computed = f"{count_text(done.completed, 'chunk')} of {done.chunks} {'was' if done.completed == 1 else 'were'}"
    print_view(done, f"backfill {done.backfill} is cancelled; {computed} computed", is_json=is_json)


def _progress(view: BackfillView) -> str:
    over = view.completed + view.failed
    filled = 20 * over // view.chunks if view.chunks else 20
    failed = f", {view.failed:,} failed" if view.failed else ""
    return f"[{'#' * filled}{'.' * (20 - filled)}] {over:,} of {view.chunks:,}{failed}"


def _state(view: BackfillView) -> str:
    why = _PAUSED.get(view.reason, view.reason)
    return f"{view.state}, because {why}" if why and view.state == "paused" else view.state


def _print_plan(settings: Settings, plan: BackfillPlan) -> None:
    new = f", {plan.new:,} of them new" if plan.new else ""
    time = "unknown before the first chunk" if plan.time_us is None else f"about {duration_text(plan.time_us)}"
    below = f"{list_text(plan.sinks)} would take the change with the next Run" if plan.sinks else ""
    print_pairs(
        settings,
        [
            ("pond", plan.pond),
            ("partitions", f"{plan.partitions:,}{new}, by {list_text(plan.by)}"),
            ("chunks", f"{len(plan.chunks):,}"),
            ("now", f"{count_text(plan.rows, 'row')}, {size_text(plan.bytes)}"),
            ("time", time),
            ("below", below),
        ],
    )
    for number, chunk in enumerate(plan.chunks[:SHOWN], 1):
        click.echo(f"  {number}. {_named(chunk)}")
    if len(plan.chunks) > SHOWN:
        click.echo(f"  … and {len(plan.chunks) - SHOWN:,} more")


def _print_detail(settings: Settings, view: BackfillDetail) -> None:
    left = "" if view.left_us is None or view.state != "running" else f"about {duration_text(view.left_us)}"
    print_pairs(
        settings,
        [
            ("pond", view.pond),
            ("state", _state(view)),
            ("progress", _progress(view)),
            ("left", left),
            ("asked", view.request),
            ("note", view.note),
        ],
    )
    urgent = {"sent": 0, "failed": 1, "waiting": 2, "completed": 3, "cancelled": 4}
    shown = sorted(view.listed, key=lambda each: (urgent[each.state], each.number))[:SHOWN]
    print_table(settings, ("CHUNK", "PARTITIONS", "STATE", "RUN", "TOOK"), [_row(each, view.at) for each in shown])
    for each in shown:
        if each.error:
            click.echo(f"  {each.number}: {each.error.message}")
    if view.failed and view.ended_at is not None:
        click.echo(f"try them again: pondage backfill {view.pond} --failed")


def _row(chunk: ChunkView, now: int) -> tuple[str, ...]:
    state = "running" if chunk.state == "sent" and chunk.started_at is not None else chunk.state
    ended = chunk.ended_at if chunk.ended_at is not None else now
    took = "-" if chunk.started_at is None else duration_text(ended - chunk.started_at)
    return str(chunk.number), _named(chunk.partitions), state, chunk.run or "-", took


def _named(partitions: tuple[Partition, ...]) -> str:
    """Answer the first and the last of some partitions."""
    ends = [", ".join("null" if value is None else str(value) for value in each) for each in partitions]
    if len(ends) <= 2:
        return " and ".join(ends)
    return f"{ends[0]} … {ends[-1]} ({len(ends):,})"
