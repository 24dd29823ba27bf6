"""Errors as the API answers them: one shape, a stable code, and the status that belongs to it."""

from __future__ import annotations

import msgspec

from pondage.errors import DefinitionError, LedgerError, NotFound, PondageError, ProjectError
from pondage.ledger.database.driver import LedgerUnavailable
from pondage.views.problems import Problem

_ZERO = b"\\u0000"


class Refused(PondageError):
    """A request that the server does not carry out, with the status to answer."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        place: str | None = None,
        is_last: bool = False,
    ) -> None:
        super().__init__(message, hint=hint, place=place, code=code)
        self.status = status
        self.is_last = is_last
        """Whether nothing more is read from this connection."""


_STATUS = {
    "AMBIGUOUS": 400,
    "NOT_LOADED": 404,
    "NO_LIVE_HOST": 503,
    "NO_PROJECT": 503,
    "NO_ROOM": 503,
    "TOO_MANY_AT_ONCE": 429,
    "TOO_MANY_BODIES": 429,
    "BAD_ARCHIVE": 422,
    "UNFIT_VALUE": 400,
}


def status_of(error: PondageError) -> int:
    """Answer the HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    if error.code in _STATUS:
        return _STATUS[error.code]
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, LedgerUnavailable):
        return 503
    if isinstance(error, LedgerError):
        return 409
    if isinstance(error, DefinitionError | ProjectError):
        return 422
    return 400


def problem_of(error: PondageError) -> Problem:
    """Answer an error as the API says it."""
    return Problem(code=error.code, message=error.message, place=error.place, hint=error.hint)


def not_understood(error: msgspec.MsgspecError) -> Refused:
    """Answer what is wrong with a body or a query, with its place in it."""
    message, _, place = str(error).partition(" - at `")
    return Refused(400, "BAD_REQUEST", message, place=place.rstrip("`") or "$")


def has_zero(data: bytes | bytearray) -> bool:
    """Answer whether a text of this JSON has a zero character in it: a database takes none.

    The only way to write one is this escape behind an even number of backslashes. The bytes are gone over once, by what
    is quick: a body may be large, and there is one interpreter for everybody.
    """
    if _ZERO not in data:
        return False
    *before, _ = data.split(_ZERO)
    return any((len(each) - len(each.rstrip(b"\\"))) % 2 == 0 for each in before)
