"""Triggers that follow their readers: awake while somebody reads or is expected, else resting.

A trigger that rests asks for nothing; what is under way or asked already goes on. When it is looked at again is decided
with each read, when it begins to rest, and once a day.
"""

from pondage.define.values.week import DAY, QUARTER, SECOND, Week
from pondage.kernel.demand import pace
from pondage.kernel.demand.asking import on_target, tap
from pondage.kernel.demand.events import Follow, Read
from pondage.kernel.demand.gates import Resting
from pondage.kernel.demand.ponds import Ponds
from pondage.kernel.demand.shape import NONE
from pondage.kernel.demand.state import WAVE, Following, Pacing
from pondage.kernel.demand.work import Pond, Work
from pondage.kernel.reading import profile
from pondage.kernel.reading.profile import Profile

LEAST_HOLD = 1_800 * SECOND
NEW_FOR = 7 * DAY * QUARTER
"""How long a trigger is awake that has learned nothing yet."""
MISSED_DAYS = 2
"""After so many days on which a reader was expected and none came, it rests until somebody reads."""
_AHEAD = 8 * DAY * QUARTER
"""What is expected is looked for in a week and a day: behind that every quarter hour has been seen."""


def follow(work: Work, pond: Pond, name: str, given: Follow | None) -> None:
    """Let a trigger follow its readers from now on, or not any more. One that did so keeps what it has learned."""
    state = pond.state
    if given is None:
        work.unfollow(pond, [name])
        return
    known = state.following.get(name)
    week = work.ponds.week(given.tz)
    if known is None:
        new_until = NONE if given.is_resting else work.now + NEW_FOR
        known = state.following[name] = Following(tz=given.tz, sure=given.sure, new_until=new_until)
        work.learn(pond, name, profile.new_profile(week.place(work.now)))
    elif known.tz != given.tz:
        # They go on reading at the same moments, which have other places on the clock of the new zone.
        ahead = week.offset(work.now) - work.ponds.week(known.tz).offset(work.now)
        learned = work.profile(pond, name)
        profile.rotate(learned, ahead // QUARTER)
        learned.read_day = NONE if learned.last_read == NONE else week.place(learned.last_read).day
    known.tz, known.sure = given.tz, given.sure
    look(work, pond, name)


def on_read(work: Work, pond: Pond, event: Read) -> None:
    """Learn that somebody read; a trigger that rests wakes, and asks for the data of this moment at once."""
    is_woken = False
    for name, known in pond.state.following.items():
        learned, week = work.profile(pond, name), work.ponds.week(known.tz)
        moment = min(event.at, work.now)
        place = week.place(moment)
        profile.note(learned, place)
        if moment > learned.last_read:
            learned.last_read = moment
        learned.read_day = max(learned.read_day, place.day)
        learned.missed_days = 0
        was_resting = known.is_resting
        look(work, pond, name)
        if was_resting and not known.is_resting and name not in pond.state.paused:
            is_woken, known.woken = True, work.now
    if is_woken:
        on_target(work, pond, work.now)


def look_all(work: Work, pond: Pond) -> None:
    """Look at the triggers for which it is time."""
    for name, known in pond.state.following.items():
        if known.look_at != NONE and work.now >= known.look_at:
            look(work, pond, name)


def look(work: Work, pond: Pond, name: str) -> None:
    """Decide whether a trigger is awake, and when to look again."""
    known = pond.state.following[name]
    learned, week = work.profile(pond, name), work.ponds.week(known.tz)
    was_resting = known.is_resting
    if work.now >= known.new_until:
        profile.close_days(learned, week, work.now, sure=known.sure)
    until, ahead = _awake_until(work, pond, name)
    known.is_resting = until <= work.now
    known.until = ahead if known.is_resting else until
    known.look_at = known.until
    if known.until != NONE:
        known.look_at = min(known.until, week.next_day(work.now))
    if was_resting and not known.is_resting and name == WAVE and pond.state.asking_wave is Pacing.EAGER:
        tap(work, pond)
    work.change(pond)


def next_look(pond: Pond) -> int:
    """Give when the next of its triggers is to be looked at; NONE without one."""
    return min((each.look_at for each in pond.state.following.values() if each.look_at != NONE), default=NONE)


def hold(pond: Pond, name: str) -> int:
    """Give for how long a trigger stays awake after a read: two of its periods, and half an hour at least."""
    limit = pace.period(pond) if name == WAVE else pond.state.tides[name]
    return max(2 * limit, LEAST_HOLD)


def _awake_until(work: Work, pond: Pond, name: str) -> tuple[int, int]:
    """Give until when it is awake (not after now: it rests), and when it wakes for the next expected reader."""
    known, learned = pond.state.following[name], work.profile(pond, name)
    now, lead = work.now, pace.lead(pond)
    until = known.new_until
    if learned.missed_days >= MISSED_DAYS and until <= now:
        known.expected = NONE
        return NONE, NONE
    held = hold(pond, name)
    # A clock that was far ahead has left a read in the future: nobody is held awake until that has come.
    if learned.last_read != NONE and learned.last_read <= now + held:
        until = max(until, min(learned.last_read, now) + held + 1)
    known.expected = NONE
    # Quarter hours that are over before it would rest anyway decide nothing.
    for begin, place in work.ponds.week(known.tz).begins(max(now, until) - QUARTER + 1, now + _AHEAD):
        if begin - lead > max(until, now) and until > now:
            break
        if profile.share(learned, place) >= known.sure:
            known.expected = begin
            if begin - lead > max(until, now):
                return until, begin - lead
            until = max(until, begin + QUARTER)
    return until, NONE


def resting(ponds: Ponds, pond: Pond, now: int) -> list[Resting]:
    """Say why its triggers rest, those that do."""
    return [
        _explained(ponds.profile(pond.key, name), ponds.week(each.tz), name, each, now)
        for name, each in sorted(pond.state.following.items())
        if each.is_resting
    ]


def _explained(learned: Profile, week: Week, name: str, known: Following, now: int) -> Resting:
    wakes = None if known.until == NONE else known.until
    expected = None if wakes is None else known.expected
    place = week.place(now if expected is None else expected)
    seen, of = (0, 0) if expected is None else profile.days_seen(learned, place)
    return Resting(
        trigger=name,
        wakes=wakes,
        expected=expected,
        seen=seen,
        of=of,
        quiet=profile.quiet(learned, week.place(now)),
        is_workday=week.place(now).day % 7 < 5,
        weeks=profile.weeks(learned, week.place(now)),
        missed=learned.missed_days >= MISSED_DAYS,
        tz=known.tz,
    )
