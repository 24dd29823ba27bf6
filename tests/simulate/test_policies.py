"""Cron and eager runs: what they start, when, and what they make of failures and windows."""

from pondage.kernel.demand import PondKey
from pondage.simulate.whatif import Played, play_cron, play_eager
from tests.simulate.pipelines import SECOND, START, chain, pipeline, question, windowed


def runs(played: Played) -> dict[str, int]:
    return {one.pond: one.runs for one in played.figures.ponds}


def starts(played: Played, pond: str) -> list[int]:
    return [(run.start - START) // SECOND for run in played.recorder.runs[PondKey(pond)]]


def test_cron_runs_every_pond_once_in_an_interval_and_each_sink_after_its_sources() -> None:
    played = play_cron(question(chain(1, 2, 1), 30), 10 * SECOND, name="cron")
    assert runs(played) == {"p0": 3, "p1": 3, "p2": 3}
    assert starts(played, "p0") == [0, 10, 20]
    assert starts(played, "p1") == [1, 11, 21]
    assert starts(played, "p2") == [3, 13, 23]


def test_cron_takes_up_in_one_run_the_rounds_that_came_while_a_pond_was_busy() -> None:
    played = play_cron(question(chain(1, 25), 100), 10 * SECOND, name="cron")
    assert starts(played, "p0") == list(range(0, 100, 10))
    assert starts(played, "p1") == [1, 26, 51, 76]


def test_cron_waits_for_all_sources_of_a_round_and_eager_runs_for_each() -> None:
    diamond = pipeline({"a": ({}, 1), "b": ({}, 4), "c": ({"a": True, "b": True}, 1)})
    assert starts(play_cron(question(diamond, 20), 10 * SECOND, name="cron"), "c") == [4, 14]
    assert starts(play_eager(question(diamond, 20, a=10, b=10)), "c") == [4, 11, 14]


def test_eager_runs_an_inlet_at_every_change_and_its_sinks_at_every_publication() -> None:
    played = play_eager(question(chain(1, 3), 13, p0=2))
    assert starts(played, "p0") == [0, 2, 4, 6, 8, 10, 12]
    assert starts(played, "p1") == [1, 4, 7, 10]


def test_a_failed_run_is_given_up_and_the_next_round_tries_again() -> None:
    played = play_cron(question(chain(1, 1, failing={"p0": {2}}), 40), 10 * SECOND, name="cron")
    assert starts(played, "p0") == [0, 10, 20, 30]
    assert runs(played) == {"p0": 3, "p1": 3}
    assert starts(played, "p1") == [1, 21, 31]


def test_the_windows_of_an_inlet_set_its_freshness_and_eager_reads_it_once_in_each() -> None:
    asked = question(windowed(10, 5), 60)
    eager, cron = play_eager(asked), play_cron(asked, 3 * SECOND, name="cron")
    assert starts(eager, "in") == [0, 15, 30, 45]
    assert starts(cron, "in") == list(range(0, 60, 3))  # it knows nothing of windows and reads the same again
    for played in (eager, cron):
        freshnesses = {(run.freshness - START) // SECOND for run in played.recorder.completed[PondKey("in")]}
        assert freshnesses == {10, 25, 40, 55}
        assert all(run.delay == 10 * SECOND for run in played.recorder.completed[PondKey("out")])
