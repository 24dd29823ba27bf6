"""Views as tables: what `status` and `runs` print, and what the live screen draws again and again."""

from __future__ import annotations

from pondage.cli.client.settings import typed
from pondage.cli.printing.layout import Cell, Row, unbroken
from pondage.cli.printing.output import state_cell
from pondage.views.ponds.status import PondView, StatusView, TriggerView
from pondage.views.runs.active import ActiveRunView, RippleView
from pondage.views.runs.processes import heard_of
from pondage.views.runs.runs import RunView
from pondage.views.words import age_text, clock_text, count_text, duration_text, list_text, old_text

STATUS_COLUMNS = ("POND", "STATE", "DATA AGE", "ASKED FOR BY", "LAST RUN", "NOW")
REACTOR_COLUMNS = ("REACTOR", "VERSION", "STATE", "WAITS FOR")
RUNS_COLUMNS = ("RUN", "POND", "STATE", "AGE", "TOOK", "DATA AGE", "REASON", "NOTE")
MOST_OF_AN_ERROR = 120
"""Characters of an error in a table."""


def reactor_rows(view: StatusView) -> list[tuple[str, str, str, str]]:
    """Answer a row for each reactor."""
    return [(each.name, each.version, each.state, ", ".join(each.waiting_for)) for each in view.reactors]


def status_rows(view: StatusView, now: int, ponds: frozenset[str] | None = None) -> list[Row]:
    """Answer a row for each Pond (or each of some), with ages as of `now`."""
    return [
        (
            pond.key,
            state_cell(pond.state),
            fresh_text(pond, now),
            asked_text(pond),
            last_text(pond, now),
            Cell(doing_text(pond, now), "red" if pond.state == "failed" else ""),
        )
        for pond in view.ponds
        if ponds is None or pond.key in ponds
    ]


def fresh_text(pond: PondView, now: int) -> str:
    """Answer how old the data of a Pond is."""
    if pond.freshness is None:
        return "none"
    return unbroken(old_text(pond.freshness - (pond.delay or 0), now))


def asked_text(pond: PondView) -> str:
    """Answer who wants something of the Pond."""
    words = [trigger_text(trigger) for trigger in pond.triggers]
    if pond.demand.pull:
        words.append("pull")
    if pond.demand.targets:
        words.append(count_text(len(pond.demand.targets), "target"))
    return ", ".join(words) or "-"


def trigger_text(trigger: TriggerView) -> str:
    """Answer a standing trigger in a few words."""
    if trigger.paused_by is not None:
        return f"{_asking_text(trigger)} (paused)"
    awake = trigger.awake
    if awake is None:
        return _asking_text(trigger)
    until = " until somebody reads" if awake.until is None else f" until {clock_text(awake.until, awake.tz)}"
    return f"{_asking_text(trigger)} ({'awake' if awake.is_awake else 'resting'}{until})"


def _asking_text(trigger: TriggerView) -> str:
    match trigger.kind:
        case "wave":
            return "wave" if trigger.pacing == "eager" else "wave, just in time"
        case "tide":
            return f"tide {duration_text(trigger.limit_us or 0)}"
        case "schedule":
            return f"schedule {trigger.cron}"


def doing_text(pond: PondView, now: int) -> str:
    """Answer what a Pond does at this moment, or what happens to it next."""
    if pond.state == "running":
        return "; ".join(running_text(run) for run in pond.active if run.is_executing)
    if pond.state == "failed" and pond.last_run is not None and pond.last_run.error is not None:
        return f"{_short(pond.last_run.error.message)}; {typed(pond.next.text)}"
    return typed(f"{pond.next.text} {age_text(pond.next.at, now)}" if pond.next.at is not None else pond.next.text)


def running_text(run: ActiveRunView) -> str:
    """Answer how far a Run is: `clean writing 3/8 tasks (1 of 3 done)`."""
    done = sum(ripple.state in ("done", "reused") for ripple in run.ripples)
    busy = ", ".join(ripple_text(ripple) for ripple in run.ripples if ripple.state == "running")
    return f"{busy} ({done} of {len(run.ripples)} done)" if len(run.ripples) > 1 else busy


def ripple_text(ripple: RippleView) -> str:
    """Answer how far a Ripple is: `clean writing 3/8 tasks`; with the Ripples that are part of it."""
    words = [ripple.name, f"(with {', '.join(ripple.fused)})" if ripple.fused else ""]
    if ripple.progress is not None:
        words.append(ripple.progress.phase)
        if ripple.progress.tasks_all:
            words.append(f"{ripple.progress.tasks_done}/{ripple.progress.tasks_all} tasks")
    elif phase := _phase(ripple.process_state):
        words.append(f"({phase})")
    if ripple.job_run is not None:
        words.append(f"(job run {ripple.job_run})")
    return " ".join(word for word in words if word)


def _phase(state: str | None) -> str:
    """Answer what a worker does beside working, which slots tell: `starting spark: starting the JVM`, `draining`."""
    return "" if state is None or state.partition(" ")[0] in ("idle", "busy") else state


def last_text(pond: PondView, now: int) -> str:
    """Answer how the last Run ended."""
    last = pond.last_run
    if last is None:
        return "-"
    return f"#{last.number} {last.state} {unbroken(old_text(last.ended_at, now) + ' ago')}"


def process_text(view: StatusView) -> str:
    """Answer who works, in one line."""
    heard = heard_of(view.processes)
    silent = len(view.processes) - len(heard)
    quiet = f"{count_text(silent, 'process')} silent" if silent else ""
    if not heard:
        return f"no process of Pondage runs ({f'{quiet}; ' if quiet else ''}start: pondage dev)"
    workers = [process for process in heard if process.slots > 0]
    busy, slots = sum(each.busy for each in workers), sum(each.slots for each in workers)
    states = {phase for each in workers if (phase := _phase(each.state))}
    parts = [count_text(len(heard), "process")]
    if workers:
        parts.append(f"{busy} of {count_text(slots, 'slot')} busy")
    return ", ".join([*parts, *sorted(states), *([quiet] if quiet else [])])


def run_notes(run: RunView) -> list[str]:
    """Answer what is unusual about a Run."""
    notes = [word for word, is_so in (("forced", run.is_forced), ("spliced", run.is_spliced)) if is_so]
    notes += [f"stands on {list_text(run.spliced_from)}, spliced"] if run.spliced_from else []
    notes += [] if run.shows is None else [f"shows {run.shows}"]
    notes += [] if run.removed_at is None else ["of before it was removed"]
    return notes if run.rolled_back_to is None else [*notes, f"rolled back to #{run.rolled_back_to}"]


def run_row(run: RunView, now: int) -> Row:
    """Answer the row of one Run."""
    notes = run_notes(run)
    if run.error is not None:
        notes.append(_short(run.error.message))
    took = run.duration_us if run.duration_us is not None else now - run.started_at
    return (
        run.id,
        f"{run.pond}#{run.number}",
        state_cell(run.state),
        unbroken(old_text(run.started_at, now)),
        unbroken(duration_text(took)),
        unbroken(old_text(run.freshness - run.delay, now)),
        run.reason,
        Cell("; ".join(notes), "red" if run.error else ""),
    )


def _short(message: str) -> str:
    """Answer the beginning of an error for a cell: a table stays readable, and `why` and `show` have all of it."""
    line = message.partition("\n")[0]
    return line if len(line) <= MOST_OF_AN_ERROR else f"{line[: MOST_OF_AN_ERROR - 1]}…"
