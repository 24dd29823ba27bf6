"""Waves and Tides as an author writes them."""

from __future__ import annotations

import pytest

from pondage import Pond, Tide, Wave
from pondage.define.pond.definition import FollowDefinition, TideDefinition
from pondage.errors import DefinitionError

MINUTE = 60_000_000


def test_a_tide_may_follow_its_readers_and_a_pond_may_have_several() -> None:
    declared = Pond(
        "reports", tide=[Tide("15m", while_read=True, tz="Europe/Berlin", sure=0.5), Tide("4h", name="all")]
    )
    assert declared.settings.triggers.tides == (
        TideDefinition(limit_us=15 * MINUTE, follow=FollowDefinition(tz="Europe/Berlin", sure=0.5)),
        TideDefinition(limit_us=240 * MINUTE, name="all"),
    )
    assert Pond("reports", tide=Tide("15m", while_read=True, resting=True)).settings.triggers.tides[0].follow == (
        FollowDefinition(is_resting=True)
    )


def test_a_wave_says_its_pacing_and_may_follow_its_readers() -> None:
    triggers = Pond("reports", wave=Wave("just_in_time", while_read=True, tz="Asia/Tokyo")).settings.triggers
    assert (triggers.wave, triggers.pacing) == (True, "just_in_time")
    assert triggers.wave_follow == FollowDefinition(tz="Asia/Tokyo")
    assert Pond("reports", wave=Wave()).settings.triggers == Pond("reports", wave=True).settings.triggers


@pytest.mark.parametrize(
    ("declare", "code"),
    [
        (lambda: Tide("15m", tz="Europe/Berlin"), "BAD_SETTING"),
        (lambda: Tide("15m", while_read=True, tz="Moon/Crater"), "BAD_ZONE"),
        (lambda: Tide("15m", while_read=True, sure=0), "BAD_SETTING"),
        (lambda: Wave(while_read=True, sure=2), "BAD_SETTING"),
        (lambda: Wave("late"), "BAD_SETTING"),  # type: ignore[arg-type]
        (lambda: Pond("reports", wave=Wave(), pacing="just_in_time"), "BAD_SETTING"),
        (lambda: Pond("reports", tide=[Tide("1h"), Tide("2h")]), "BAD_SETTING"),
        (lambda: Pond("reports", tide=5), "BAD_SETTING"),  # type: ignore[arg-type]
        (lambda: Pond("reports", tide=["1h"]), "BAD_SETTING"),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(declare, code: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DefinitionError) as caught:
        declare()
    assert caught.value.code == code
    assert "test_triggers.py:" in (caught.value.place or "")
    assert caught.value.hint
