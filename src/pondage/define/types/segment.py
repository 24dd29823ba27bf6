"""A segment of a stream, as the ledger keeps it and workers hand it on."""

from __future__ import annotations

import msgspec

ORDER = "_seq"
"""The column with the number of a row inside an ordered segment."""
ORDERED = b"pondage.ordered"
"""Stands in the metadata of the schema when that column is no column of the stream's rows."""


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a stream: rows in a file that `ref` names, or, with `is_eos`, the end of it."""

    ref: str = ""
    rows: int = 0
    bytes: int = 0
    sha256: str = ""
    is_eos: bool = False

    def is_same(self, other: Segment) -> bool:
        """Is it the same entry, though perhaps written by another attempt to another place?"""
        return self.sha256 == other.sha256 and self.is_eos == other.is_eos


END = Segment(is_eos=True)
