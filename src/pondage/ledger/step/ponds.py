"""The Ponds of an environment as the demand machine asks for them: row by row, and only those it touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from pondage.define.values.names import PondKey
from pondage.define.values.week import Week, week_of
from pondage.kernel.demand.shape import PondShape
from pondage.kernel.demand.state import PondState, decode_state, encode_state
from pondage.kernel.reading.profile import Profile
from pondage.ledger.database.driver import Transaction
from pondage.ledger.ledger import Ledger
from pondage.ledger.tables import actors, environments, profiles
from pondage.ledger.tables.actors import PondRow
from pondage.ledger.tables.catchment_memory import KeptPonds
from pondage.ledger.tables.environments import Shown


class LedgerPonds:
    """The kernel's `Ponds` over rows. One object serves one transaction; `save` writes what a step changed."""

    def __init__(
        self,
        tx: Transaction,
        ledger: Ledger,
        environment: int,
        *,
        actor: int | None = None,
        kept: KeptPonds | None = None,
    ) -> None:
        """`kept` is what the actor's last step left, for one who holds its lock."""
        self._tx = tx
        self._ledger = ledger
        self._environment = environment
        self._actor = actor
        self._kept = KeptPonds() if kept is None else kept
        self._rows: dict[PondKey, PondRow | None] = {}
        self._states: dict[PondKey, PondState] = {}
        self._saved: dict[PondKey, PondState] = {}
        """Those that are as they were written: the only ones that the next step may go on with."""
        self._profiles: dict[tuple[PondKey, str], Profile] = {}
        self._removed: dict[PondKey, PondRow] = {}
        self._sinks: dict[PondKey, list[PondKey]] = {}
        self._shown: dict[int, Shown | None] = {}

    def row(self, key: PondKey) -> PondRow | None:
        """Answer the row of a deployed Pond."""
        if key not in self._rows:
            self._rows[key] = self._kept.row(key) or actors.pond(self._tx, self._environment, key)
        return self._rows[key]

    def reported(self, key: PondKey) -> PondRow | None:
        """Answer the row of a Pond that something was reported of; its Sinks, which it concerns, come along."""
        if key not in self._rows and self._kept.sinks(key) is None:
            self._rows[key], sinks = actors.around(self._tx, self._environment, key)
            self._note_sinks(key, sinks)
        return self.row(key)

    def known(self, key: PondKey) -> PondRow:
        """Answer the row of a Pond that the machine has just spoken of; it may have removed it in the same step."""
        row = self._removed.get(key) or self.row(key)
        assert row is not None, f"the machine spoke of {key}, which is not deployed"
        return row

    def state(self, key: PondKey) -> PondState | None:
        """Give the state to advance in place, or None when the Pond is not deployed."""
        if key not in self._states:
            row = self.row(key)
            if row is None:
                return None
            self._states[key] = self._kept.state(key) or decode_state(row.state)
        return self._states[key]

    def shape(self, key: PondKey) -> PondShape | None:
        """Give the definition in force, or None when the Pond is not deployed."""
        row = self.row(key)
        if row is None:
            return None
        shape = self._ledger.shape(self._tx, row.definition)
        return shape if row.borrows is None else self._following(shape, row.borrows)

    def shown(self, origin: int) -> Shown | None:
        """Answer what a Pond of an environment above shows: within one transaction always the same Run."""
        if origin not in self._shown:
            self._shown[origin] = environments.shown(self._tx, origin)
        return self._shown[origin]

    def _following(self, shape: PondShape, origin: int) -> PondShape:
        shown = self.shown(origin)
        return shape if shown is None else replace(shape, calendar=shown)

    def sinks(self, key: PondKey) -> Sequence[PondKey]:
        """Give the deployed Ponds that name `key` as a Source."""
        if key not in self._sinks:
            kept = self._kept.sinks(key)
            if kept is not None:
                return kept
            self._note_sinks(key, actors.sink_rows(self._tx, self._environment, key))
        return self._sinks[key]

    def _note_sinks(self, key: PondKey, rows: list[PondRow]) -> None:
        for row in rows:
            # The machine asks for them next.
            self._rows.setdefault(row.key, row)
        self._sinks[key] = [row.key for row in rows]

    def profile(self, key: PondKey, trigger: str) -> Profile:
        """Give what a trigger has learned of its readers: read when somebody asks, and within a transaction once."""
        if (key, trigger) not in self._profiles:
            self._profiles[key, trigger] = profiles.load(self._tx, self.known(key).id, trigger)
        return self._profiles[key, trigger]

    def begin_profile(self, key: PondKey, trigger: str, profile: Profile) -> None:
        """Let this be what a new trigger has learned."""
        self._profiles[key, trigger] = profile

    def week(self, tz: str) -> Week:
        """Give the wall clock of a zone."""
        return week_of(tz)

    def definition(self, key: PondKey, definition: str) -> PondShape | None:
        """Resolve the reference that a Deploy event carries: the id of a stored definition."""
        shape = self._ledger.shape(self._tx, int(definition))
        if shape.key != key:
            return None
        origin = self._origin(key, int(definition))
        return shape if origin is None else self._following(shape, origin)

    def _origin(self, key: PondKey, definition: int) -> int | None:
        if not self._ledger.definition(self._tx, definition).borrowed:
            return None
        found = environments.above(self._tx, self._environment, key)
        return None if found is None else found.row.id

    def put(self, state: PondState, shape: PondShape) -> None:
        """Put `state.definition` in force, and write the Pond's row when it is new."""
        identity = int(state.definition)
        row = self.row(shape.key)
        encoded = encode_state(state).decode()
        if row is None:
            assert self._actor is not None
            declared = self._ledger.definition(self._tx, identity)
            pond_id = actors.insert_pond(
                self._tx,
                actor=self._actor,
                environment_id=self._environment,
                key=shape.key,
                project=declared.project,
                state=encoded,
                definition_id=identity,
            )
        else:
            pond_id = row.id
        sources = [source for source, _ in shape.sources]
        borrows = self._origin(shape.key, identity)
        if borrows is not None or (row is not None and row.borrows is not None):
            self._tx.write("UPDATE ponds SET borrows = :borrows WHERE id = :id", id=pond_id, borrows=borrows)
        actors.save_definition(self._tx, pond_id, self._environment, identity, sources)
        self._rows.pop(shape.key, None)
        self._forget()
        self._states[shape.key] = state

    def remove(self, key: PondKey) -> None:
        """Forget a Pond; its Sinks stay known."""
        row = self.row(key)
        if row is not None:
            actors.remove_pond(self._tx, row.id)
            self._removed[key] = row
        self._rows[key] = None
        self._forget()
        self._states.pop(key, None)
        self._saved.pop(key, None)

    def removed(self, key: PondKey) -> PondRow | None:
        """Answer the row of a Pond that was removed in this step."""
        return self._removed.get(key)

    def deployed(self, key: PondKey) -> None:
        """Note that what the machine says of this Pond from now on is not about one that was removed before."""
        self._removed.pop(key, None)

    def save(self, changed: Sequence[PondKey], profiled: Sequence[tuple[PondKey, str]] = ()) -> None:
        """Write the states that a step changed, and what it learned of readers."""
        for key in changed:
            row = self.row(key)
            if row is not None:
                state = self._saved[key] = self._states[key]
                encoded = encode_state(state).decode()
                actors.save_state(self._tx, row.id, encoded)
                self._rows[key] = msgspec.structs.replace(row, state=encoded)

        for key, trigger in profiled:
            row = self.row(key)
            if row is None:
                continue
            if trigger in self._states[key].following:
                profiles.save(self._tx, row.id, trigger, self._profiles[key, trigger])
            else:
                self._profiles.pop((key, trigger), None)
                profiles.forget(self._tx, row.id, trigger)

    def _forget(self) -> None:
        """Read anew who is deployed and who reads whom. Nobody of another catchment reads a Pond of this one."""
        self._sinks.clear()
        self._kept.clear()

    def leave(self) -> KeptPonds:
        """Answer what the next step need not read again."""
        assert self._actor is not None
        self._kept.note(self._actor, self._rows, self._saved, self._sinks)
        return self._kept
