"""How often a table that is kept up to date is computed whole beside, and compared."""

from __future__ import annotations

import re

import msgspec

from pondage.errors import DefinitionError

DEFAULT = "first 3, every 50"
_FORM = re.compile(r"first\s+(?P<first>\d{1,6})\s*(?:,\s*every\s+(?P<every>\d{1,6}))?|every\s+(?P<only>\d{1,6})")


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The first so many Runs of a code that are not computed whole, and then every so many; 0 is never."""

    first: int = 0
    every: int = 0

    def is_due(self, number: int) -> bool:
        """Answer whether the Run of this number, from 1, is compared."""
        return number <= self.first or (self.every > 0 and number % self.every == 0)


def parsed_verification(text: object, place: str) -> Verification:
    """Answer what `verify=` says; raises `DefinitionError`."""
    match text:
        case "off":
            return Verification()
        case "always":
            return Verification(every=1)
        case str() if (found := _FORM.fullmatch(text.strip())) is not None:
            return Verification(first=int(found["first"] or 0), every=int(found["every"] or found["only"] or 0))
    raise DefinitionError(
        f"verify is {text!r}",
        hint='write "first 3, every 50", "always" or "off"',
        place=place,
        code="BAD_SETTING",
    )
