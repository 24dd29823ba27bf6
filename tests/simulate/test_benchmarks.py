"""What the benchmarks stand on: the shipped day is the generator's, and a hop is two transactions in both loops."""

from pathlib import Path

from benchmarks.chain import LedgerChain
from benchmarks.support import office_day
from benchmarks.support.raw_loop import SqliteLoop
from pondage.ledger.database.clock import HostClock
from pondage.ledger.database.sqlite import SqliteDriver


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
