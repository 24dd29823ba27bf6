"""Windows as concrete moments: zones, daylight saving, weekdays, gaps."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pondage import Window, daily, hourly, weekly
from pondage.define.pond import calendar as calendars
from pondage.define.pond.calendar import Calendar, checked_windows
from pondage.define.pond.definition import WindowDefinition
from pondage.errors import DefinitionError

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")


def us(text: str, zone: ZoneInfo | None = None) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=zone or UTC)
    return int(moment.timestamp()) * 1_000_000


def calendar(*windows: Window) -> Calendar:
    return Calendar([window.definition for window in windows])


def test_a_daily_window_lasts_until_the_next_start():
    days = calendar(daily("02:00"))
    assert days.occurrence(us("2026-05-04T01:59")) == (us("2026-05-03T02:00"), us("2026-05-04T02:00"))
    assert days.occurrence(us("2026-05-04T02:00")) == (us("2026-05-04T02:00"), us("2026-05-05T02:00"))
    assert days.next_start(us("2026-05-04T02:00")) == us("2026-05-05T02:00")


def test_between_windows_there_is_no_occurrence_and_the_next_start_is_known():
    office = calendar(Window("08:00", "12:00"), Window("13:00", "17:00"))
    assert office.occurrence(us("2026-05-04T12:00")) is None
    assert office.next_start(us("2026-05-04T12:00")) == us("2026-05-04T13:00")
    assert office.occurrence(us("2026-05-04T16:59")) == (us("2026-05-04T13:00"), us("2026-05-04T17:00"))


def test_weekdays_are_those_of_the_start():
    office = calendar(Window("22:00", "02:00", weekdays="fri"))
    assert office.occurrence(us("2026-05-09T01:00")) == (us("2026-05-08T22:00"), us("2026-05-09T02:00"))  # a Saturday
    assert office.next_start(us("2026-05-09T01:00")) == us("2026-05-15T22:00")


def test_a_weekly_window_lasts_a_week():
    week = calendar(weekly("mon", "06:00"))
    assert week.occurrence(us("2026-05-10T23:00")) == (us("2026-05-04T06:00"), us("2026-05-11T06:00"))


def test_an_open_window_gives_way_to_the_next_start_of_the_calendar():
    mixed = calendar(daily("02:00"), Window("08:00", "12:00"))
    assert mixed.occurrence(us("2026-05-04T03:00")) == (us("2026-05-04T02:00"), us("2026-05-04T08:00"))
    assert mixed.occurrence(us("2026-05-04T12:30")) is None


def test_a_local_time_that_does_not_exist_moves_forward():
    night = calendar(daily("02:30", tz="Europe/Berlin"))
    assert night.next_start(us("2026-03-28T12:00")) == us("2026-03-29T01:30")  # 03:30 in summer time
    assert night.next_start(us("2026-03-29T12:00")) == us("2026-03-30T00:30")


def test_an_ambiguous_local_time_is_the_first():
    night = calendar(daily("02:30", tz="Europe/Berlin"))
    assert night.next_start(us("2026-10-24T12:00")) == us("2026-10-25T00:30")
    assert night.occurrence(us("2026-10-25T01:30")) == (us("2026-10-25T00:30"), us("2026-10-26T01:30"))  # 25 hours


def test_a_day_on_which_the_clocks_change_has_another_length():
    days = calendar(daily("00:00", tz="Europe/Berlin"))
    spring = days.occurrence(us("2026-03-29T12:00", BERLIN))
    autumn = days.occurrence(us("2026-10-25T12:00", BERLIN))
    assert spring is not None
    assert autumn is not None
    assert (spring[1] - spring[0], autumn[1] - autumn[0]) == (23 * 3_600_000_000, 25 * 3_600_000_000)


def test_a_weekly_window_that_falls_into_a_gap_of_the_clock_is_followed_by_the_next():
    night = calendar(Window("02:30", "03:15", weekdays="sun", tz="Europe/Berlin"))
    assert night.next_start(us("2026-03-23T00:00")) == us("2026-04-05T00:30")


def test_hourly_windows_cover_the_day_of_the_change_without_a_hole():
    hours = calendar(*hourly(15, tz="Europe/Berlin"))
    start = us("2026-03-29T00:15", BERLIN)
    for _ in range(23):
        found = hours.occurrence(start)
        assert found is not None
        assert found[0] == start
        start = found[1]
    assert start == us("2026-03-30T00:15", BERLIN)


def test_no_windows_mean_no_start():
    assert Calendar([]).next_start(0) is None
    assert Calendar([]).occurrence(0) is None


@pytest.mark.parametrize(
    "windows",
    [
        (Window("08:00", "12:00"), Window("11:59", "13:00")),
        (Window("22:00", "02:00"), Window("01:00", "03:00")),
        (Window("22:00", "02:00", weekdays="sun"), Window("01:00", "03:00", weekdays="mon")),
        (daily("02:00"), daily("02:00")),
        (Window("08:00", "10:00", tz="UTC"), Window("10:30", "12:00", tz="Europe/Berlin")),  # only in winter or summer
        (Window("00:00", "00:00"), Window("05:00", "06:00")),
    ],
)
def test_windows_that_overlap_are_refused_with_both_named(windows: tuple[Window, Window]):
    with pytest.raises(DefinitionError) as caught:
        checked_windows([window.definition for window in windows])
    assert caught.value.code == "WINDOWS_OVERLAP"
    assert all(repr(window) in caught.value.message for window in windows)


@pytest.mark.parametrize(
    "windows",
    [
        (Window("08:00", "12:00"), Window("12:00", "13:00")),
        (Window("22:00", "02:00", weekdays="fri"), Window("01:00", "03:00", weekdays="mon")),
        (daily("02:00"), Window("08:00", "12:00")),
        hourly(),
        (Window("08:00", "09:00", tz="UTC"), Window("12:00", "13:00", tz="Europe/Berlin")),
    ],
)
def test_windows_beside_each_other_are_fine(windows: tuple[Window, ...]):
    assert len(checked_windows([window.definition for window in windows])) == len(windows)


_minutes = st.integers(0, 24 * 60 - 1).map(lambda minute: f"{minute // 60:02}:{minute % 60:02}")
_windows = st.builds(
    lambda start, end, weekdays, tz: WindowDefinition(start=start, end=end, weekdays=tuple(sorted(weekdays)), tz=tz),
    _minutes,
    st.none() | _minutes,
    st.sets(st.integers(0, 6), min_size=1),
    st.sampled_from(ZONES),
)
_moments = st.integers(us("1995-01-01"), us("2045-01-01"))


@given(st.lists(_windows, min_size=1, max_size=4), _moments)
def test_an_occurrence_holds_the_moment_and_ends_before_or_at_the_next_start(windows: list[WindowDefinition], now: int):
    found = Calendar(windows).occurrence(now)
    following = Calendar(windows).next_start(now)
    assert following is not None
    assert now < following
    if found is not None:
        assert found[0] <= now < found[1] <= following


@given(st.lists(_windows, min_size=1, max_size=4), _moments, _moments)
def test_the_answer_does_not_depend_on_what_was_asked_before(windows: list[WindowDefinition], first: int, second: int):
    asked = Calendar(windows)
    asked.occurrence(first)
    assert asked.occurrence(second) == Calendar(windows).occurrence(second)
    assert asked.next_start(second) == Calendar(windows).next_start(second)


@given(st.lists(_windows, min_size=1, max_size=4), _moments)
def test_every_moment_of_an_occurrence_has_the_same_one(windows: list[WindowDefinition], now: int):
    days = Calendar(windows)
    found = days.occurrence(now)
    if found is not None:
        start, end = found
        assert days.occurrence(start) == found
        assert days.occurrence(end - 1) == found
        assert days.occurrence(end) != found


@given(_minutes, st.sampled_from(ZONES), _moments)
def test_a_daily_window_has_no_gap_and_lasts_about_a_day(at: str, zone: str, now: int):
    found = calendar(daily(at, tz=zone)).occurrence(now)
    assert found is not None
    assert 22.5 <= (found[1] - found[0]) / 3_600_000_000 <= 25.5 or zone == "Pacific/Apia"


def test_many_windows_are_checked_by_one_look_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[WindowDefinition] = []

    def counting(window: WindowDefinition) -> list[tuple[int, int]]:
        looked_at.append(window)
        return weekly_spans(window)

    weekly_spans = calendars._weekly
    monkeypatch.setattr(calendars, "_weekly", counting)
    every_two_minutes = [Window(f"{at // 60:02}:{at % 60:02}").definition for at in range(0, 24 * 60, 2)]
    assert len(checked_windows(every_two_minutes)) == 720
    assert len(looked_at) == 720
    with pytest.raises(DefinitionError, match="daily 11:58"):
        checked_windows([*every_two_minutes, Window("11:58").definition])


@pytest.mark.parametrize("seed", range(40))
def test_one_look_at_all_windows_finds_what_a_look_at_each_pair_finds(seed: int) -> None:
    chosen = random.Random(seed)
    zones = ["UTC", "Europe/Berlin"] if seed % 4 == 0 else ["UTC"]
    windows = []
    for _ in range(chosen.randint(2, 6)):
        start, length = chosen.randrange(24 * 60), chosen.choice([None, 5, 60, 300])
        end = None if length is None else (start + length) % (24 * 60)
        days = chosen.sample(range(7), chosen.randint(1, 7))
        texts = [None if at is None else f"{at // 60:02}:{at % 60:02}" for at in (start, end)]
        windows.append(Window(str(texts[0]), texts[1], weekdays=days, tz=chosen.choice(zones)).definition)
    pairs = [(at, other) for at in range(len(windows)) for other in range(at)]
    overlapping = {pair for pair in pairs if calendars._overlapping([windows[pair[0]], windows[pair[1]]])}
    found = calendars._overlapping(windows)
    assert (found is None) == (not overlapping)
    assert found is None or tuple(sorted(found, reverse=True)) in overlapping
