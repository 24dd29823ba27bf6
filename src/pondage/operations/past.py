"""The past that a caller names: a moment, or a Run."""

from __future__ import annotations

from pondage.errors import NotFound
from pondage.ledger.act.as_of import AsOf, as_of_run
from pondage.ledger.ledger import Ledger
from pondage.views import find


def as_of(ledger: Ledger, environment: str, given: int | str) -> AsOf:
    """Answer what a question about the past sees: a moment, or a Run by its id; raises `NotFound`."""
    if isinstance(given, int):
        return AsOf(at=given)
    with ledger.reading() as tx:
        run = find.run_id(tx, find.environment_id(tx, environment), given)
        if run is None:
            pond, _, number = given.partition("#")
            if number.isdecimal():
                raise NotFound(f"there is no Run {given[:63]!r}", hint=f"pondage runs {pond[:63]}", code="NO_RUN")
            raise NotFound(
                f"{given[:63]!r} is neither a time nor a Run",
                hint="write 2h, 2026-05-04T06:00, sales#12 or the id of a Run (pondage runs)",
                code="NO_RUN",
            )
        return as_of_run(tx, run)
