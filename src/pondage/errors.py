"""The one base class of every error that Pondage shows to a person."""

from __future__ import annotations


class PondageError(Exception):
    """Something went wrong and a person should read about it.

    `code` is stable and may be relied on by scripts; the message says what happened and where; `hint` is the next
    thing to type or to look at. The command line prints `error[CODE]: message` and the hint, never a traceback.
    """

    code = "ERROR"
    is_audited = False
    """Whether the audit says already who was refused by it."""

    def __init__(self, message: str, *, hint: str | None = None, place: str | None = None, code: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.place = place
        if code is not None:
            self.code = code

    def as_json(self) -> dict[str, str | None]:
        """Answer the error as the object that `--json` prints."""
        return {"code": self.code, "message": self.message, "place": self.place, "hint": self.hint}


class DefinitionError(PondageError):
    """An author's declaration is wrong: a name, a parameter, a version, a window."""

    code = "DEFINITION"


class ProjectError(PondageError):
    """The project file or one of its modules cannot be read."""

    code = "PROJECT"


class NotFound(PondageError):
    """A name or id that was given does not exist."""

    code = "NOT_FOUND"


class LedgerError(PondageError):
    """The ledger cannot be opened, is of another version, or refuses a change."""

    code = "LEDGER"
