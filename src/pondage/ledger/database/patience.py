"""Waiting for a database that does not answer: backing off, never spinning, never giving up on a commit too early."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from pondage.ledger.database.driver import LedgerUnavailable

Answer = TypeVar("Answer")

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 2.0


def persist(action: Callable[[], Answer], *, give_up: Callable[[], bool]) -> Answer:
    """Try an action again until the database answers. It must be harmless to repeat: guarded or resolved by token.

    Raises the last `LedgerUnavailable` when `give_up` says that nobody waits for the result any more.
    """
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return action()
        except LedgerUnavailable:
            if give_up():
                raise
            time.sleep(wait_s * random.uniform(0.5, 1.0))
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
