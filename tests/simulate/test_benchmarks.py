"""What the benchmarks stand on: the shipped day is the generator's, and a hop is two transactions in both loops."""

from pathlib import Path

from benchmarks.chain import LedgerChain
from benchmarks.support import office_day, readers_traces
from benchmarks.support.raw_loop import SqliteLoop
from pondage.kernel.demand import PondKey
from pondage.ledger.database.clock import HostClock
from pondage.ledger.database.sqlite import SqliteDriver
from pondage.simulate.reads import ReadLine


def test_the_shipped_day_of_consumption_is_the_one_that_the_generator_makes() -> None:
    made = [(one["at"], one["who"], one["rank"]) for one in office_day.make()]
    assert office_day.read() == made
    assert office_day.make(seed=1) != office_day.make(seed=2)


def test_a_hop_is_two_transactions_on_the_ledger_and_in_the_raw_loop(tmp_path: Path) -> None:
    ledger, raw = LedgerChain(SqliteDriver(tmp_path / "a.db", HostClock()), length=5), SqliteLoop(tmp_path / "b.db")
    assert [ledger.chain(), ledger.chain(), raw.chain(5)] == [11, 11, 11]
    ledger.check(2)
    ledger.close()
    raw.close()


def test_real_reads_are_moved_by_whole_weeks_into_the_week_that_counts() -> None:
    monday_at_nine = 1_767_603_600 // 60  # 2026-01-05, 09:00 UTC
    lines = [ReadLine(pond=PondKey("a@1"), minute=monday_at_nine + day * 1_440) for day in (0, 1, 7, 8)]
    lines.append(ReadLine(pond=PondKey("b@1"), minute=monday_at_nine))
    found = readers_traces.logged(lines)
    assert len(found) == 5
    assert sorted(rank for _, rank in found) == [0, 0, 0, 0, 1], "what is read most is the most popular"
    assert readers_traces.COUNTED <= found[-1][0] < readers_traces.END
    assert {at % readers_traces.WEEK_US for at, _ in found} == {
        line.minute * 60_000_000 % readers_traces.WEEK_US for line in lines
    }, "at the same time of the same weekday"


def test_the_made_up_readers_are_the_same_each_time_and_the_abandoned_one_is_gone_for_two_weeks() -> None:
    for kind in readers_traces.KINDS:
        found = readers_traces.make(kind)
        assert found == readers_traces.make(kind)
        assert readers_traces.START <= found[0][0] < found[-1][0] < readers_traces.END
    days = {(at - readers_traces.START) // (86_400 * 1_000_000) for at, _ in readers_traces.make("abandoned dashboard")}
    assert not days & set(range(readers_traces.ABANDONED + 1, readers_traces.FOUND - 1))
