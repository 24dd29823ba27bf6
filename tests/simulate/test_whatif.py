"""What a what-if measures, against figures that can be worked out by hand and the tables of the document."""

import pytest

from pondage.kernel.demand import Pacing, PondKey
from pondage.kernel.demand.events import Pulse, Tap, Tide, Wave
from pondage.simulate.measure import slowest
from pondage.simulate.whatif import SECOND, cron_intervals, play_cron, play_eager, play_pondage
from tests.simulate.pipelines import chain, pipeline, question, windowed

LAST = PondKey("p2")


def test_the_ideal_is_the_lead_and_half_of_the_slowest_step() -> None:
    asked = chain(1, 1, 10)
    assert (asked.leads[LAST], asked.period(LAST), asked.ideal(LAST)) == (12 * SECOND, 10 * SECOND, 17 * SECOND)
    assert asked.bottleneck == (LAST, "r")


def test_a_pulse_runs_each_pond_once_and_staleness_counts_from_its_time() -> None:
    played = play_pondage(question(chain(1, 2, 3), 16, [(0, Pulse(pond=LAST))]))
    outlet = played.figures.outlets[0]
    assert [one.runs for one in played.figures.ponds] == [1, 1, 1]
    assert outlet.mean_staleness_us == 11 * SECOND  # it rises from 6 to 16 seconds
    assert outlet.worst_staleness_us == 16 * SECOND
    assert outlet.cycle_us is None
    assert played.figures.spent_us == 6 * SECOND
    assert played.figures.utilisation == 3 / 16


@pytest.mark.parametrize(
    ("seconds", "eager"),
    [((1, 1, 1, 5, 1, 1), 1.96), ((1, 1, 3), 1.62), ((3, 1, 1), 1.00), ((1, 1, 10), 2.06)],
)
def test_waves_have_the_ages_of_the_table(seconds: tuple[int, ...], eager: float) -> None:
    asked, last = chain(*seconds), PondKey(f"p{len(seconds) - 1}")
    for pacing, expected in ((Pacing.EAGER, eager), (Pacing.JUST_IN_TIME, 1.0)):
        figures = play_pondage(question(asked, 4000, [(0, Wave(pond=last, pacing=pacing))])).figures
        mean = figures.outlets[0].mean_staleness_us
        assert mean is not None
        assert mean / figures.outlets[0].ideal_us == pytest.approx(expected, abs=0.02)
        assert figures.utilisation > 0.98


def test_runs_on_every_change_waste_what_the_bottleneck_cannot_take() -> None:
    asked = question(chain(1, 1, 5), 1000)
    figures = play_eager(asked).figures
    by_pond = {one.pond: one for one in figures.ponds}
    assert by_pond["p0"].runs == 999
    assert by_pond["p2"].runs == 199
    assert by_pond["p0"].wasted == pytest.approx(799, abs=4)
    assert by_pond["p2"].wasted == 0
    ours = play_pondage(question(chain(1, 1, 5), 1000, [(0, Wave(pond=LAST))])).figures
    assert ours.wasted == 0


def test_what_goes_into_a_result_that_nobody_reads_is_wasted_too() -> None:
    read = [(95, LAST, "read")]
    figures = play_cron(question(chain(1, 1, 1), 100, trace=read), 10 * SECOND, name="cron").figures
    assert [(one.runs, one.wasted) for one in figures.ponds] == [(10, 9), (10, 9), (10, 9)]


def test_a_tap_takes_what_is_there_and_a_pulse_waits_for_now() -> None:
    trace = [(0, LAST, "pulse"), (50, LAST, "tap"), (60, LAST, "tap"), (90, LAST, "pulse")]
    consumed = play_pondage(question(chain(1, 1, 1), 100, trace=trace)).figures.consumed
    assert consumed is not None
    # 3 s old after 3 s; 50 s old at once; what the first Tap let in, taken at 50 s; 3 s old after 3 s.
    assert consumed.mean_wait_us == 6 * SECOND // 4
    assert consumed.worst_age_us == 50 * SECOND
    assert consumed.unanswered == 0


def test_a_consumer_who_can_only_read_waits_for_the_first_result_and_no_other() -> None:
    trace = [(0, LAST, "pulse"), (29, LAST, "pulse")]
    consumed = play_cron(question(chain(1, 1, 1), 40, trace=trace), 10 * SECOND, name="cron").figures.consumed
    assert consumed is not None
    assert (consumed.mean_wait_us, consumed.mean_age_us) == (3 * SECOND // 2, (3 + 9) * SECOND // 2)


def test_a_consumption_that_is_never_answered_is_counted() -> None:
    failing = chain(1, 1, 1, failing={"p1": {1}})
    played = play_pondage(question(failing, 50, trace=[(0, LAST, "pulse")]))
    assert played.figures.consumed is not None
    assert played.figures.consumed.unanswered == 1
    assert played.conditions == {"p1": "failed", "p2": "blocked"}


def test_a_tide_over_windows_runs_once_in_a_window() -> None:
    figures = play_pondage(question(windowed(10, 0), 100, [(0, Tide(pond=PondKey("out"), limit=SECOND))])).figures
    assert [one.runs for one in figures.ponds] == [10, 10]


def test_an_optional_source_sets_neither_lead_nor_pace() -> None:
    asked = pipeline({"a": ({}, 1), "slow": ({}, 60), "c": ({"a": True, "slow": False}, 1)})
    assert asked.ideal(PondKey("c")) == 2 * SECOND + SECOND // 2


def test_the_same_seed_gives_the_same_figures_and_another_seed_others() -> None:
    def figures(seed: int) -> object:
        asked = chain(1, 2, 1)
        timings = {place: type(timing)(base=timing.base, spread=0.3) for place, timing in asked.timings.items()}
        varied = type(asked)(shapes=asked.shapes, timings=timings, seed=seed)
        return play_pondage(question(varied, 300, [(0, Wave(pond=LAST))])).figures

    assert figures(1) == figures(1)
    assert figures(1) != figures(2)


def test_three_intervals_are_chosen_that_a_person_would_write() -> None:
    assert cron_intervals(chain(1, 3, 1)) == [5 * SECOND, 15 * SECOND, 60 * SECOND]
    assert len(set(cron_intervals(chain(100_000)))) == 3


def test_progress_is_told_for_each_policy_up_to_its_end() -> None:
    told: list[tuple[str, float]] = []
    play_pondage(question(chain(1, 1, 1), 10, [(0, Tap(pond=LAST))]), progress=lambda *each: told.append(each))
    assert told[-1] == ("pondage", 1.0)


def test_a_ripple_that_never_ran_is_not_the_slowest_however_slow_it_is() -> None:
    asked = question(chain(1, 2, 10), 16, [(0, Pulse(pond=PondKey("p1")))])
    played = play_pondage(asked)
    assert asked.pipeline.bottleneck == (LAST, "r"), "it is the slowest of all"
    assert slowest(asked.pipeline, played.recorder) == (PondKey("p1"), "r")
    assert played.figures.utilisation == 2 / 16
    idle = play_pondage(question(chain(1, 2, 10), 16, []))
    assert (slowest(asked.pipeline, idle.recorder), idle.figures.utilisation) == (None, 0.0)
