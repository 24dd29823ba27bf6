"""What differs between two states of a Pond: which Runs they are, and each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pondage.define.pond.definition import PondDefinition
from pondage.define.values.suggestion import nearest
from pondage.errors import NotFound
from pondage.ledger.act import inspections
from pondage.ledger.data import snapshots
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, environments
from pondage.ledger.tables.actors import PondRow
from pondage.views import find
from pondage.views.words import list_text
from pondage.work.diff import TableDifference


class StateView(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two states: a completed Run."""

    environment: str
    run: str
    number: int
    freshness: int


class DiffView(msgspec.Struct, frozen=True, kw_only=True):
    """Two states of a Pond: `before` is what it is compared with, `after` what readers see now."""

    pond: str
    before: StateView
    after: StateView
    tables: tuple[TableDifference, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be compared, found in the ledger."""

    pond: PondRow
    before: StateView
    after: StateView
    old: dict[str, int]
    new: dict[str, int]
    keys: dict[str, tuple[str, ...]]

    @property
    def is_same(self) -> bool:
        """Answer whether both show the very same snapshots."""
        return all(self.old.get(name) == self.new.get(name) for name in self.keys)


def comparison(
    tx: Transaction, ledger: Ledger, environment: str, subject: str, *, against: str, keys: Sequence[str]
) -> Comparison:
    """Find both states of a Pond, or of one of its Ripples; `against` is a Run or the name of an environment.

    Without `keys` those of a merge Pond are taken, else the columns of a rule `unique`. Raises `NotFound`.
    """
    name, _, ripple = subject.partition(".")
    identity = find.environment_id(tx, environment)
    row = find.pond(tx, identity, name)
    row = environments.read_from(tx, identity, row).row
    run = snapshots.current_run(tx, row.id)
    if run is None:
        raise NotFound(f"{name} has never published", hint=f"pondage run {name}", code="NEVER_PUBLISHED")
    other = _against(tx, identity, name, row, against)
    old, new = inspections.outputs_of(tx, other), inspections.outputs_of(tx, run)
    names = [each for each in dict.fromkeys((*new, *old)) if ripple in ("", each)]
    if not names:
        known = list_text(list(new))
        raise NotFound(f"{name} has no table {ripple!r}; it has {known}", hint=f"pondage show {name}", code="NO_RIPPLE")
    definition = ledger.definition(tx, row.definition)
    return Comparison(
        pond=row,
        before=_state(tx, other),
        after=_state(tx, run),
        old={each: old[each] for each in names if each in old},
        new={each: new[each] for each in names if each in new},
        keys={each: tuple(keys) or _keys(definition, each) for each in names},
    )


def unchanged(found: Comparison, rows: Mapping[int, int]) -> DiffView:
    """Answer that nothing differs, which needs no worker: both Runs show the same data."""
    return DiffView(
        pond=found.pond.key,
        before=found.before,
        after=found.after,
        tables=tuple(
            TableDifference(ripple=name, keys=keys, before_rows=rows[found.old[name]], after_rows=rows[found.new[name]])
            for name, keys in found.keys.items()
        ),
    )


def _against(tx: Transaction, environment: int, name: str, row: PondRow, against: str) -> int:
    is_run = "#" in against or actors.environment(tx, against) is None
    run = find.run_id(tx, environment, against, of=row.key) if is_run else None
    if run is None and actors.environment(tx, against) is not None:
        return inspections.published_run(tx, against, name)
    if run is None:
        known = tx.rows("SELECT name FROM environments ORDER BY name", str)
        close = nearest(against, known)
        raise NotFound(
            f"--against {against!r} is neither a Run nor an environment"
            + (f"; did you mean {close!r}?" if close else ""),
            hint=f"write {name}#12, the id of a Run (pondage runs {name}) or the name of an environment",
            code="NO_RUN",
        )
    if tx.row("SELECT pond FROM runs WHERE id = :id", int, id=run) != row.id:
        raise NotFound(f"Run {against} is not one of {name}", hint=f"pondage runs {name}", code="NO_RUN")
    return run


def _keys(definition: PondDefinition, ripple: str) -> tuple[str, ...]:
    if definition.keys:
        return definition.keys
    rules = next((each.expectations for each in definition.ripples if each.name == ripple), ())
    return next((rule.columns for rule in rules if rule.kind == "unique"), ())


def _state(tx: Transaction, run: int) -> StateView:
    return tx.one(
        """SELECT r.public_id AS run, r.number AS number, r.freshness AS freshness, e.name AS environment
           FROM runs r JOIN environments e ON e.id = r.environment WHERE r.id = :id""",
        StateView,
        id=run,
    )
