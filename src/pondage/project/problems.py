"""Several errors at once: whoever fixes a project wants to see all of them."""

from __future__ import annotations

from collections.abc import Sequence

from pondage.errors import PondageError, ProjectError


class ProjectErrors(ProjectError):
    """All that is wrong with a project. `errors` holds them one by one; the message lists them."""

    code = "PROJECT"

    def __init__(self, errors: Sequence[PondageError], *, what: str) -> None:
        self.errors = tuple(errors)
        lines = [f"{what}: {len(self.errors)} errors", *(f"  {error_line(error)}" for error in self.errors)]
        super().__init__("\n".join(lines), hint="fix them and try again", place=self.errors[0].place)


def raise_all(errors: Sequence[PondageError], *, what: str) -> None:
    """Raise nothing, the one error, or `ProjectErrors` with all of them."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ProjectErrors(errors, what=what)


def error_line(error: PondageError) -> str:
    """Answer an error in one line: `place: message [CODE] (hint)`."""
    place = f"{error.place}: " if error.place else ""
    hint = f" ({error.hint})" if error.hint else ""
    return f"{place}{error.message} [{error.code}]{hint}"
