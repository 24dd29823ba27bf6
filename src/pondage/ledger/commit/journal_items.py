"""What a journal holds, item by item: one that cannot be read, or does not follow from those before, is named."""

from __future__ import annotations

import itertools

from pondage.errors import PondageError
from pondage.kernel.reaction import Facts, ReactorShape, decode_records, fold
from pondage.kernel.reaction.facts import new_facts
from pondage.ledger.commit.journal import Journaled
from pondage.ledger.tables.letters import JOURNAL


class UnreadableItem(PondageError):
    """An item of a journal cannot be read, so nothing behind it can."""

    code = "UNREADABLE_JOURNAL"

    def __init__(self, reactor: str, seq: int, facts: Facts, error: Exception) -> None:
        item = f"{JOURNAL}{seq}"
        super().__init__(
            f"item {item} of the journal of {reactor} cannot be read: {type(error).__name__}: {error}",
            hint=f"pondage reactor skip {reactor} {item} (or: pondage reactor reset {reactor} --to empty)",
            place=item,
        )
        self.seq = seq
        self.facts = facts
        """What the items before it say."""


def folded(reactor: str, shape: ReactorShape, found: Journaled, *, to: int | None = None) -> Facts:
    """Give the facts that a journal holds, or that it held after the item `to`; raises `UnreadableItem`."""
    facts = new_facts(shape)
    items = itertools.takewhile(lambda item: to is None or item[0] <= to, zip(found.seqs, found.blobs, strict=True))
    for seq, blob in items:
        try:
            facts = fold(shape, facts, decode_records(blob))
        except Exception as error:
            raise UnreadableItem(reactor, seq, facts, error) from error
    return facts
