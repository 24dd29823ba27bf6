"""Why a trigger that follows its readers rests, as a person reads it."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest

from pondage.kernel.demand.gates import Resting
from pondage.views.ponds.resting import RestingFields, resting_text


def moment(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Berlin")).timestamp()) * 1_000_000


REST = Resting(
    trigger="tide", wakes=moment("2026-11-20T08:21"), expected=moment("2026-11-20T08:30"), seen=9, of=10,
    quiet=(18 * 60 + 15, 8 * 60 + 30), weeks=5, tz="Europe/Berlin",
)  # fmt: skip
TONIGHT = moment("2026-11-19T20:00")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {},
            ("Its tide is resting: nobody has read it between 18:15 and 08:30 on workdays of the last five weeks; "
            "it wakes at 08:21 for a reader expected at 08:30 (seen on 9 of the last 10)."),
        ),
        (
            {"wakes": moment("2026-11-23T08:21"), "expected": moment("2026-11-23T08:30"), "is_workday": False,
             "quiet": None, "weeks": 1},
            ("Its tide is resting: nobody has read it on weekends of the last week; "
            "it wakes on Monday at 08:21 for a reader expected at 08:30 (seen on 9 of the last 10)."),
        ),
        (
            {"wakes": None, "expected": None, "missed": True},
            (
                "Its tide is resting: readers were expected on two days, and nobody came; "
                "it wakes as soon as somebody reads."
            ),
        ),
    ],
)  # fmt: skip
def test_it_says_since_when_nobody_reads_and_for_whom_it_wakes(changed: dict[str, object], words: str) -> None:
    gate = msgspec.structs.replace(REST, **changed)
    fields = msgspec.convert(msgspec.to_builtins(gate), RestingFields)
    assert resting_text(fields, TONIGHT) == words
