"""What is deployed in an environment and above it, and what a deploy below another one is about: its own Ponds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.errors import LedgerError
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.environments import MAIN
from pondage.plan.deploy.own_ponds import narrowed, own_ponds
from pondage.plan.deploy.values import Deployed, Plan


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller of a deploy said: the environment above, and the Ponds to have here.

    `parents` are those of the project file. `is_empty`: a new environment is below none. `ended` are majors that have
    left the files and are taken away although somebody is bound to them.
    """

    parent: str | None = None
    names: tuple[str, ...] = ()
    is_all: bool = False
    is_empty: bool = False
    parents: Mapping[str, str] = {}
    ended: tuple[str, ...] = ()


def deployed(tx: Transaction, ledger: Ledger, environment: str) -> list[Deployed]:
    """Answer the Ponds that an environment has of its own: what a plan is compared with."""
    identity = actors.environment(tx, environment)
    if identity is None:
        return []
    return [
        Deployed(project=row.project, definition=newest_definition(tx, ledger, row), environment=environment)
        for row in actors.ponds(tx, identity)
        if row.borrows is None
    ]


def newest_definition(tx: Transaction, ledger: Ledger, row: PondRow) -> PondDefinition:
    """Answer what was deployed last, which may still wait for active Runs to finish."""
    waiting = msgspec.json.decode(row.state, type=_Waiting).deploying
    return ledger.definition(tx, row.definition if waiting is None else int(waiting))


class _Waiting(msgspec.Struct):
    deploying: str | None = None


def parent_of(tx: Transaction, environment: str, choice: Choice) -> str | None:
    """Answer the environment above: as it was decided before, as the caller or the project file says, else `main`."""
    identity = actors.environment(tx, environment)
    if identity is not None and environments.is_used(tx, identity):
        levels = environments.chain(tx, identity)
        return choice.parent or (levels[1].name if len(levels) > 1 else None)
    if choice.is_empty:
        return None
    named = choice.parent or choice.parents.get(environment)
    if named is not None:
        return environments.find(tx, named).name
    above = None if environment == MAIN else actors.environment(tx, MAIN)
    return MAIN if above is not None and environments.is_used(tx, above) else None


def found_above(tx: Transaction, ledger: Ledger, environment: str, parent: str | None) -> list[Deployed]:
    """Answer the Ponds that readers find in the environments above, as if they were here."""
    if parent is None:
        return []
    return [
        Deployed(definition=newest_definition(tx, ledger, each.row), project=each.row.project, environment=environment)
        for each in environments.readable(tx, environments.find(tx, parent).id)
    ]


def with_foreign(found: Sequence[Deployed], above: Sequence[Deployed], *, project: str) -> list[Deployed]:
    """Answer what a plan is made against: what is here, and what other projects have above."""
    here = {one.key for one in found}
    return [*found, *(one for one in above if one.key not in here and one.project != project)]


def only_own(
    plan: Plan, found: Sequence[Deployed], above: Sequence[Deployed], choice: Choice, parent: str | None
) -> Plan:
    """Answer the plan of an environment below `parent`: of its own are only the Ponds that it needs."""
    if parent is None:
        if choice.names:
            raise LedgerError(
                f"environment {plan.environment} is below no other one, so it needs every Pond",
                hint="pondage deploy",
                code="NO_PARENT",
            )
        return plan
    own = own_ponds(
        plan,
        {one.key: one.definition for one in above},
        [one.key for one in found],
        chosen=choice.names,
        is_all=choice.is_all,
    )
    return narrowed(plan, own, parent=parent)
