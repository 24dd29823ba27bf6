"""Running a case of incremental maintenance on Spark, step by step, and comparing each result with what it must be."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from pondage.conform.incremental_ponds import PondsOfCases, names_of
from pondage.conform.incremental_scenario import Change, IncrementalCase, Row, is_same_bag, plain
from pondage.conform.verdict import Mismatch, Report, Verdict
from pondage.errors import PondageError
from pondage.plan.incremental.algebra import Sign
from pondage.spark.files.read import read_snapshot
from pondage.spark.incremental.catalyst import Catalyst, marked
from pondage.spark.incremental.maintained import Outcome, Previous, maintain
from pondage.spark.incremental.substituted import Table
from pondage.spark.jvm.settings import SparkSettings
from pondage.spark.session.driver import SparkDriver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Read = Callable[[], DataFrame]


class StepOfCase(msgspec.Struct, frozen=True, kw_only=True):
    """What one step did: its strategy, and why; `rows` is the table after it."""

    how: str
    reason: str
    rows: list[Row]


def play_incremental(cases: Sequence[IncrementalCase], *, no_cost: bool) -> Report:
    """Play each case as deployed Ponds, with one ledger and one Spark that are made for them."""
    with TemporaryDirectory(prefix="pondage-conform-") as name:
        place = Path(name)
        driver = SparkDriver.start(SparkSettings(memory="1g", cores=2), place / "spark")
        try:
            ponds = PondsOfCases(cases, place, driver)
            try:
                verdicts = [_played(ponds, number, case, driver, no_cost=no_cost) for number, case in enumerate(cases)]
            finally:
                ponds.close()
        finally:
            driver.stop()
    return Report(verdicts=verdicts)


def _played(ponds: PondsOfCases, number: int, case: IncrementalCase, driver: SparkDriver, *, no_cost: bool) -> Verdict:
    found: list[tuple[str, object, object]] = []
    begin = {name: Change(plus=table.rows) for name, table in case.tables.items()}
    for step, changes in enumerate([begin, *case.steps]):
        try:
            content = ponds.run(number, changes)
        except PondageError as error:
            found.append((f"step {step} did not end", "a result", error.message))
            break
        with driver.attempt(f"conform-{number}-{step}", case.name) as session:
            rows: list[Row] = [[plain(value) for value in row] for row in read_snapshot(session, content).collect()]
        done = content.upkeep
        assert done is not None, "a table that is kept up to date says how"
        if not is_same_bag(rows, case.expected[step]):
            found.append((f"table after step {step} ({done.how}: {done.said})", case.expected[step], rows))
        if step and no_cost and case.is_too_weak_in_ponds(done.how):
            found.append((f"strategy of step {step} ({done.said})", case.strongest, done.how))
    mismatches = [Mismatch(order="", what=what, expected=wanted, got=got) for what, wanted, got in found]
    return Verdict(id=case.name, title=case.trap or case.sql, mismatches=mismatches)


def check_incremental(case: IncrementalCase, session: SparkSession, place: Path, *, no_cost: bool) -> Verdict:
    """Run a case by the rules alone, with states as files below an empty directory, and compare after each step.

    With `no_cost` a strategy that is weaker than the strongest provable one is a mismatch, too.
    """
    mismatches = [
        Mismatch(order="", what=what, expected=expected, got=got)
        for what, expected, got in _differences(case, session, place, no_cost=no_cost)
    ]
    return Verdict(id=case.name, title=case.trap or case.sql, mismatches=mismatches)


def _differences(
    case: IncrementalCase, session: SparkSession, place: Path, *, no_cost: bool
) -> Iterator[tuple[str, object, object]]:
    for number, step in enumerate(steps(case, session, place)):
        wanted = case.expected[number]
        if not is_same_bag(step.rows, wanted):
            yield f"table after step {number} ({step.how}: {step.reason})", wanted, step.rows
        if number and no_cost and case.is_too_weak(step.how):
            yield f"strategy of step {number} ({step.reason})", case.strongest, step.how


def steps(case: IncrementalCase, session: SparkSession, place: Path) -> Iterator[StepOfCase]:
    """Go through the case: the first full computation, then one Run for each step on what the last one left."""
    catalyst = Catalyst(session)
    versions = {name: case.versions(name) for name in case.tables}
    previous: Previous | None = None
    for number in range(len(case.steps) + 1):
        changes = case.steps[number - 1] if number else {}
        tables = {
            name: _table(session, case, name, place, versions[name], number, changes.get(name, Change()))
            for name in case.tables
        }
        for name, table in tables.items():
            marked(table.new(), name).createOrReplaceTempView(name)
        kinds: dict[str, Sign] = {name: table.sign for name, table in case.tables.items()}
        outcome = maintain(catalyst, session.sql(case.sql), tables, kinds, previous)
        previous, rows = _written(session, outcome, place / f"run{number}")
        yield StepOfCase(how=outcome.how, reason=outcome.reason, rows=rows)
    shutil.rmtree(place, ignore_errors=True)


def _written(session: SparkSession, outcome: Outcome, place: Path) -> tuple[Previous | None, list[Row]]:
    """Write the states, then the table that is made of them, as a Run does; answer what the next one goes on from."""
    states = [_stored(session, each, place / f"state{number}") for number, each in enumerate(outcome.states)]
    table = _stored(session, outcome.table([read() for read in states]), place / "table")
    rows: list[Row] = [[plain(value) for value in row] for row in table().collect()]
    if outcome.remembered is None:
        return None, rows
    return Previous(remembered=outcome.remembered, table=table, states=states), rows


def _stored(session: SparkSession, frame: DataFrame, place: Path) -> Read:
    schema = frame.schema
    frame.write.parquet(str(place))
    return lambda: session.read.schema(schema).parquet(str(place))


def _table(
    session: SparkSession, case: IncrementalCase, name: str, place: Path, versions: Sequence[list[Row]], number: int,
    change: Change,
) -> Table:  # fmt: skip
    schema = case.tables[name].schema
    place = place / "tables"
    new = _landed(session, schema, place / f"{name}-{number}.json", versions[number])
    old = _landed(session, schema, place / f"{name}-{max(number - 1, 0)}.json", versions[max(number - 1, 0)])
    plus = _landed(session, schema, place / f"{name}-{number}-plus.json", change.plus)
    minus = _landed(session, schema, place / f"{name}-{number}-minus.json", change.minus)
    return Table(new=new, old=old, plus=plus if change.plus else None, minus=minus if change.minus else None)


def _landed(session: SparkSession, schema: str, place: Path, rows: Sequence[Row]) -> Read:
    """Write rows as a file that Spark reads with the table's schema."""
    names = names_of(schema)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"\n".join(msgspec.json.encode(dict(zip(names, row, strict=True))) for row in rows))
    return lambda: session.read.schema(schema).json(str(place))
