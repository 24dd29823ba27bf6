"""`pondage simulate`: what would happen, without starting Spark, and what other schedulers would do instead."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from pondage.cli.client.desk import Desk, desk
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.look import simulate_options as options
from pondage.cli.printing.output import print_json
from pondage.cli.printing.simulation import print_tables
from pondage.cli.printing.target import replace_text
from pondage.define.pond.definition import PondDefinition
from pondage.define.pond.window import checked_zone
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import PondKey
from pondage.errors import NotFound
from pondage.kernel.demand import events
from pondage.kernel.demand.events import Follow, Tide, Wave
from pondage.ledger.act.branching import with_foreign
from pondage.ledger.tables.pond_shape import shape_of
from pondage.operations import readers, simulations
from pondage.plan.deploy.planner import checked, make_plan
from pondage.plan.deploy.reactors import reactor_changes
from pondage.project.reader import read_declared
from pondage.simulate import whatif
from pondage.simulate.measure import Figures, slowest
from pondage.simulate.pipeline import Pipeline
from pondage.simulate.plot import svg
from pondage.simulate.reads import ReadLine, as_trace, following, ignoring, is_following, read_log
from pondage.simulate.whatif import Played, Progress, Question
from pondage.views.plans.saved_simulations import kept_of
from pondage.views.plans.simulation import (
    Recorded,
    RippleTiming,
    SimulationFacts,
    SimulationView,
    Standing,
    standing_actions,
)
from pondage.views.words import count_text, duration_text

KEPT_DAYS = 120
"""How far back the log is asked for: for so long it is kept, unless the project says otherwise."""


class SimulateVerb(Verb):
    """Here `--trace` is a file; the traceback of an error is asked for before the verb (`pondage --trace simulate`)."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Answer the verb's options, and those global ones that do not share a name with one of them."""
        return [each for each in super().get_params(ctx) if not ("--trace" in each.opts and each.name != "trace_file")]


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The Ponds that are simulated, and what is known of them."""

    project: str
    environment: str
    definitions: list[PondDefinition]
    standing: dict[PondKey, Standing] | None
    recorded: dict[tuple[PondKey, str], Recorded]
    now: int


@click.command(cls=SimulateVerb)
@click.option("--local", "is_local", is_flag=True, help="The project in this directory, as it would be deployed.")
@click.option("--for", "length", default="1h", show_default=True, metavar="TIME", help="How much virtual time.")
@click.option("--start", metavar="TIME", help="When it begins, for Windows and schedules (ISO; else: now).")
@click.option("--duration", "durations", multiple=True, metavar="POND[.RIPPLE]=TIME", help="How long a Ripple takes.")
@click.option("--default", default="1s", show_default=True, metavar="TIME", help="… one without any history.")
@click.option("--jitter", type=click.FloatRange(0, 0.95), help="Vary durations by this share (else: as recorded).")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same simulation.")
@click.option("--tap", "taps", multiple=True, metavar="POND[@TIME]", help="Tap it at this time after the beginning.")
@click.option("--pulse", "pulses", multiple=True, metavar="POND[@TIME]", help="Pulse it.")
@click.option("--wave", "waves", multiple=True, metavar="POND[@TIME]", help="Put a Wave on it.")
@click.option(
    "--just-in-time", "paced", multiple=True, metavar="POND[@TIME]", help="… a Wave with just-in-time pacing."
)
@click.option("--tide", "tides", multiple=True, metavar="POND=TIME", help="Put a Tide on it.")
@click.option("--while-read", "followers", multiple=True, metavar="POND=TIME", help="… one that follows its readers.")
@click.option("--tz", default="UTC", show_default=True, metavar="ZONE", help="On whose clock readers are expected.")
@click.option(
    "--reads",
    "reads_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Who reads what: as `pondage readers --json` writes it.",
)
@click.option("--from-log", is_flag=True, help="… the reads that this ledger has logged: what would it have saved?")
@click.option("--fail", "failures", multiple=True, metavar="POND.RIPPLE:N", help="Let the N-th execution fail.")
@click.option(
    "--trace",
    "trace_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Who consumes what: JSON lines {"at": seconds, "pond": …, "verb": "tap|pulse|read"}.',
)
@click.option("--cron", "crons", multiple=True, metavar="TIME", help="Compare with this interval (else: three).")
@click.option("--changes", metavar="TIME", help="How often a live Inlet's outside changes (else: as fast as it reads).")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.svg", help="Draw it.")
@click.option("--save", "save_as", metavar="NAME", help="Keep it, to see it on the page beside what really happens.")
@settings_and_json
def simulate(
    settings: Settings,
    is_local: bool,
    length: str,
    start: str | None,
    durations: tuple[str, ...],
    default: str,
    jitter: float | None,
    seed: int,
    taps: tuple[str, ...],
    pulses: tuple[str, ...],
    waves: tuple[str, ...],
    paced: tuple[str, ...],
    tides: tuple[str, ...],
    followers: tuple[str, ...],
    tz: str,
    reads_file: Path | None,
    from_log: bool,
    failures: tuple[str, ...],
    trace_file: Path | None,
    crons: tuple[str, ...],
    changes: str | None,
    plot: Path | None,
    save_as: str | None,
    is_json: bool,
) -> None:
    """Play the deployed Ponds in virtual time: how often each runs, how stale the Outlets are, what is wasted.

    Spark is not started and nothing is changed. Without triggers, the standing ones of the Ponds are used. Durations
    come from the recorded executions. The same pipeline is then played under cron and with Runs on every change. With
    --reads or --from-log the standing triggers follow the readers, and stand beside themselves as they are now, beside
    cron of 15 minutes, one hour and four, and a change each five minutes.
    """
    with desk(settings) as opened:
        found = _local(opened) if is_local else _deployed(opened)
        lines = _read_lines(opened, reads_file, from_log=from_log)
    # What arrives at a reactor is not known: its Pond is simulated as an Inlet that has news whenever it is asked.
    shapes = [shape_of(msgspec.structs.replace(definition, feed=None)) for definition in found.definitions]
    names = options.Names(shapes)
    begin = found.now // 1_000_000 * 1_000_000 if start is None else options.moment(start)
    span = parsed_duration(length, what="time")
    read = as_trace(lines, {shape.key: shape for shape in shapes})
    if read and start is None:
        begin = read[0][0]
        is_default = click.get_current_context().get_parameter_source("length") is ParameterSource.DEFAULT
        span = read[-1][0] - begin + 60_000_000 if is_default else span
    pipeline = Pipeline(
        shapes=shapes,
        timings=options.timings(shapes, names, found.recorded, given=durations, default=default, jitter=jitter),
        seed=seed,
        failing=options.failing(names, failures),
    )
    given = options.actions(names, begin, taps=taps, pulses=pulses, waves=waves, just_in_time=paced, tides=tides)
    given += options.followers(names, begin, followers, tz=checked_zone(tz))
    trace = None if trace_file is None else options.consumption(names, trace_file, begin)
    if lines:
        trace = sorted([*(trace or ()), *(each for each in read if begin <= each[0] < begin + span)])
    notes: list[str] = []
    if not given and (trace is None or read):
        given = standing_actions(found.definitions, found.standing, start=begin, end=begin + span)
        if not given:
            given = [(begin, _wave(outlet)) for outlet in pipeline.outlets]
            has_schedule = any(definition.triggers.schedules for definition in found.definitions)
            why = f"no Schedule comes within {length}" if has_schedule else "there are no standing triggers"
            notes.append(f"{why}: a Wave is put on each Outlet")
        if read:
            given = following(given, Follow(tz=checked_zone(tz)))
    if read:
        # Days and weeks: nobody compares them with what runs each second.
        crons, changes = crons or ("15m", "1h", "4h"), changes or "5m"
    every = None if changes is None else parsed_duration(changes, what="changes")
    question = Question(
        pipeline=pipeline,
        start=begin,
        length=span,
        actions=given,
        trace=trace,
        changes={} if every is None else {shape.key: every for shape in shapes},
    )
    intervals = [parsed_duration(each, what="interval") for each in crons]
    ours, others = _play(question, intervals)
    view = _view(question, found, ours, others, is_local=is_local, notes=notes)
    if plot is not None:
        _draw(plot, question, ours, view)
    if save_as is not None:
        _save(settings, save_as, ours, view)
    if is_json:
        print_json(view)
    else:
        print_tables(settings, view)
        if plot is not None:
            click.echo(f"\ndrawn: {plot}")
        if save_as is not None:
            click.echo(f"\nkept as {save_as}: the page shows it on its timeline")


def _read_lines(opened: Desk, path: Path | None, *, from_log: bool) -> tuple[ReadLine, ...]:
    if path is not None:
        return read_log(path)
    if not from_log:
        return ()
    logged = opened.ask(readers.readers, days=KEPT_DAYS, rows=True).reads
    if not logged:
        raise NotFound("nobody has read anything yet by a door that is seen", hint="pondage readers", code="NO_READS")
    return tuple(ReadLine(pond=each.pond, minute=each.minute, count=each.count) for each in logged)


def _deployed(opened: Desk) -> _Found:
    facts = opened.ask(simulations.simulation_facts)
    if not facts.deployed:
        raise NotFound("nothing is deployed", hint="pondage deploy, or: pondage simulate --local", code="NO_POND")
    return _Found(
        project=", ".join(sorted({one.project for one in facts.deployed})),
        environment=facts.environment,
        definitions=[one.definition for one in facts.deployed],
        standing={each.pond: each for each in facts.standing},
        recorded=_recorded(facts),
        now=facts.at,
    )


def _local(opened: Desk) -> _Found:
    """Read the project as a deploy would, with the Ponds of other projects that are deployed beside it."""
    project = opened.project
    declared, facts = read_declared(project), opened.ask(simulations.simulation_facts)
    plan = make_plan(
        declared.ponds,
        with_foreign(facts.deployed, facts.above, project=project.name),
        project=project.name,
        environment=facts.environment,
        reactors=reactor_changes(declared.reactors, (), project=project.name),
    )
    others = [one.definition for one in facts.deployed if one.project != project.name]
    return _Found(
        project=project.name,
        environment=facts.environment,
        definitions=[*checked(plan).ponds, *others],
        standing=None,
        recorded=_recorded(facts),
        now=facts.at,
    )


def _recorded(facts: SimulationFacts) -> dict[tuple[PondKey, str], Recorded]:
    return {(each.pond, each.ripple): each.recorded for each in facts.recorded}


def _wave(outlet: PondKey) -> events.Verb:
    return Wave(pond=outlet)


def _play(question: Question, intervals: list[int]) -> tuple[Played, list[Figures]]:
    chosen = intervals or whatif.cron_intervals(question.pipeline)
    with _progress(2 + len(chosen) + is_following(question.actions)) as progress:
        ours = whatif.play_pondage(question, progress=progress)
        others = [
            whatif.play_cron(question, each, name=f"cron {duration_text(each)}", progress=progress) for each in chosen
        ]
        if is_following(question.actions):
            always = dataclasses.replace(question, actions=ignoring(question.actions))
            others.insert(0, whatif.play_pondage(always, name="never at rest", progress=progress))
        others.append(whatif.play_eager(question, progress=progress))
    return ours, [played.figures for played in others]


@contextmanager
def _progress(policies: int) -> Iterator[Progress]:
    """Show a bar on the terminal while it lasts; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _policy, _share: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=policies)
        done: dict[str, float] = {}

        def show(policy: str, share: float) -> None:
            done[policy] = share
            bar.update(task, description=f"simulating {policy}", completed=sum(done.values()))

        yield show


def _view(
    question: Question,
    found: _Found,
    ours: Played,
    others: Sequence[Figures],
    *,
    is_local: bool,
    notes: list[str],
) -> SimulationView:
    pipeline, busiest = question.pipeline, slowest(question.pipeline, ours.recorder)
    return SimulationView(
        project=found.project,
        environment=found.environment,
        is_local=is_local,
        start=question.start,
        length_us=question.length,
        seed=pipeline.seed,
        triggers=_asked(question),
        notes=tuple(notes),
        timings=tuple(
            RippleTiming(
                ripple=".".join(place),
                base_us=timing.base,
                spread=timing.spread,
                origin=timing.origin,
                samples=found.recorded[place].samples if timing.origin == "history" else 0,
            )
            for place, timing in sorted(pipeline.timings.items())
        ),
        bottleneck=None if busiest is None else ".".join(busiest),
        bottleneck_us=None if busiest is None else pipeline.timings[busiest].base,
        pondage=ours.figures,
        conditions={str(pond): condition for pond, condition in ours.conditions.items()},
        others=tuple(others),
    )


def _asked(question: Question) -> tuple[str, ...]:
    found: dict[str, int] = {}
    for _, verb in question.actions:
        words = f"{type(verb).__name__.lower()} {verb.pond}"
        if isinstance(verb, Tide):
            words += f" {duration_text(verb.limit)}"
        if isinstance(verb, Wave) and verb.pacing != "eager":
            words += ", just in time"
        if isinstance(verb, Tide | Wave) and verb.follow is not None:
            words += ", while it is read"
        found[words] = found.get(words, 0) + 1
    said = [words if count == 1 else f"{words} ({count} times)" for words, count in found.items()]
    if question.trace is not None:
        said.append(f"a trace of {count_text(len(question.trace), 'consumption')}")
    return tuple(said)


def _draw(path: Path, question: Question, ours: Played, view: SimulationView) -> None:
    title = f"{view.project}: {', '.join(view.triggers)}"
    drawn = svg(question.pipeline, ours.recorder, start=question.start, end=question.end, title=title)
    replace_text(path, drawn)


def _save(settings: Settings, name: str, ours: Played, view: SimulationView) -> None:
    kept = kept_of(name, view, [run for runs in ours.recorder.runs.values() for run in runs])
    with desk(settings) as opened:
        opened.ask(
            simulations.simulation_save,
            name=kept.name,
            start=kept.start,
            length_us=kept.length_us,
            triggers=kept.triggers,
            spans=kept.spans,
            has_more=kept.has_more,
        )
