"""Triggers that follow their readers: shares, hold, rest, several of one Pond, and clocks that do what clocks do."""

import random
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec
import pytest

from pondage.define.values.week import QUARTER, Place, week_of
from pondage.kernel.demand import NONE, Pacing, PondKey, PondShape, explain
from pondage.kernel.demand.events import Follow, Pause, Read, Resume, Tap, Tick, Tide, Verb, Wave
from pondage.kernel.demand.gates import Resting
from pondage.kernel.demand.readers import NEW_FOR
from pondage.kernel.demand.state import decode_state, encode_state
from pondage.kernel.reading.profile import ONE, SURE, Profile, new_profile, note, rotate, share
from pondage.simulate.drive import Simulation, Workers
from pondage.simulate.virtual import VirtualHost
from tests.kernel.demand.driving import Driver

SECOND = 1_000_000
MINUTE, HOUR = 60 * SECOND, 3_600 * SECOND
DAY = 24 * HOUR
KEY = PondKey("a")
LIMIT = 15 * MINUTE
RESTING = Follow(tz="Europe/Berlin", is_resting=True)
ONE_POND = PondShape.of("a", {"r": ()})


def moment(text: str, tz: str = "Europe/Berlin") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz)).timestamp()) * SECOND


def resting(driver: Driver, name: str = "tide") -> bool:
    return driver.state("a").following[name].is_resting


def read(driver: Driver, text: str) -> None:
    driver.give(Read(pond=KEY, at=moment(text)), at=moment(text))


def following(limit: int = LIMIT, follow: Follow = RESTING, at: str = "2026-03-02T00:00") -> Driver:
    driver = Driver(ONE_POND)
    driver.give(Tide(pond=KEY, limit=limit, follow=follow), at=moment(at))
    return driver


def profile(driver: Driver, name: str = "tide") -> Profile:
    return driver.ponds.profiles[KEY, name]


class Played:
    """A Pond whose Runs take nine minutes, with its triggers, in virtual time."""

    def __init__(self, *given: Verb, start: str = "2026-03-02T00:00", takes: int = 9 * MINUTE) -> None:
        self.host = VirtualHost()
        self.host.deploy([ONE_POND], moment(start))
        self.simulation = Simulation(self.host, Workers(takes=lambda _: takes))
        for verb in given:
            self.simulation.act(moment(start), verb)

    def read(self, *texts: str) -> "Played":
        for text in texts:
            self.simulation.act(moment(text), Read(pond=KEY, at=moment(text)))
        return self

    def ended(self, since: str, until: str) -> list[str]:
        """When Runs ended in between, by the clock in Berlin."""
        self.simulation.run_until(moment(until))
        ends = [at for at, _ in self.simulation.trace.completed.get(KEY, []) if moment(since) <= at < moment(until)]
        return [datetime.fromtimestamp(at // SECOND, ZoneInfo("Europe/Berlin")).strftime("%d %H:%M") for at in ends]


TIDE = Tide(pond=KEY, limit=LIMIT, follow=RESTING)
WEEK_ONE = [f"2026-03-0{day}T08:30" for day in range(2, 7)]


def test_a_new_trigger_is_awake_for_a_week_and_one_that_is_to_rest_is_not() -> None:
    driver = following(follow=Follow(tz="Europe/Berlin"))
    assert not resting(driver)
    assert driver.state("a").following["tide"].until == moment("2026-03-02T00:00") + NEW_FOR
    driver.give(Tick(pond=KEY), at=moment("2026-03-09T00:00"))
    assert resting(driver)
    assert resting(following())


def test_a_first_run_of_a_morning_ends_when_its_reader_is_expected() -> None:
    played = Played(TIDE).read(*WEEK_ONE)
    assert played.ended("2026-03-09T00:00", "2026-03-09T12:00")[0] == "09 08:30"
    assert played.ended("2026-03-07T00:00", "2026-03-09T00:00") == []


def test_it_is_awake_for_two_limits_after_a_read_and_for_half_an_hour_at_least() -> None:
    for limit, hold in ((5 * MINUTE, 30 * MINUTE), (HOUR, 2 * HOUR)):
        driver = following(limit)
        read(driver, "2026-03-02T08:30")
        assert driver.state("a").following["tide"].until == moment("2026-03-02T08:30") + hold + 1
        driver.give(Tick(pond=KEY), at=moment("2026-03-02T08:30") + hold)
        assert not resting(driver)
        driver.give(Tick(pond=KEY), at=moment("2026-03-02T08:30") + hold + 1)
        assert resting(driver)


def test_the_hold_of_a_wave_is_two_of_its_periods() -> None:
    played = Played(Wave(pond=KEY, follow=RESTING), takes=40 * MINUTE).read("2026-03-02T08:00", "2026-03-02T09:00")
    played.simulation.run_until(moment("2026-03-02T09:00"))
    assert played.host.states()[KEY].following["wave"].until == moment("2026-03-02T10:20") + 1
    # What is asked already goes on: the Run of 10:40 was asked for by the one that ended while it was awake.
    assert played.ended("2026-03-02T09:00", "2026-03-02T18:00")[-1] <= "02 11:20"


def test_a_read_that_ends_the_rest_asks_for_the_data_of_its_moment() -> None:
    driver = following()
    read(driver, "2026-03-02T08:30")
    assert driver.started() == [("a.r", moment("2026-03-02T08:30"))]
    driver.done("a.r", at=moment("2026-03-02T08:31"))
    read(driver, "2026-03-02T08:32")
    assert driver.started() == [], "awake: the Tide asks when it is due, a read does not"


def test_what_is_paused_is_not_woken_and_learns_all_the_same() -> None:
    driver = following()
    driver.give(Pause(pond=KEY, name="tide"))
    read(driver, "2026-03-02T08:30")
    assert driver.started() == []
    assert len(profile(driver).slots) == 1
    driver.give(Resume(pond=KEY, name="tide"))
    assert driver.started() == [("a.r", moment("2026-03-02T08:30"))]


def test_several_triggers_of_one_pond_follow_each_by_itself() -> None:
    driver = Driver(ONE_POND)
    at = moment("2026-03-02T00:00")
    far = Follow(tz="America/New_York", sure=ONE // 2, is_resting=True)
    driver.give(
        Tide(pond=KEY, limit=LIMIT, name="near", follow=RESTING),
        Tide(pond=KEY, limit=2 * HOUR, name="far", follow=far),
        Tide(pond=KEY, limit=DAY, name="always"),
        at=at,
    )
    assert driver.started() == [("a.r", at)], "the one without readers asks"
    driver.done("a.r", at=at + MINUTE)
    assert driver.state("a").asking_tides == [DAY]
    read(driver, "2026-03-02T08:30")
    assert driver.state("a").asking_tides == [LIMIT, 2 * HOUR, DAY]
    driver.done("a.r", at=moment("2026-03-02T08:31"))
    driver.give(Tick(pond=KEY), at=moment("2026-03-02T10:00"))
    assert driver.state("a").asking_tides == [2 * HOUR, DAY], "the hold of one is over, that of the other is not"
    assert set(profile(driver, "near").slots) != set(profile(driver, "far").slots), "each has a clock of its own"


def test_the_demand_of_a_sink_is_never_put_to_rest_by_its_source() -> None:
    driver = Driver(ONE_POND, PondShape.of("b", {"r": ()}, sources={"a": True}))
    driver.give(Tide(pond=KEY, limit=LIMIT, follow=RESTING), at=moment("2026-03-02T00:00"))
    driver.give(Tap(pond=PondKey("b")))
    assert driver.started() == [("a.r", moment("2026-03-02T00:00"))]
    assert resting(driver)


def test_a_quarter_hour_counts_once_in_a_week_and_more_than_once_over_weeks() -> None:
    learned = new_profile(Place(0, 10, 70))
    assert note(learned, Place(34, 10, 70))
    assert not note(learned, Place(34, 10, 70))
    assert share(learned, Place(34, 11, 77)) == (ONE + ONE // 10) * ONE // (ONE + ONE // 2), "one workday of five"
    assert share(learned, Place(34 + 96, 10, 71)) == ONE, "Tuesday knows only of Monday"
    assert share(learned, Place(34 + 5 * 96, 10, 75)) == 0, "the weekend knows nothing of it"
    shares = [share(learned, Place(34, week, week * 7)) for week in range(11, 30)]
    assert shares == sorted(shares, reverse=True)
    assert [each >= SURE for each in shares[:4]] == [True, True, False, False], "one read is forgotten after two weeks"


def test_what_was_learned_halves_in_two_weeks() -> None:
    learned = new_profile(Place(0, 0, 0))
    for week in range(200):
        note(learned, Place(5, week, week * 7))
    assert abs(learned.slots[5].seen - ONE * 3.414) < 200, "the sum of all weeks, each worth 0.707 of the next"
    before = learned.slots[5].seen
    note(learned, Place(5, 202, 202 * 7))
    assert abs(learned.slots[5].seen - (before * 2**-1.5 + ONE)) < 5


def test_a_slot_that_nobody_reads_any_more_is_no_longer_expected() -> None:
    played = Played(TIDE).read(
        *WEEK_ONE, *(f"2026-03-{day:02}T14:00" for day in (9, 10, 11, 12, 13, 16, 17, 18, 19, 20))
    )
    assert "23 08:30" not in played.ended("2026-03-23T00:00", "2026-03-23T12:00")
    assert played.ended("2026-03-23T12:00", "2026-03-23T15:00")[0] == "23 14:00"


def test_after_two_missed_days_it_rests_until_somebody_reads() -> None:
    played = Played(TIDE).read(*WEEK_ONE)
    days = {each[:2] for each in played.ended("2026-03-07T00:00", "2026-05-01T00:00")}
    assert days == {"09", "10"}
    assert played.host.next_timer() is None
    (gate,) = [each for each in played.host.explain(KEY, played.simulation.now) if isinstance(each, Resting)]
    assert (gate.missed, gate.wakes) == (True, None)
    played.read("2026-05-04T09:00")
    assert played.ended("2026-05-04T00:00", "2026-05-04T09:10") == ["04 09:09"]


def test_a_reader_at_0830_is_expected_at_0830_in_summer_too() -> None:
    workdays = [f"2026-03-{day}T08:30" for day in (16, 17, 18, 19, 20, 23, 24, 25, 26, 27)]
    played = Played(TIDE, start="2026-03-16T00:00").read(*workdays)
    assert played.ended("2026-03-30T00:00", "2026-03-30T12:00")[0] == "30 08:30", "clocks went forward on the 29th"


def test_the_hour_that_comes_twice_counts_once_and_the_one_that_is_missing_wakes_nobody_at_another_time() -> None:
    week = week_of("Europe/Berlin")
    first = moment("2026-10-25T02:30")
    assert week.place(first) == week.place(first + HOUR), "the same place on the clock"
    learned = new_profile(week.place(first - DAY))
    assert note(learned, week.place(first))
    assert not note(learned, week.place(first + HOUR))
    night = [place.slot % 96 for _, place in week.begins(moment("2026-03-29T00:00"), moment("2026-03-30T00:00"))]
    assert len(night) == 92
    assert set(range(96)) - set(night) == {8, 9, 10, 11}
    nights = [f"2026-03-{day:02}T02:30" for day in range(15, 29)]
    played = Played(TIDE, start="2026-03-14T00:00").read(*nights)
    assert played.ended("2026-03-29T00:00", "2026-03-29T12:00") == []
    assert played.ended("2026-03-30T00:00", "2026-03-30T12:00")[0] == "30 02:30"


@pytest.mark.parametrize("tz", ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "Africa/Cairo"])
def test_days_follow_each_other_without_gaps_in_any_zone(tz: str) -> None:
    week, at = week_of(tz), moment("2011-12-01T00:00", tz)
    for _ in range(800):
        following_day = week.next_day(at)
        assert at < following_day <= at + 50 * HOUR
        assert week.place(following_day - 1).day == week.place(at).day < week.place(following_day).day
        at = following_day


def test_clocks_that_step_back_never_let_the_last_read_fall() -> None:
    driver = following()
    read(driver, "2026-03-02T10:00")
    read(driver, "2026-03-02T09:00")
    assert profile(driver).last_read == moment("2026-03-02T10:00")
    assert not resting(driver), "it was a moment ago, by a clock that is an hour off"


def test_a_clock_that_was_a_year_ahead_keeps_nothing_awake_and_learning_goes_on() -> None:
    driver = following()
    read(driver, "2027-03-02T10:00")
    driver.give(Tick(pond=KEY), at=moment("2026-03-03T10:00"))
    read(driver, "2026-03-03T10:00")
    assert profile(driver).last_read == moment("2027-03-02T10:00")
    for day in range(9, 14):
        read(driver, f"2026-03-{day:02}T08:30")
    driver.give(Tick(pond=KEY), at=moment("2026-03-16T08:30"))
    assert not resting(driver)


def test_another_zone_keeps_the_moments_of_the_readers() -> None:
    driver = following(follow=msgspec.structs.replace(RESTING, tz="UTC"))
    for text in WEEK_ONE:
        read(driver, text)
    driver.give(Tick(pond=KEY), at=moment("2026-03-07T00:00"))
    before = driver.state("a").following["tide"].until
    driver.give(Tide(pond=KEY, limit=LIMIT, follow=RESTING))
    assert driver.state("a").following["tide"].until == before == moment("2026-03-09T08:30")
    assert {slot % 96 for slot in profile(driver).slots} == {34}


def test_moving_a_profile_round_the_clock_and_back_gives_what_it_was() -> None:
    rng = random.Random(7)
    learned = new_profile(Place(300, 50, 353))
    for _ in range(100):
        slot = rng.randrange(672)
        note(learned, Place(slot, 51 + rng.randrange(3), 0))
    before = msgspec.json.encode(learned)
    for quarters in (37, -37, 700, -700):
        rotate(learned, quarters)
    assert msgspec.json.decode(msgspec.json.encode(learned)) == msgspec.json.decode(before)


def test_a_redeploy_without_following_makes_it_a_trigger_like_others() -> None:
    driver = following()
    assert resting(driver)
    driver.give(Tide(pond=KEY, limit=LIMIT))
    assert driver.state("a").following == {}
    assert driver.started(), "it asks at once"


def test_states_and_profiles_survive_writing_and_reading_at_any_moment() -> None:
    driver = following()
    for text in [*WEEK_ONE, "2026-03-09T09:00"]:
        read(driver, text)
        state = driver.state("a")
        assert decode_state(encode_state(state)) == state
        learned = profile(driver)
        assert msgspec.json.decode(msgspec.json.encode(learned), type=Profile) == learned


def test_it_says_why_it_rests_and_for_whom_it_wakes() -> None:
    days = [f"2026-03-{day:02}T{hour}" for day in (2, 3, 4, 5, 6, 9, 10, 11, 13) for hour in ("08:30", "18:00")]
    played = Played(TIDE).read(*days)
    played.simulation.run_until(moment("2026-03-15T20:00"))
    (gate,) = [each for each in played.host.explain(KEY, moment("2026-03-15T20:00")) if isinstance(each, Resting)]
    assert (gate.seen, gate.of) == (9, 10)
    assert (gate.wakes, gate.expected) == (moment("2026-03-16T08:21"), moment("2026-03-16T08:30"))
    assert gate.quiet is None, "nobody ever read on a Sunday"
    played.simulation.run_until(moment("2026-03-16T19:00"))
    (gate,) = [each for each in played.host.explain(KEY, moment("2026-03-16T19:00")) if isinstance(each, Resting)]
    assert gate.quiet == (18 * 60 + 15, 8 * 60 + 30)


def test_looks_are_a_day_apart_at_most_while_there_is_anybody_to_wait_for() -> None:
    played = Played(TIDE).read(*WEEK_ONE)
    looks = []
    for _ in range(200):
        at = played.host.next_timer()
        if at is None or at > moment("2026-03-10T00:00"):
            break
        played.simulation.run_until(at)
        looks.append(at)
    assert all(behind - before <= 25 * HOUR for before, behind in pairwise(looks))
    assert len(looks) < 150, "and nobody looks each quarter of an hour"


def test_a_wave_that_wakes_pulls_at_once() -> None:
    played = Played(Wave(pond=KEY, pacing=Pacing.EAGER, follow=RESTING)).read(*WEEK_ONE)
    assert played.ended("2026-03-09T00:00", "2026-03-09T08:31")[0] == "09 08:30"


def test_nothing_is_looked_for_where_nobody_ever_read() -> None:
    driver = following()
    assert driver.state("a").following["tide"].look_at == NONE
    assert explain(driver.ponds, KEY, driver.now)
    assert week_of("UTC").place(4 * DAY + QUARTER) == Place(1, 1, 7)
