"""A what-if as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from pondage.cli.client.settings import Settings
from pondage.cli.printing.layout import Row
from pondage.cli.printing.output import print_table, print_title
from pondage.simulate.measure import Figures
from pondage.views.plans.simulation import RippleTiming, SimulationView
from pondage.views.words import count_text, duration_text, list_text, moment_text

POND_COLUMNS = ("POND", "RUNS", "WASTED", "SPARK TIME", "BETWEEN RUNS")
OUTLET_COLUMNS = ("OUTLET", "RUNS", "MEAN STALENESS", "WORST", "IDEAL", "LEAD", "CYCLE")
POLICY_COLUMNS = ("POLICY", "RUNS", "WASTED", "SPARK TIME", "MEAN STALENESS", "WORST")
CONSUMED_COLUMNS = ("MEAN AGE READ", "WORST AGE", "MEAN WAIT")


def print_tables(settings: Settings, view: SimulationView) -> None:
    """Print a what-if: the Ponds, the Outlets, the slowest Ripple, and the policies side by side."""
    what = "the local project" if view.is_local else "the deployed Ponds"
    click.echo(f"{what} of {view.project} in {view.environment}, {duration_text(view.length_us)} of virtual time")
    click.echo(f"from {moment_text(view.start)}, seed {view.seed}; asked for: {'; '.join(view.triggers) or 'nothing'}")
    click.echo(f"durations: {durations_text(view.timings)}")
    for note in view.notes:
        click.echo(f"note: {note}")
    print_title("Ponds", settings)
    ponds = [
        (one.pond, str(one.runs), str(one.wasted), duration_text(one.spent_us), _time(one.cycle_us))
        for one in view.pondage.ponds
    ]
    print_table(settings, POND_COLUMNS, ponds, numbers=POND_COLUMNS[1:])
    print_title("Outlets", settings)
    outlets = [
        (
            one.pond,
            str(one.runs),
            _time(one.mean_staleness_us),
            _time(one.worst_staleness_us),
            duration_text(one.ideal_us),
            duration_text(one.lead_us),
            _time(one.cycle_us),
        )
        for one in view.pondage.outlets
    ]
    print_table(settings, OUTLET_COLUMNS, outlets, numbers=OUTLET_COLUMNS[1:])
    if view.bottleneck is not None:
        slow = f"{view.bottleneck} ({duration_text(view.bottleneck_us or 0)})"
        click.echo(f"the slowest Ripple is {slow}, busy {view.pondage.utilisation:.0%} of the time")
    for pond, condition in sorted(view.conditions.items()):
        click.echo(f"at the end {pond} is {condition}")
    print_title("The same under other schedulers", settings)
    columns = (*POLICY_COLUMNS, *(CONSUMED_COLUMNS if view.pondage.consumed else ()))
    policies = [policy_row(one) for one in (view.pondage, *view.others)]
    print_table(settings, columns, policies, numbers=columns[1:])
    click.echo("wasted: Runs whose result nobody used, neither a reader nor a Run that somebody used")


def policy_row(figures: Figures) -> Row:
    """Answer one policy as a row."""
    row = (
        figures.policy,
        str(figures.runs),
        str(figures.wasted),
        duration_text(figures.spent_us),
        _time(figures.mean_staleness_us),
        _time(figures.worst_staleness_us),
    )
    consumed = figures.consumed
    if consumed is None:
        return row
    return (*row, _time(consumed.mean_age_us), _time(consumed.worst_age_us), _time(consumed.mean_wait_us))


def durations_text(timings: Sequence[RippleTiming]) -> str:
    """Answer where the durations come from, in one line."""
    origins = Counter(timing.origin for timing in timings)
    words = {"given": "given", "history": "from recorded executions", "default": "by default"}
    return list_text(
        f"{count_text(count, 'Ripple')} {words[origin]}" for origin, count in sorted(origins.items(), reverse=True)
    )


def _time(length: int | None) -> str:
    return "-" if length is None else duration_text(length)
