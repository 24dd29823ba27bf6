"""`checks`: how the expectations went over the Runs, and rows that break them."""

from __future__ import annotations

import click

from pondage.cli.client.desk import Desk, asked, desk
from pondage.cli.client.settings import Settings, settings_and_json, verb
from pondage.cli.follow.answer import answer_of, print_answer
from pondage.cli.printing.layout import Cell
from pondage.cli.printing.output import print_json, print_table, print_title, print_view, state_cell
from pondage.errors import NotFound
from pondage.operations import ponds
from pondage.views.ponds.checks import BreakingView, ChecksView, RuleOutcome, RuleView
from pondage.views.words import age_text
from pondage.work.answers import BrokenRule

SAMPLE = 20
"""How many breaking rows of one rule are shown at most."""


@verb
@click.argument("pond", required=False, metavar="[POND[.RIPPLE]]")
@click.option("--sample", is_flag=True, help=f"Show at most {SAMPLE} rows that break each rule: a worker reads them.")
@click.option("--rule", metavar="NAME", help="With --sample: only this rule.")
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=10, show_default=True, help="Judgements to list.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), default=300.0, show_default=True)
@settings_and_json
def checks(
    settings: Settings, pond: str | None, sample: bool, rule: str | None, limit: int, timeout_s: float, is_json: bool
) -> None:
    """List every expectation with its last results, oldest first: `.` kept, `x` broken, `o` rows were set aside.

    Exit code 1 with --sample when there is nothing to show. Rows of a failed Run can be shown until a vacuum, an hour
    or so later.
    """
    if sample:
        if pond is None:
            raise click.UsageError("--sample needs a Pond: pondage checks POND --sample")
        _sample(settings, pond, rule=rule, timeout_s=timeout_s, is_json=is_json)
        return
    view = asked(settings, ponds.checks, subject=pond, most=limit)
    print_view(view, lambda: _print(settings, view, pond), is_json=is_json)


def _print(settings: Settings, view: ChecksView, pond: str | None) -> None:
    if not view.rules:
        click.echo(f"{pond or 'no Pond'} declares {'no' if pond else 'an'} expectation; see docs/checks.md")
        return
    print_table(
        settings,
        ("TABLE", "RULE", "STATE", "HISTORY", "TREND", "SEEN", "WHEN"),
        [_row(each, view.at) for each in view.rules],
    )
    if any(each.state in ("broken", "set aside") for each in view.rules):
        click.echo(f"to see such rows: pondage checks {pond or 'POND'} --sample")


def _row(rule: RuleView, now: int) -> tuple[Cell | str, ...]:
    last = rule.outcomes[0] if rule.outcomes else None
    return (
        f"{rule.pond.partition('@')[0]}.{rule.ripple}",
        rule.rule,
        state_cell(rule.state),
        "".join(_mark(each) for each in reversed(rule.outcomes)) or "-",
        rule.trend if rule.outcomes else "-",
        "-" if last is None else last.observed,
        "-" if last is None else age_text(last.at, now),
    )


def _mark(outcome: RuleOutcome) -> str:
    return "o" if outcome.is_set_aside else "." if outcome.passed else "x"


def _sample(settings: Settings, pond: str, *, rule: str | None, timeout_s: float, is_json: bool) -> None:
    with desk(settings) as opened:
        found = _asked(settings, opened, pond, rule, timeout_s)
    if not found:
        raise NotFound(
            f"no row of {pond} breaks {'a rule' if rule is None else rule}, or none that is still there",
            hint=f"pondage checks {pond}",
            code="NOTHING_BROKEN",
        )
    if is_json:
        print_json(found)
        return
    for each in found:
        published = "" if each.is_published else ", which published nothing"
        print_title(f"{each.table}: {each.rule} (run {each.run}{published})", settings)
        print_answer(settings, each.rows)


def _asked(settings: Settings, opened: Desk, pond: str, rule: str | None, timeout_s: float) -> list[BreakingView]:
    from pondage.operations import questions

    found: list[BreakingView] = []
    begun = opened.ask(questions.checks_rows, subject=pond, rule=rule, limit=SAMPLE)
    if not begun:
        return found
    with opened.workers():
        for each in begun:
            hint, kind = f"pondage checks {pond}", list[BrokenRule]
            broken = answer_of(opened, each.answer, kind, timeout_s=timeout_s, hint=hint, settings=settings)
            found += [
                BreakingView(
                    table=each.table, run=each.run, is_published=each.is_published, rule=one.rule, rows=one.rows
                )
                for one in broken
            ]
    return found
