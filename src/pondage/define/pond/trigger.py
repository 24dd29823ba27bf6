"""Waves and Tides as an author writes them, and how they follow those who read."""

from __future__ import annotations

from typing import Literal

from pondage.define.pond.definition import FollowDefinition, TideDefinition
from pondage.define.pond.window import checked_zone
from pondage.define.values.duration import parsed_duration
from pondage.define.values.names import checked_name
from pondage.define.values.place import place_of_caller
from pondage.errors import DefinitionError


class Wave:
    """A standing trigger: a Tap now and after each completed Run. What `wave=True` is, and more.

    `pacing` is `"eager"` or `"just_in_time"`. With `while_read=True` it asks only while somebody reads, or a reader is
    expected: one who came in a share of at least `sure` of the weeks, on the clock of `tz`. It is awake for its first
    week, to learn, unless `resting=True`. Raises `DefinitionError`.
    """

    def __init__(
        self,
        pacing: Literal["eager", "just_in_time"] = "eager",
        *,
        while_read: bool = False,
        tz: str = "UTC",
        sure: float = 0.3,
        resting: bool = False,
    ) -> None:
        self.place = place_of_caller()
        if pacing not in ("eager", "just_in_time"):
            raise DefinitionError(
                f"pacing is {pacing!r}", hint='choose "eager" or "just_in_time"', place=self.place, code="BAD_SETTING"
            )
        self.pacing: Literal["eager", "just_in_time"] = pacing
        self.follow = _follow(while_read, tz=tz, sure=sure, resting=resting, place=self.place)

    def __repr__(self) -> str:
        return f"Wave({self.pacing!r}, while_read={self.follow is not None})"


class Tide:
    """A standing trigger: never be staler than `limit` (`"15m"`). What `tide="15m"` is, and more.

    With `while_read=True` it asks only while somebody reads, or a reader is expected: one who came in a share of at
    least `sure` of the weeks, on the clock of `tz`. It is awake for its first week, to learn, unless `resting=True`.
    Raises `DefinitionError`.
    """

    def __init__(
        self,
        limit: str,
        *,
        name: str = "tide",
        while_read: bool = False,
        tz: str = "UTC",
        sure: float = 0.3,
        resting: bool = False,
    ) -> None:
        self.place = place_of_caller()
        self.definition = TideDefinition(
            limit_us=parsed_duration(limit, what="tide", place=self.place),
            name=checked_name(name, what="Tide", place=self.place),
            follow=_follow(while_read, tz=tz, sure=sure, resting=resting, place=self.place),
        )

    def __repr__(self) -> str:
        return f"Tide({self.definition.limit_us / 1e6:g} s, name={self.definition.name!r})"


def _follow(while_read: bool, *, tz: str, sure: float, resting: bool, place: str) -> FollowDefinition | None:
    if while_read:
        return checked_follow(FollowDefinition(tz=tz, sure=sure, is_resting=resting), place=place)
    if tz != "UTC" or sure != FollowDefinition().sure or resting:
        raise DefinitionError(
            "tz=, sure= and resting= are about readers", hint="add while_read=True", place=place, code="BAD_SETTING"
        )
    return None


def checked_follow(follow: FollowDefinition, *, place: str | None = None) -> FollowDefinition:
    """Answer how a trigger follows its readers, or raise `DefinitionError` for a zone or a share that is none."""
    checked_zone(follow.tz, place=place)
    if not 0 < follow.sure <= 1:
        raise DefinitionError(
            f"sure is {follow.sure!r}",
            hint="give the share of weeks in which a reader came, above 0 and at most 1: 0.3",
            place=place,
            code="BAD_SETTING",
        )
    return follow
