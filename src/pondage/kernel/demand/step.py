"""`step`: advance Ponds by everything that happened in one instant."""

from collections.abc import Iterable, Sequence

import msgspec

from pondage.kernel.demand.effects import Effect
from pondage.kernel.demand.events import Event
from pondage.kernel.demand.ponds import Ponds
from pondage.kernel.demand.shape import PondKey


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What a step did: the Ponds whose state changed (write these, no others) and what to carry out, in order."""

    changed: tuple[PondKey, ...]
    effects: tuple[Effect, ...]


def step(ponds: Ponds, events: Sequence[Event] | Iterable[Event], now: int) -> Step:
    """Advance the Ponds in place by these events, all of the instant `now`.

    Deterministic and total: the result depends only on the arguments, and no event raises. When the host raises, the
    states are half advanced and must be thrown away.
    """
    raise NotImplementedError
