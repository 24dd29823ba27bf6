"""Closing claims that the ledger thinks this process holds and that it knows nothing of."""

from __future__ import annotations

import logging

from pondage.engine.worker.slots import Slots
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue import executions
from pondage.ledger.upkeep import reap

_log = logging.getLogger(__name__)


def close_unknown_claims(ledger: Ledger, slots: Slots, *, process: int) -> int:
    """Give back claims whose answer was lost for good: nobody else can, because this process goes on beating.

    The ledger is read first and our own tokens afterwards. A token is noted before its claim and dropped after its
    commit, so one that is in the ledger's answer and not in ours is either lost or closed by now; closing is guarded.
    Answer how many were given back.
    """
    with ledger.reading() as tx:
        held = executions.open_tokens(tx, process)
    unknown = held - slots.known_tokens()
    if not unknown:
        return 0
    closed = reap.abandon(ledger, process=process, tokens=sorted(unknown))
    _log.warning("gave back %d claims that nobody here knew of", closed)
    return closed
