"""Streams that Spark reads for an accumulator of a reactor: one long execution, which its reactor asks for again."""

from __future__ import annotations

import msgspec

from pondage.ledger.database.driver import Transaction
from pondage.ledger.kinds.kind import Dispatched, Ending, Kind, Work
from pondage.ledger.ledger import Ledger
from pondage.ledger.queue.claims import Claim
from pondage.ledger.tables import reactors
from pondage.work.failure import Failure
from pondage.work.task import Task

AUTHORS_FAULT = "BATCH_FAILED"
"""What an accumulator's own code did."""
STREAM_FAILED = "STREAM_FAILED"
"""What Spark could not do and could not do next time either: a checkpoint that does not fit, files that are gone."""
CRASHES = frozenset({AUTHORS_FAULT, STREAM_FAILED, "CRASHES_EXHAUSTED"})
"""What is a crash of an accumulator, of which there may be five; whatever else ends a stream is a lost connection."""


class StreamTask(Task, frozen=True, kw_only=True):
    """A stream that Spark reads for an accumulator; `place` names its checkpoint and is never an author's text."""

    reactor: str
    entry: str
    source: str
    place: str
    every: int | None = None

    @property
    def folder(self) -> str:
        """Answer that it is a reactor's."""
        return "reactors"

    @property
    def is_endless(self) -> bool:
        """Answer that only its source or its reactor ends it."""
        return True


class StreamEnded(Ending, frozen=True):
    """A stream ended by itself, or was told to: its reactor asks for it again after a while."""

    def write(self, tx: Transaction, ledger: Ledger, work: Work) -> None:
        """Tell the reactor that the connection is lost."""
        _tell(tx, work.claim, "lost", "the query ended")


class StreamKind(Kind):
    """A stream, whose end is `StreamEnded`. It lives on with another worker when it is given back or its own dies."""

    name = "stream"

    def load(self, tx: Transaction, ledger: Ledger, claim: Claim) -> StreamTask:
        """Answer the stream; everything about it came with the dispatch."""
        return _task(claim.inputs)

    def failed(self, tx: Transaction, dispatched: Dispatched, failure: Failure) -> None:
        """Tell the reactor whose fault it was: a lost connection is tried for ever, a crash five times."""
        _tell(tx, dispatched, "crashed" if failure.code in CRASHES else "lost", failure.message)

    def interrupted(self, tx: Transaction, dispatched: Dispatched, why: str) -> None:
        """Tell the reactor that nobody reads for now."""
        _tell(tx, dispatched, "lost", why)


def _tell(tx: Transaction, dispatched: Dispatched, what: str, why: str) -> None:
    if dispatched.actor is not None:
        source = _task(dispatched.inputs).source
        reactors.signal(tx, actor=dispatched.actor, payload=["acc", source, what, why])


_task = msgspec.json.Decoder(StreamTask).decode
