"""When a Pond is read: the quarter hours of a week that a trigger has learned, and what share of them to expect.

Numbers are fixed point (1/65536). What was learned halves every two weeks, which is applied to a quarter hour when it
is next looked at, so one at which nobody reads costs nothing. Pure: whoever asks says where on the clock he is.
"""

import msgspec

from pondage.define.values.week import DAY, WEEK, Place, Week

ONE = 65_536
SURE = 19_661
"""From which share on a reader is expected: 0.3."""

NONE = -2
"""No moment and no day, as in the demand machine."""

_DECAY = 46_341
"""One week: the square root of a half."""
_FORGOTTEN = 64
"""After so many weeks nothing is left of what was learned."""
_MARKS = (1 << 16) - 1


class Slot(msgspec.Struct, frozen=True, array_like=True):
    """One quarter hour of the week, as it was when it was last touched.

    `since` is the first week that is not counted in it yet; `marks` has a bit for each of the last weeks, the newest
    lowest: was it read? It is for explanations only.
    """

    seen: int
    weight: int
    since: int
    marks: int = 0


class Profile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one trigger has learned of its readers."""

    week: int
    """The week in which it began, and the quarter hour: what was before counts for nothing."""
    slot: int
    slots: dict[int, Slot] = {}
    last_read: int = NONE
    """Never falls, whatever the clocks do."""
    read_day: int = NONE
    open_day: int = NONE
    """The day of which it is not decided yet whether a reader who was expected did not come."""
    missed_days: int = 0


def new_profile(place: Place) -> Profile:
    """Give the profile of a trigger that begins now."""
    return Profile(week=place.week, slot=place.slot, open_day=place.day)


def note(profile: Profile, place: Place) -> bool:
    """Note that somebody read then; a quarter hour of a week counts once. False when it is known already."""
    row = profile.slots.get(place.slot)
    if row is not None and row.since > place.week:
        # A clock that was ahead may have left it in a week that is still to come: it must not stay unheard until then.
        is_ahead = row.since > place.week + 1
        if is_ahead:
            profile.slots[place.slot] = msgspec.structs.replace(row, since=place.week + 1)
        return is_ahead
    row = _passed(row or _untouched(profile, place.slot), place.week + 1)
    profile.slots[place.slot] = Slot(row.seen + ONE, row.weight, row.since, row.marks | 1)
    return True


def share(profile: Profile, place: Place) -> int:
    """Give the expected share of weeks in which somebody reads in this quarter hour, in 1/65536.

    What counts are the weeks before this one; of other days also those of this week that lie before it.
    """
    quarter, weekday = place.slot % DAY, place.slot // DAY
    others = range(5) if weekday < 5 else range(5, 7)
    if not any(other * DAY + quarter in profile.slots for other in others):
        return 0
    known = [at(profile, other * DAY + quarter, place.week + (other < weekday)) for other in others]
    shares = [row.seen * ONE // row.weight for row in known if row.weight]
    day = sum(shares) // len(shares) if shares else 0
    own = known[weekday - others.start]
    return (own.seen + day // 2) * ONE // (own.weight + ONE // 2)


def at(profile: Profile, slot: int, week: int) -> Slot:
    """Give a quarter hour with all weeks before `week` counted."""
    return _passed(profile.slots.get(slot) or _untouched(profile, slot), week)


def rotate(profile: Profile, quarters: int) -> None:
    """Move everything on the clock: another zone shows the same moments so much later."""
    profile.slots = {(slot + quarters) % WEEK: _shifted(row, slot + quarters) for slot, row in profile.slots.items()}
    profile.week += (profile.slot + quarters) // WEEK
    profile.slot = (profile.slot + quarters) % WEEK


def close_days(profile: Profile, week: Week, now: int, *, sure: int) -> None:
    """Decide about the day that was open, when it is over: was a reader expected, and did nobody read?

    The days since then, on which nobody looked because the ledger was down, count for nothing.
    """
    today = week.place(now).day
    day = profile.open_day
    if today <= day:
        # Clocks that step back do not open days again, unless they do so by more than one.
        profile.open_day = day if day - today <= 1 else today
        return
    profile.open_day = today
    first = day * DAY
    if profile.read_day < day and any(
        share(profile, Place(slot % WEEK, slot // WEEK, day)) >= sure for slot in range(first, first + DAY)
    ):
        profile.missed_days += 1


def _untouched(profile: Profile, slot: int) -> Slot:
    return Slot(0, 0, profile.week + (slot < profile.slot))


def _passed(row: Slot, week: int) -> Slot:
    """Let every week before `week` pass over it, in which nobody has read."""
    passed = min(week - row.since, _FORGOTTEN)
    if passed <= 0:
        return row
    seen, weight = row.seen, row.weight
    for _ in range(passed):
        seen, weight = seen * _DECAY >> 16, (weight * _DECAY >> 16) + ONE
    return Slot(seen, weight, week, row.marks << passed & _MARKS)


def _shifted(row: Slot, place: int) -> Slot:
    return msgspec.structs.replace(row, since=row.since + place // WEEK)


def weeks(profile: Profile, place: Place) -> int:
    """Give how many weeks an explanation looks back: those that the trigger has seen, five at most."""
    return min(max(place.week - profile.week + 1, 1), 5)


def days_seen(profile: Profile, place: Place) -> tuple[int, int]:
    """Give on how many of the last ten days of its kind (those it has seen) somebody read in this quarter hour."""
    days = range(5) if place.slot < 5 * DAY else range(5, 7)
    seen = of = 0
    day = place.day
    while of < 10 and (day := day - 1) >= 0:
        if day % 7 not in days:
            continue
        slot = day % 7 * DAY + place.slot % DAY
        if (day // 7, slot) < (profile.week, profile.slot):
            break
        of += 1
        seen += _is_marked(profile, slot, day // 7)
    return seen, of


def quiet(profile: Profile, place: Place) -> tuple[int, int] | None:
    """Give the times of day (minutes) around this one between which nobody read on such days of the last weeks.

    None when nobody ever read on such a day.
    """
    days = range(5) if place.slot < 5 * DAY else range(5, 7)
    back = range(place.week - weeks(profile, place) + 1, place.week + 1)
    read = [
        any(_is_marked(profile, day * DAY + quarter, week) for day in days for week in back) for quarter in range(DAY)
    ]
    own = place.slot % DAY
    if not any(read):
        return None
    before = next(step for step in range(1, DAY + 1) if read[(own - step) % DAY])
    behind = next(step for step in range(1, DAY + 1) if read[(own + step) % DAY])
    return (own - before + 1) % DAY * 15, (own + behind) % DAY * 15


def _is_marked(profile: Profile, slot: int, week: int) -> bool:
    row = profile.slots.get(slot)
    return row is not None and week < row.since and bool(row.marks >> (row.since - 1 - week) & 1)
