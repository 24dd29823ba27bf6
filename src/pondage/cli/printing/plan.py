"""A plan as text: each Pond in a line, its columns, what is worth reading, what follows, what is wrong."""

from __future__ import annotations

import click

from pondage.cli.client.settings import Settings, typed
from pondage.cli.printing.output import styled
from pondage.views.plans.plan import PlannedPond, PlanView, SchemaView

_SIGNS = {
    "added": ("+", "green"),
    "changed": ("~", "yellow"),
    "removed": ("-", "red"),
    "unchanged": (" ", "dim"),
    "kept": ("=", "dim"),
}


def print_plan(settings: Settings, view: PlanView, *, is_deployed: bool = False) -> None:
    """Print a plan: each Pond in one line, then what is worth reading, then what is wrong."""
    click.echo(f"project {view.project}, environment {view.environment}")
    for pond in view.ponds:
        _print_change(settings, pond.change, _planned_text(pond, goes_on=pond.key in view.goes_on))
        for line in _fusion_lines(pond):
            click.echo(f"      {line}")
        for schema in pond.schemas:
            for line in _schema_lines(schema):
                click.echo(f"      {line}")
    if view.borrowed:
        shown = ", ".join(view.borrowed[:8]) + (" …" if len(view.borrowed) > 8 else "")
        click.echo(styled(f"    read from {view.parent}: {shown}", settings, dim=True))
    for job in view.jobs:
        _print_change(settings, job.change, f"job {job.name} {job.change}")
    for reactor in view.reactors:
        version = reactor.version_to or reactor.version_from
        how = " (its graphs, while it runs)" if reactor.is_rebound else ""
        how += f" (reads {', '.join(reactor.rebound)})" if reactor.rebound else ""
        _print_change(settings, reactor.change, f"reactor {reactor.name} {version} {reactor.change}{how}")
    for one in view.exposed:
        if one.change != "unchanged":
            version = one.version_to or one.version_from
            _print_change(settings, one.change, f"{one.kind} {one.name} {version} {one.change}")
    for message in view.messages:
        click.echo(f"  note: {message.text}")
    for line in _afterwards(view, is_deployed=is_deployed):
        click.echo(f"  {line}")
    for problem in view.problems:
        place = f" at {problem.place}" if problem.place else ""
        click.echo(styled(f"  problem[{problem.code}]: {problem.message}{place}", settings, fg="red"))
        if problem.hint:
            click.echo(f"    try: {typed(problem.hint, settings)}")
    if view.is_empty and not view.problems:
        click.echo("nothing to deploy: everything is as it is in the project")


def _print_change(settings: Settings, change: str, text: str) -> None:
    sign, color = _SIGNS[change]
    is_dim = color == "dim"
    click.echo(styled(f"  {sign} {text}", settings, fg=None if is_dim else color, dim=is_dim))


def _planned_text(pond: PlannedPond, *, goes_on: bool) -> str:
    if pond.change == "kept":
        return f"{pond.key} kept for {', '.join(pond.kept_for)} (pondage deploy --remove {pond.key} ends it)"
    words = [pond.key, pond.change]
    if pond.version_from and pond.version_to and pond.version_from != pond.version_to:
        words.append(f"{pond.version_from} -> {pond.version_to}")
    details = [f"{ripple.name}: {', '.join(ripple.what) or ripple.change}" for ripple in pond.ripples]
    details += [f"reads {each}" for each in pond.rebound]
    details += pond.what
    if pond.change != "unchanged":
        details += [f"reads {', '.join(pond.sources)}"] if pond.sources and pond.change == "added" else []
        details += pond.triggers
        if pond.runs and pond.change == "changed":
            details.append("its next batch is by the new code" if goes_on else "computes anew at its next Run")
    return " ".join(words) + (f" ({'; '.join(details)})" if details else "")


def _fusion_lines(pond: PlannedPond) -> list[str]:
    """Answer what is fused, and in a Pond that asks for it also what is not; nothing for one that is as it was."""
    if pond.change in ("unchanged", "kept"):
        return []
    return [
        f"{each.ripple}: {f'fused into {each.into}' if each.into else 'written'} ({each.reason})"
        for each in pond.fusions
        if pond.fuse or each.into
    ]


def _schema_lines(schema: SchemaView) -> list[str]:
    """Answer what Runs of a Ripple can do, and how its columns change; nothing while that is not known."""
    lines = [] if schema.upkeep is None else [f"{schema.ripple}: {schema.upkeep}"]
    if schema.state in ("unknown", "same"):
        return lines
    for column in schema.columns:
        if column.before is None:
            lines.append(f"{schema.ripple}: + {column.name} {column.after}")
        elif column.after is None:
            lines.append(f"{schema.ripple}: - {column.name} {column.before}")
        else:
            lines.append(f"{schema.ripple}: ~ {column.name} {column.before} -> {column.after}")
    return lines


def _afterwards(view: PlanView, *, is_deployed: bool) -> list[str]:
    """Answer what happens after the deploy, and what is not known before it."""
    lines = []
    if anew := [key for key in view.recomputes if key not in view.goes_on]:
        lines.append(f"at the next demand these compute anew, in this order: {', '.join(anew)}")
    if view.goes_on:
        all_of_it = f"pondage force --full {view.goes_on[0].partition('@')[0]}"
        lines.append(f"these keep their rows and take their next batch: {', '.join(view.goes_on)} (all: {all_of_it})")
    if view.asking:
        lines.append(f"triggers of their own ask for it: {', '.join(view.asking)}")
    unknown = [f"{pond.key}.{each.ripple}" for pond in view.ponds for each in pond.schemas if each.state == "unknown"]
    if unknown and not view.is_analyzed and not is_deployed:
        shown = ", ".join(unknown[:4]) + (f" and {len(unknown) - 4} more" if len(unknown) > 4 else "")
        lines.append(f"schemas known after the next run: {shown} (to find them now: pondage plan --analyze)")
    return lines
