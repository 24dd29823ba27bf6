"""Why a piece of work failed, as the ledger keeps it."""

from __future__ import annotations

import msgspec

from pondage.work.snapshot import ExpectationResult, SnapshotContent


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an execution failed: for people (`message`, `place`), for scripts (`code`), for experts (`trace`)."""

    code: str
    message: str
    place: str | None = None
    trace: str | None = None

    @property
    def words(self) -> str:
        """Answer what a machine keeps of it, as JSON: the words, without rows and results."""
        said = Failure(code=self.code, message=self.message, place=self.place, trace=self.trace)
        return msgspec.json.encode(said).decode()


class RuleFailure(Failure, frozen=True, kw_only=True):
    """Rows that break rules: how each rule went, and the rows, which are kept for a while for whoever asks."""

    results: tuple[ExpectationResult, ...]
    rejected: SnapshotContent | None = None
