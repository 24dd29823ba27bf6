"""From what a person types to rows: an environment, a Pond, a Run, a snapshot. Unknown names get a suggestion."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.names import PondKey, pond_key
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables import actors, environments, job_runs, reactors
from pondage.ledger.tables.actors import PondRow
from pondage.plan.deploy.fusion import unfused
from pondage.plan.deploy.values import Plan
from pondage.views.words import list_text


def environment_id(tx: Transaction, environment: str) -> int:
    """Answer the id of an environment; raises `NotFound` when nothing was ever deployed to it."""
    found = actors.environment(tx, environment)
    if found is None:
        known = [each.name for each in environments.rows(tx)]
        close = nearest(environment, known)
        raise NotFound(
            f"nothing is deployed in environment {environment!r}",
            hint=f"pondage --env {close} …" if close else "pondage deploy",
            code="NO_ENVIRONMENT",
        )
    return found


def pond(tx: Transaction, environment: int, name: str) -> PondRow:
    """Answer the Pond called `sales` or `sales@2`; without a major version the newest.

    Raises `NotFound` with the nearest name that exists.
    """
    plain, has_major, major = name.partition("@")
    majors = tx.rows(
        """SELECT major FROM ponds
           WHERE environment = :environment AND name = :name AND removed_at IS NULL ORDER BY major DESC""",
        int,
        environment=environment,
        name=plain,
    )
    wanted = next((each for each in majors if not has_major or str(each) == major), None)
    if wanted is None:
        raise _unknown_pond(tx, environment, name, majors)
    found = actors.pond(tx, environment, pond_key(plain, wanted))
    assert found is not None, f"pond {name} vanished within a transaction"
    return found


def keys(tx: Transaction, environment: str, names: Iterable[str]) -> list[str]:
    """Answer the keys of Ponds that were typed; raises `NotFound` with the nearest name."""
    found = environment_id(tx, environment)
    return [pond(tx, found, name).key for name in names]


def _unknown_pond(tx: Transaction, environment: int, name: str, majors: list[int]) -> NotFound:
    plain = name.partition("@")[0]
    if majors:
        there = list_text([f"{plain}@{each}" for each in majors])
        return NotFound(f"there is no Pond {name!r}; there is {there}", hint=f"pondage show {plain}", code="NO_POND")
    if (run := job_runs.by_public_id(tx, environment, name)) is not None:
        kind = "flow" if run.is_flow else "job"
        hint = f"pondage {kind} show {name}"
        return NotFound(f"{name} is no Pond, but a run of the {kind} {run.job}", hint=hint, code="NO_POND")
    if reactors.find(tx, environment, plain) is not None:
        hint = f"pondage reactor kill {plain} (or sleep, fire, resume, state)"
        return NotFound(f"{name} is no Pond, but a reactor that publishes none", hint=hint, code="NO_POND")
    known = tx.rows(
        "SELECT name FROM ponds WHERE environment = :environment AND removed_at IS NULL ORDER BY name",
        str,
        environment=environment,
    )
    close = nearest(plain, known)
    above = next((each for each in environments.readable(tx, environment) if plain == each.row.key.split("@")[0]), None)
    if above is not None:
        return NotFound(
            f"there is no Pond {name!r} here: it is read from {above.environment}",
            hint=f"use --env {above.environment}, or have it here: pondage deploy {plain}",
            code="NO_POND",
        )
    if not known:
        return NotFound(f"there is no Pond {name!r}: nothing is deployed", hint="pondage deploy", code="NO_POND")
    meant = f"; did you mean {close!r}?" if close else f"; there is {list_text(known[:10])}"
    return NotFound(f"there is no Pond {name!r}{meant}", hint="pondage status --once", code="NO_POND")


def run_id(tx: Transaction, environment: int, given: str, *, of: PondKey | None = None) -> int | None:
    """Answer the row of a Run given as its id, the beginning of it, or `sales#12`; None when there is none.

    Where only a Run `of` one Pond can be meant, `#12` and `12` are its Runs, too.
    """
    name, has_number, digits = f"#{given}".rpartition("#") if of and _NUMBER.match(given) else given.partition("#")
    if has_number and _NUMBER.match(digits):
        if not name.strip("#"):
            if of is None:
                raise NotFound(f"{given!r} does not say of which Pond", hint=f"write sales#{digits}", code="NO_RUN")
            name = of
        return tx.row(
            "SELECT id FROM runs WHERE pond = :pond AND number = :number",
            int,
            pond=pond(tx, environment, name).id,
            number=int(digits),
        )
    found = _by_beginning(tx, _RUNS_FROM, environment, given)
    if len(found) > 1 and found[0][1] != given:
        raise NotFound(f"several Runs begin with {given!r}", hint="type more of the id: pondage runs", code="AMBIGUOUS")
    return found[0][0] if found else None


def snapshot_id(tx: Transaction, environment: int, given: str) -> int | None:
    """Answer the row of a snapshot given as its id or an unambiguous beginning of it; None when there is none."""
    found = _by_beginning(tx, _SNAPSHOTS_FROM, environment, given)
    if len(found) > 1 and found[0][1] != given:
        raise NotFound(f"several snapshots begin with {given!r}", hint="type more of the id", code="AMBIGUOUS")
    return found[0][0] if found else None


_RUNS_FROM = """SELECT id, public_id FROM runs
                WHERE public_id >= :first AND public_id < :last AND environment = :environment
                ORDER BY public_id LIMIT 2"""
_SNAPSHOTS_FROM = """SELECT s.id AS id, s.public_id AS public_id FROM snapshots s JOIN runs r ON r.id = s.run
                     WHERE s.public_id >= :first AND s.public_id < :last AND r.environment = :environment
                     ORDER BY s.public_id LIMIT 2"""


def _by_beginning(tx: Transaction, statement: str, environment: int, given: str) -> list[tuple[int, str]]:
    if not _BEGINNING.match(given):
        return []
    return tx.rows(statement, tuple[int, str], first=given, last=_next_beginning(given), environment=environment)


_NUMBER = re.compile(r"[0-9]{1,18}\Z")
_BEGINNING = re.compile(r"[a-y0-9][a-z0-9]{3,63}\Z")


def _next_beginning(given: str) -> str:
    """Answer the first text after everything that begins with this one, whatever the database's collation."""
    kept = given.rstrip("z")
    last = "a" if kept[-1] == "9" else chr(ord(kept[-1]) + 1)
    return kept[:-1] + last


def declared_pond(plan: Plan, name: str, ripple: str) -> PondDefinition:
    """Answer the Pond in the project's files, in its newest major version; raises `NotFound` with the nearest name."""
    plain, _, major = name.partition("@")
    found = [pond for pond in plan.ponds if pond.name == plain and (not major or str(pond.major) == major)]
    if not found:
        names = sorted({pond.name for pond in plan.ponds})
        close = nearest(plain, names)
        meant = f"did you mean {close!r}?" if close else f"it declares {list_text(names)}"
        raise NotFound(
            f"project {plan.project} declares no Pond {name!r}; {meant}", code="NO_POND", hint="pondage plan"
        )
    pond = unfused(max(found, key=lambda each: each.major))
    ripples = [each.name for each in pond.ripples]
    if ripple and ripple not in ripples:
        raise NotFound(
            f"{pond.name} has no Ripple {ripple!r}; it has {list_text(ripples)}",
            hint=f"pondage run {pond.name}.{nearest(ripple, ripples) or ripples[0]} --sample",
            code="NO_RIPPLE",
        )
    return pond
