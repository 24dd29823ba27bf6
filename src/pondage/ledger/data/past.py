"""What is left of Runs that are gone: one compact row of each, packed by Pond and hour."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby

import msgspec

from pondage.ledger.database.driver import Transaction

KEPT_US = 120 * 86_400_000_000
"""So long the rows stay."""
HOUR_US = 3_600_000_000


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """A Run that is gone: `moment` is what its data described, `work_us` the time that its attempts took together.

    `is_read`: somebody has read it through a door.
    """

    number: int
    state: str
    ended_at: int
    moment: int
    definition: int
    rows: int
    work_us: int
    is_read: bool = False


class _Columns(msgspec.Struct, array_like=True):
    """The runs of an hour by column, oldest first. Numbers that grow are kept as what they grow by."""

    numbers: list[int]
    states: list[str]
    ended: list[int]
    moments: list[int]
    definitions: list[int]
    rows: list[int]
    work: list[int]
    read: list[bool]


_decode = msgspec.msgpack.Decoder(_Columns).decode


def packed(runs: Sequence[PastRun]) -> bytes:
    """Answer these Runs in as few bytes as is simple."""
    columns = _Columns(
        numbers=_growth([run.number for run in runs]),
        states=[run.state for run in runs],
        ended=_growth([run.ended_at for run in runs]),
        moments=[run.ended_at - run.moment for run in runs],
        definitions=_growth([run.definition for run in runs]),
        rows=[run.rows for run in runs],
        work=[run.work_us for run in runs],
        read=[run.is_read for run in runs],
    )
    return zlib.compress(msgspec.msgpack.encode(columns))


def unpacked(body: bytes) -> list[PastRun]:
    """Answer the Runs of `packed`."""
    found = _decode(zlib.decompress(body))
    ended = list(accumulate(found.ended))
    return [
        PastRun(
            number=number, state=state, ended_at=at, moment=at - age, definition=definition, rows=rows, work_us=work_us,
            is_read=is_read,
        )
        for number, state, at, age, definition, rows, work_us, is_read in zip(
            accumulate(found.numbers), found.states, ended, found.moments, accumulate(found.definitions), found.rows,
            found.work, found.read, strict=True,
        )
    ]  # fmt: skip


def _growth(numbers: Sequence[int]) -> list[int]:
    return [number - before for before, number in zip([0, *numbers], numbers, strict=False)]


def remember(tx: Transaction, pond: int, runs: Iterable[PastRun]) -> None:
    """Write down Runs that are about to go. A Run that is written twice is there once."""
    for hour, some in groupby(sorted(runs, key=lambda run: run.ended_at), key=lambda run: run.ended_at // HOUR_US):
        body = tx.row("SELECT packed FROM run_past WHERE pond = :pond AND hour = :hour", bytes, pond=pond, hour=hour)
        known = {run.number: run for run in ([] if body is None else unpacked(body))}
        known.update({run.number: run for run in some})
        tx.write(
            """INSERT INTO run_past (pond, hour, runs, packed) VALUES (:pond, :hour, :runs, :packed)
               ON CONFLICT (pond, hour) DO UPDATE SET runs = excluded.runs, packed = excluded.packed""",
            pond=pond,
            hour=hour,
            runs=len(known),
            packed=packed([known[number] for number in sorted(known)]),
        )


def runs_between(tx: Transaction, pond: int, *, since: int, until: int) -> list[PastRun]:
    """Answer the Runs of a Pond that are gone and ended in `[since, until)`, oldest first."""
    bodies = tx.rows(
        "SELECT packed FROM run_past WHERE pond = :pond AND hour BETWEEN :first AND :last ORDER BY hour",
        bytes,
        pond=pond,
        first=since // HOUR_US,
        last=until // HOUR_US,
    )
    return [run for body in bodies for run in unpacked(body) if since <= run.ended_at < until]


def forget(tx: Transaction, *, batch: int) -> int:
    """Take out a batch of hours that are older than anybody asks for; answer how many there were."""
    return tx.change(
        """DELETE FROM run_past WHERE (pond, hour) IN
           (SELECT pond, hour FROM run_past WHERE hour < :limit ORDER BY hour LIMIT :batch)""",
        limit=(tx.now - KEPT_US) // HOUR_US,
        batch=batch,
    )
