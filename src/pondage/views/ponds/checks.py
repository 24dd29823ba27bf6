"""How expectations went over the Runs: the last result of each rule, those before it, and where it is going."""

from __future__ import annotations

from statistics import fmean
from typing import Literal

import msgspec

from pondage.define.pond.definition import ExpectationDefinition, PondDefinition
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound
from pondage.ledger.data.checks import Judgement, judgements
from pondage.ledger.database.driver import Transaction
from pondage.ledger.database.mapping import of_row
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors
from pondage.ledger.tables.actors import PondRow
from pondage.views import find
from pondage.views.ponds.rules import expectation_text
from pondage.views.words import list_text
from pondage.work.answers import QueryView
from pondage.work.snapshot import ExpectationResult

Trend = Literal["better", "worse", "steady", "new"]


class RuleOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a rule. `is_published`: the rows that were judged are a snapshot."""

    run: str
    number: int
    at: int
    passed: bool
    severity: str
    observed: str
    broken: int | None
    value: float | None
    is_set_aside: bool
    is_published: bool


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """One rule and its outcomes, newest first. `kept` of them kept it; `trend` sets the newest beside the others."""

    pond: str
    ripple: str
    rule: str
    text: str
    state: Literal["kept", "broken", "set aside", "never judged"]
    trend: Trend
    kept: int
    outcomes: tuple[RuleOutcome, ...]


class ChecksView(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one Pond or of all."""

    environment: str
    at: int
    rules: tuple[RuleView, ...]


class RippleRules(msgspec.Struct, frozen=True, kw_only=True):
    """A Ripple whose rows somebody wants to see: its last judgement, and the rules that it broke."""

    definition: PondDefinition
    ripple: str
    judged: Judgement
    rules: tuple[ExpectationDefinition, ...]


def read_checks(tx: Transaction, ledger: Ledger, environment: str, *, subject: str | None, most: int) -> ChecksView:
    """Answer the rules of a Pond, of one of its Ripples (`sales.clean`) or of all Ponds; raises `NotFound`."""
    found = find.environment_id(tx, environment)
    rows, ripple = (actors.ponds(tx, found), "") if subject is None else _subject(tx, ledger, found, subject)
    rules: list[RuleView] = []
    for row in rows:
        for each in ledger.definition(tx, row.definition).ripples:
            if each.expectations and ripple in ("", each.name):
                past = judgements(tx, pond=row.id, ripple=each.name, most=most)
                rules += [_rule(row.key, each.name, rule, past) for rule in each.expectations]
    return ChecksView(environment=environment, at=tx.now, rules=tuple(rules))


def breaking(tx: Transaction, ledger: Ledger, environment: str, *, subject: str, rule: str | None) -> list[RippleRules]:
    """Answer where rows break rules, at the last judgement of each Ripple. Rules that are not about rows have none."""
    rows, ripple = _subject(tx, ledger, find.environment_id(tx, environment), subject)
    found: list[RippleRules] = []
    for row in rows:
        definition = ledger.definition(tx, row.definition)
        for each in definition.ripples:
            past = judgements(tx, pond=row.id, ripple=each.name, most=1) if ripple in ("", each.name) else []
            if past and (past[0].snapshot is not None or past[0].rejected is not None):
                broken = {one.name for one in past[0].results if one.is_set_aside or not one.passed}
                asked = tuple(
                    one
                    for one in each.expectations
                    if one.kind not in ("rows", "volume", "fresh", "bad_rows")
                    and one.name in broken
                    and rule in (None, one.name)
                )
                if asked:
                    found.append(RippleRules(definition=definition, ripple=each.name, judged=past[0], rules=asked))
    return found


def _subject(tx: Transaction, ledger: Ledger, environment: int, subject: str) -> tuple[list[PondRow], str]:
    name, _, ripple = subject.partition(".")
    row = find.pond(tx, environment, name)
    known = [each.name for each in ledger.definition(tx, row.definition).ripples]
    if ripple and ripple not in known:
        close = nearest(ripple, known)
        meant = f"did you mean {close!r}?" if close else f"it has {list_text(known)}"
        raise NotFound(f"{name} has no Ripple {ripple!r}; {meant}", hint=f"pondage checks {name}", code="NO_RIPPLE")
    return [row], ripple


def _rule(pond: str, ripple: str, rule: ExpectationDefinition, past: list[Judgement]) -> RuleView:
    outcomes = tuple(
        _outcome(judged, result) for judged in past for result in judged.results if result.name == rule.name
    )
    last = outcomes[0] if outcomes else None
    return RuleView(
        pond=pond,
        ripple=ripple,
        rule=rule.name,
        text=expectation_text(rule),
        state=_state(last),
        trend=_trend(outcomes),
        kept=sum(each.passed and not each.is_set_aside for each in outcomes),
        outcomes=outcomes,
    )


def _outcome(judged: Judgement, result: ExpectationResult) -> RuleOutcome:
    return of_row(
        RuleOutcome,
        result,
        run=judged.run_id,
        number=judged.run_number,
        at=judged.at,
        is_published=judged.snapshot is not None,
    )


def _state(last: RuleOutcome | None) -> Literal["kept", "broken", "set aside", "never judged"]:
    if last is None:
        return "never judged"
    return "set aside" if last.is_set_aside else "kept" if last.passed else "broken"


def _trend(outcomes: tuple[RuleOutcome, ...]) -> Trend:
    """Answer whether more rows break the rule than before, or fewer; where no rows are counted, whether it is kept."""
    if len(outcomes) < 2:
        return "new"
    last, before = _measure(outcomes[0]), fmean(_measure(each) for each in outcomes[1:])
    return "steady" if last == before else "worse" if last > before else "better"


def _measure(outcome: RuleOutcome) -> float:
    return float(outcome.broken) if outcome.broken is not None else float(not outcome.passed)


class BreakingView(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows that break one rule, of the Run that was judged last."""

    table: str
    run: str
    is_published: bool
    rule: str
    rows: QueryView
