"""What a Run of a Pond with `mode="auto"` did, and what the next one must know to go on from it."""

from __future__ import annotations

import msgspec


class Upkeep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """It is stored with the data, so that neither exists without the other.

    `how` is `append`, `keyed`, `nothing` or `full`, and `said` a sentence that says why. `changed` counts the rows of
    its inputs that came or went, of `of` that there are; `read` what it was made of: those and the rows of the slices,
    where that is known. `code` and `shape` are fingerprints of all that decides what is made of the inputs; with others
    everything is computed. `checks` counts the Runs of this code that were not computed whole. `differing` are keys for
    which one of them gave something else than a full computation: from then on this code is computed whole.
    """

    how: str
    said: str
    code: str
    shape: str = ""
    rules: int = 0
    checks: int = 0
    is_verified: bool = False
    differing: tuple[str, ...] = ()
    changed: int | None = None
    of: int | None = None
    rows: int | None = None
    """How many rows it has written: those that are new, and those that lay in files with rows that went."""

    @property
    def is_refused(self) -> bool:
        """Answer whether a verification found a difference."""
        return bool(self.differing)
