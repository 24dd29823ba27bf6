"""Runs of jobs as tables: what `pondage job list` and `show` print, and what the live screen draws."""

from __future__ import annotations

from pondage.cli.client.settings import Settings
from pondage.cli.printing.layout import Row
from pondage.cli.printing.output import print_table, print_title, state_cell
from pondage.views.jobs.jobs import ComponentView, JobRunDetail, JobRunView, JobView
from pondage.views.words import duration_text, moment_text, size_text

COMPONENT_COLUMNS = ("COMPONENT", "STATE", "TOOK", "ROWS", "NOTE")
RUN_COLUMNS = ("RUN", "JOB", "STATE", "STARTED", "TOOK", "COMPONENTS", "NOTE")
JOB_COLUMNS = ("JOB", "VERSION", "PROJECT", "COMPONENTS", "DEPLOYED", "NEXT")


def component_rows(view: JobRunDetail) -> list[Row]:
    """Answer a row for each component."""
    return [
        (
            one.name,
            state_cell(one.state),
            _took(one.started_at, one.ended_at, view.at),
            _rows(view, one),
            _note(one, view.at),
        )
        for one in view.components
    ]


def _rows(view: JobRunDetail, one: ComponentView) -> str:
    """Answer how many rows a component has written: its tables, and its streams as far as they are."""
    counts = [output.rows for output in one.outputs]
    counts += [found.rows for found in view.streams if found.component == one.name and found.rows is not None]
    return f"{sum(counts):,}" if counts else ""


def print_streams(settings: Settings, view: JobRunDetail) -> None:
    """Print a row for each stream of a run, when it has any."""
    if not view.streams:
        return
    print_title("streams", settings)
    rows = [
        (f"{one.component}.{one.port}", one.state, _figure(one.segments), _figure(one.rows),
         "" if one.bytes is None else size_text(one.bytes))
        for one in view.streams
    ]  # fmt: skip
    print_table(settings, ("STREAM", "STATE", "SEGMENTS", "ROWS", "SIZE"), rows, numbers=("SEGMENTS", "ROWS", "SIZE"))


def _figure(found: int | None) -> str:
    return "" if found is None else f"{found:,}"


def doing_text(one: ComponentView) -> str:
    """Answer how far a running component is: `waits for a worker`, `starting spark: starting the JVM`, `3/8 tasks`."""
    if one.work != "running" or one.progress is None:
        return "waits for a worker" if one.work == "queued" and one.again_at is None else ""
    tasks = f"{one.progress.tasks_done}/{one.progress.tasks_all} tasks" if one.progress.tasks_all else ""
    return " ".join(word for word in (one.progress.phase, tasks) if word)


def crash_text(one: ComponentView, now: int) -> str:
    """Answer what became of a component whose process died: `crashed twice, tried again in 4 s, 2 more`."""
    deaths = max(one.deaths, one.crashes)
    if not deaths:
        return _again_text(one, now) if one.again_at is not None else ""
    times = {1: "once", 2: "twice"}.get(deaths, f"{deaths} times")
    words = [f"crashed {times}"]
    if one.work:
        words += [_again_text(one, now), f"{one.crash_budget - one.crashes} more"]
    return ", ".join(words)


def _again_text(one: ComponentView, now: int) -> str:
    if one.again_at is None:
        return "tried again"
    seconds = -(-(one.again_at - now) // 1_000_000)
    return f"tried again in {duration_text(seconds * 1_000_000)}"


def _note(one: ComponentView, now: int) -> str:
    words = [one.cause, doing_text(one), crash_text(one, now)]
    if one.is_restored:
        words.append("restored")
    if one.attempt > 1:
        words.append(f"attempt {one.attempt}")
    return "; ".join(word for word in words if word)


def _took(started: int | None, ended: int | None, now: int) -> str:
    return "" if started is None else duration_text((now if ended is None else ended) - started)


def headline(view: JobRunDetail) -> str:
    """Answer a run in one line."""
    run = view.run
    code = f" {run.code}" if run.code else ""
    return f"{run.id} · {run.job} · {run.state}{code} · {_took(run.started_at, run.ended_at, view.at)}"


def run_rows(runs: tuple[JobRunView, ...], now: int) -> list[Row]:
    """Answer a row for each run."""
    return [
        (
            run.id,
            run.job,
            state_cell(run.state),
            moment_text(run.started_at)[:19],
            _took(run.started_at, run.ended_at, now),
            ", ".join(f"{count} {name}" for name, count in run.counts.items()),
            _run_note(run),
        )
        for run in runs
    ]


def _run_note(run: JobRunView) -> str:
    words = [run.code or "", f"resumes {run.resumed_from}" if run.resumed_from else ""]
    if run.reason not in ("by hand", "resumed"):
        words.append(run.reason)
    return " ".join(word for word in words if word)


def job_rows(jobs: tuple[JobView, ...]) -> list[Row]:
    """Answer a row for each deployed job."""
    return [
        (
            job.name,
            job.version,
            job.project,
            str(job.components),
            moment_text(job.deployed_at)[:19],
            "" if job.next_at is None else f"{moment_text(job.next_at)[:19]} by {job.schedule}",
        )
        for job in jobs
    ]
