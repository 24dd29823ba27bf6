"""`show`: a Pond, a Run or a snapshot in full."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from pondage.cli.client.desk import desk
from pondage.cli.client.settings import Settings, settings_and_json, typed, verb
from pondage.cli.printing.layout import Cell, Row, unbroken
from pondage.cli.printing.output import print_json, print_pairs, print_table, print_title, state_cell
from pondage.cli.printing.ponds import run_notes
from pondage.cli.printing.stages import print_stages
from pondage.operations import ponds
from pondage.views.plans.schema import ColumnView
from pondage.views.ponds.partitions import PartitionsView
from pondage.views.ponds.show import PondReference, PondShow, PublishedView, RippleShow, SnapshotShow
from pondage.views.runs.runs import AttemptView, CodeView, ExecutionView, OutputView, RunDetailView
from pondage.views.words import age_text, count_text, duration_text, list_text, moment_text, old_text, size_text
from pondage.work.snapshot import ExpectationResult

_PARTITIONS = 20
"""How many partitions are printed."""


@verb
@click.argument("subject", metavar="POND|RUN|SNAPSHOT")
@settings_and_json
def show(settings: Settings, subject: str, is_json: bool) -> None:
    """Print everything about a Pond (sales, sales@2), a Run (its id, or sales#12) or a snapshot (its id).

    For a Pond also the path and the stable name under which other programs find its tables.
    """
    with desk(settings) as opened:
        view = opened.ask(ponds.show, subject=subject)
        if is_json:
            print_json(view)
            return
        warehouse = opened.warehouse
    match view:
        case PondShow():
            _print_pond(settings, view, warehouse)
        case RunDetailView():
            _print_run(settings, view, warehouse)
        case SnapshotShow():
            _print_snapshot(settings, view)


def _moment(at: int | None, now: int) -> str:
    return "" if at is None else f"{moment_text(at)} ({age_text(at, now)})"


def _fresh(freshness: int | None, delay: int | None, now: int) -> str:
    """Answer the moment that data describes; between windows it stays as good as new for the `delay` after it."""
    return "" if freshness is None else _moment(freshness - (delay or 0), now)


def _print_pond(settings: Settings, view: PondShow, warehouse: Path) -> None:
    print_pairs(
        settings,
        [
            ("pond", f"{view.key}, version {view.version}"),
            ("", view.description),
            ("owner", view.owner),
            ("tags", ", ".join(view.tags)),
            ("project", view.project),
            ("declared", f"{view.place or view.entry}"),
            ("sources", ", ".join(_reference(each) for each in view.sources) or "none: it is an Inlet"),
            ("sinks", ", ".join(_reference(each) for each in view.sinks) or "none: it is an Outlet"),
            ("windows", "; ".join(view.windows)),
            ("wave", view.wave or ""),
            ("tides", ", ".join(f"{name} {duration_text(limit)}" for name, limit in view.tides.items())),
            ("schedules", "; ".join(view.schedules)),
            ("retries", _retries(view)),
            ("pool", view.pool or ""),
            ("labels", ", ".join(view.labels)),
            ("mode", view.mode),
            ("freshness", _freshness(view)),
            ("rolled back", _rolled_back(view)),
            ("current run", _current(view)),
            ("spliced", _spliced(view)),
            ("code", view.archive[:12]),
        ],
    )
    for ripple in view.ripples:
        _print_ripple(settings, view, ripple, warehouse)
    if view.current_run is None:
        click.echo(typed(f"\nits schema is known after the first Run; try: pondage run {view.name}"))


def _current(view: PondShow) -> str:
    if view.current_run is None:
        return ""
    above = f" (from {view.read_from})" if view.read_from else ""
    return f"#{view.current_number} ({view.current_run}){above}"


def _freshness(view: PondShow) -> str:
    """Answer what readers see; a Pond that was rolled back shows data that is older than what it has reached."""
    seen = view if view.rolled_back_to is None else view.rolled_back_to
    return _fresh(seen.freshness, seen.delay, view.at) or "never"


def _rolled_back(view: PondShow) -> str:
    older = view.rolled_back_to
    if older is None:
        return ""
    reached = "" if view.freshness is None else f" It had reached {moment_text(view.freshness - (view.delay or 0))}."
    return f"to #{older.number}, whose data this is, until its next Run.{reached}"


def _spliced(view: PondShow) -> str:
    words = ["the current Run read Sources that do not agree"] if view.is_spliced else []
    words += [f"the current Run stands on {list_text(view.spliced_from)}, spliced"] if view.spliced_from else []
    return "; ".join(words)


def _reference(each: PondReference) -> str:
    notes = [] if each.is_required is not False else ["optional"]
    notes += [f">= {each.minimum}"] if each.minimum else []
    notes += [] if each.is_deployed else ["not deployed"]
    return f"{each.key} ({', '.join(notes)})" if notes else each.key


def _retries(view: PondShow) -> str:
    if not view.retries_immediately and not view.retries_on_change:
        return "none"
    return f"{view.retries_immediately} immediately, {view.retries_on_change} when a Source moved on"


def _print_ripple(settings: Settings, view: PondShow, ripple: RippleShow, warehouse: Path) -> None:
    print_title(f"ripple {ripple.name} ({ripple.kind})", settings)
    published = ripple.published
    print_pairs(
        settings,
        [
            ("", ripple.description.partition("\n")[0]),
            ("reads", ", ".join(ripple.reads)),
            ("fused in", ", ".join(ripple.fused)),
            ("expects", "; ".join(ripple.expectations)),
            ("checked", "; ".join(_checked(each) for each in published.expectations) if published else ""),
            ("table", ripple.table if published else ""),
            ("data", _data(published) if published else ""),
            ("fresh", _fresh(published.freshness, published.delay, view.at) if published else ""),
            ("snapshot", published.snapshot if published else ""),
            ("last Run", published.upkeep.said if published and published.upkeep else ""),
            ("files", published.path if published else ""),
            ("stable name", str(warehouse / (published.link or published.stable)) if published else ""),
            ("formats", ", ".join(ripple.formats) if published else ""),
        ],
    )
    if ripple.partitions:
        _print_partitions(settings, ripple.partitions, view.at)
    if published:
        _print_columns(settings, published.columns)


def _checked(result: ExpectationResult) -> str:
    word = "set aside" if result.is_set_aside else "kept" if result.passed else "BROKEN"
    return f"{result.name} {word} ({result.observed})"


def _data(published: PublishedView) -> str:
    size = f"{count_text(published.rows, 'row')}, {size_text(published.bytes)}"
    if published.batches is None or published.batch_rows is None:
        return size
    return (
        f"{size} in {count_text(published.batches, 'batch')}; the newest has {count_text(published.batch_rows, 'row')}"
    )


def _print_partitions(settings: Settings, found: PartitionsView, at: int) -> None:
    older = f", {count_text(found.older_code, 'partition')} made by older code" if found.older_code else ""
    click.echo(f"{count_text(found.count, 'partition')} by {', '.join(found.by)}{older}")
    print_table(
        settings,
        ("PARTITION", "ROWS", "SIZE", "MADE", "BY", "CODE"),
        [
            (
                ", ".join("null" if value is None else str(value) or '""' for value in each.values),
                f"{each.rows:,}",
                size_text(each.bytes),
                age_text(each.made_at, at),
                each.run,
                "older" if each.is_older_code else "",
            )
            for each in found.partitions[:_PARTITIONS]
        ],
    )
    if found.count > _PARTITIONS:
        click.echo(f"… {found.count - _PARTITIONS} more: --json has the last {len(found.partitions)}")
    if found.missing:
        named = ", ".join(found.missing[-_PARTITIONS:])
        click.echo(f"missing: {named}" + (" and more" if len(found.missing) > _PARTITIONS else ""))


def _print_columns(settings: Settings, columns: tuple[ColumnView, ...]) -> None:
    print_table(
        settings,
        ("COLUMN", "TYPE", "NULL"),
        [(each.name, each.type, "yes" if each.nullable else "no") for each in columns],
    )


def _print_run(settings: Settings, view: RunDetailView, warehouse: Path) -> None:
    run = view.run
    print_pairs(
        settings,
        [
            ("run", f"{run.id} ({run.pond}#{run.number}, version {run.version})"),
            ("state", run.state),
            ("reason", run.reason),
            ("started", _moment(run.started_at, view.at)),
            ("ended", _moment(run.ended_at, view.at)),
            ("took", "" if run.duration_us is None else duration_text(run.duration_us)),
            ("freshness", _fresh(run.freshness, run.delay, view.at)),
            ("good until", _moment(run.freshness, view.at) if run.delay else ""),
            (
                "reads",
                ", ".join(f"{pin.source}#{pin.number}" if pin.run else f"{pin.source}: none" for pin in view.pins),
            ),
            ("code", _code(view.code, view.at)),
            ("notes", ", ".join(run_notes(run))),
            ("failed in", run.ripple or ""),
            ("error", f"{run.error.code}: {run.error.message}" if run.error else ""),
            ("at", run.error.place or "" if run.error else ""),
        ],
    )
    if settings.is_traced and run.error and run.error.trace:
        click.echo(run.error.trace)
    _print_attempts(settings, view, warehouse)
    tries = ((attempt.ripple, attempt.executions[-1].progress) for attempt in view.attempts if attempt.executions)
    print_stages(settings, "RIPPLE", tries)
    if view.outputs:
        print_title("outputs", settings)
        print_table(
            settings,
            ("RIPPLE", "SNAPSHOT", "ROWS", "SIZE", "TABLE"),
            [
                (each.ripple, each.snapshot, f"{each.rows:,}", size_text(each.bytes), _table_rows(each))
                for each in view.outputs
            ],
            numbers=("ROWS", "SIZE", "TABLE"),
        )
        for each in view.outputs:
            if each.upkeep is not None:
                click.echo(f"{each.ripple}: {each.upkeep.said}")


def _print_attempts(settings: Settings, view: RunDetailView, warehouse: Path) -> None:
    """Print every try of every Ripple, those too that crashed or were given back; `--json` has the same."""
    rows: list[Row] = []
    tried: Counter[str] = Counter()
    for attempt in view.attempts:
        for each in attempt.executions or (None,):
            tried[attempt.ripple] += 1
            rows.append((attempt.ripple, str(tried[attempt.ripple]), *_try_cells(attempt, each, view.at)))
    if not rows:
        return
    print_title("attempts", settings)
    print_table(settings, ("RIPPLE", "ATTEMPT", "OUTCOME", "TOOK", "LOG"), rows)
    folders = {str((warehouse / each.log).parent) for one in view.attempts for each in one.executions if each.log}
    for folder in sorted(folders):
        click.echo(f"logs in {folder}")


def _try_cells(attempt: AttemptView, each: ExecutionView | None, now: int) -> tuple[Cell, str, str]:
    """Answer how a try ended, how long it took and where it logged; what was never claimed has taken no time."""
    outcome = attempt.outcome or "open"
    began: int | None = attempt.created_at
    ended = attempt.closed_at
    if each is not None:
        began, ended = each.claimed_at, each.completed_at
        outcome = each.outcome or ("open" if each.claimed_at else "waits")
    log = Path(each.log).name if each is not None and each.log else "-"
    if attempt.job_run is not None:
        log = f"pondage job show {attempt.job_run}"
    took = "-" if began is None else duration_text((now if ended is None else ended) - began)
    return state_cell(outcome), took, log


def _table_rows(output: OutputView) -> str:
    """Answer how many rows the table has; the others of a table that grows are those of the batch."""
    return f"{output.rows if output.table_rows is None else output.table_rows:,}"


def _print_snapshot(settings: Settings, view: SnapshotShow) -> None:
    print_pairs(
        settings,
        [
            ("snapshot", f"{view.id} of {view.pond}.{view.ripple}"),
            ("run", view.run),
            ("freshness", _fresh(view.freshness, view.delay, view.at)),
            ("made", _moment(view.created_at, view.at)),
            ("data", f"{count_text(view.rows, 'row')}, {size_text(view.bytes)}, {count_text(len(view.files), 'file')}"),
            ("files", f"{view.path}{' (deleted)' if view.is_deleted else ''}"),
            ("code", _code(view.code, view.at)),
            ("ripple's digest", view.digest[:12]),
            (
                "expected",
                "; ".join(f"{each.name} {'passed' if each.passed else 'FAILED'}" for each in view.expectations),
            ),
        ],
    )
    if view.inputs:
        print_title("made of", settings)
        print_table(
            settings,
            ("AS", "TABLE", "SNAPSHOT", "RUN", "DATA AGE"),
            [
                (name, each.table, each.snapshot, each.run, unbroken(old_text(each.freshness - each.delay, view.at)))
                if (each := view.read.get(name))
                else (name, "-", snapshot or "none", "-", "-")
                for name, snapshot in view.inputs.items()
            ],
        )
    print_title("columns", settings)
    _print_columns(settings, view.columns)
    if view.source:
        print_title("code", settings)
        click.echo(view.source.rstrip())


def _code(code: CodeView, now: int) -> str:
    """Answer in one line which code it was: `3f2a… of project shop, deployed 2 h ago (ponds/sales.py:3)`."""
    deployed = "" if code.deployed_at is None else f", deployed {age_text(code.deployed_at, now)}"
    return f"{code.archive[:12]} of project {code.project}{deployed} ({code.place or code.entry})"
