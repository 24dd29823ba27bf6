"""What a process remembers of a catchment's Ponds between two steps, so that the next one need not read them.

It is true as long as nobody has stepped or edited the catchment since: whoever holds its lock compares `version` and
`edits`. A step takes away what is kept, and leaves it again once its transaction is committed. One that is undone
leaves nothing, so that what it had in mind is never taken for what is written.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from pondage.define.values.names import PondKey
from pondage.kernel.demand.state import PondState
from pondage.ledger.database.driver import Transaction
from pondage.ledger.tables.actors import ActorRow, PondRow

PONDS = 500
"""How many Ponds of a catchment are kept, those of its latest steps; and the most Sinks of one that are."""
CATCHMENTS = 32
_KIND = "ponds"


class KeptPond(msgspec.Struct, frozen=True):
    """A Pond's row as a step left it; its state ready to be advanced, and who reads it, when that is known."""

    row: PondRow
    state: PondState | None
    sinks: list[PondKey] | None


class KeptPonds:
    """Some Ponds of one catchment as its last step left them; those of the latest steps are at the end."""

    def __init__(self) -> None:
        self.version = (0, 0)
        self._ponds: OrderedDict[PondKey, KeptPond] = OrderedDict()

    def __len__(self) -> int:
        """Answer how many are kept."""
        return len(self._ponds)

    def row(self, key: PondKey) -> PondRow | None:
        """Answer the row of a Pond; None when it is not kept."""
        kept = self._ponds.get(key)
        return None if kept is None else kept.row

    def sinks(self, key: PondKey) -> list[PondKey] | None:
        """Answer who reads a Pond; None when that is not kept."""
        kept = self._ponds.get(key)
        return None if kept is None else kept.sinks

    def state(self, key: PondKey) -> PondState | None:
        """Answer the state of a Pond, to be advanced in place; None when it is not kept."""
        kept = self._ponds.get(key)
        return None if kept is None else kept.state

    def note(
        self,
        actor: int,
        rows: Mapping[PondKey, PondRow | None],
        states: Mapping[PondKey, PondState],
        sinks: Mapping[PondKey, list[PondKey]],
    ) -> None:
        """Keep what a step has read and written of the catchment's own Ponds; others change without its lock."""
        for key, row in rows.items():
            if row is not None and row.actor == actor:
                known = sinks[key] if key in sinks else self.sinks(key)
                short = known if known is not None and len(known) <= PONDS else None
                self._ponds[key] = KeptPond(row, states.get(key), short)
                self._ponds.move_to_end(key)
        while len(self._ponds) > PONDS:
            self._ponds.popitem(last=False)

    def clear(self) -> None:
        """Forget everything: who is deployed, or who reads whom, has changed."""
        self._ponds.clear()


class KeptCatchments:
    """What a process keeps of the catchments that it stepped last. Several threads may step different ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, KeptPonds] = OrderedDict()
        self._guard = threading.Lock()

    def take(self, tx: Transaction, actor: ActorRow) -> KeptPonds:
        """Take away what is kept of a catchment whose lock is held; nothing when somebody else was there since."""
        left = tx.seen.pop((_KIND, actor.id), None)
        with self._guard:
            kept = self._kept.pop(actor.id, None)
        for ponds in (left, kept):
            if isinstance(ponds, KeptPonds) and ponds.version == (actor.version, actor.edits):
                return ponds
        return KeptPonds()

    def leave(self, tx: Transaction, actor: ActorRow, ponds: KeptPonds) -> None:
        """Have what a step leaves kept once its transaction is committed."""
        ponds.version = (actor.version + 1, actor.edits)
        tx.seen[_KIND, actor.id] = ponds

    def learn(self, tx: Transaction) -> None:
        """Keep what a transaction has left, which is committed now."""
        for _, actor in [key for key in tx.seen if key[0] == _KIND]:
            ponds = tx.seen.pop((_KIND, actor))
            assert isinstance(actor, int)
            assert isinstance(ponds, KeptPonds)
            with self._guard:
                self._kept[actor] = ponds
                self._kept.move_to_end(actor)
                if len(self._kept) > CATCHMENTS:
                    self._kept.popitem(last=False)
