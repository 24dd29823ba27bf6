"""Fixtures for the tests of a project: one Spark, tables of rows, files or published data, and Ripples to call.

`pondage test` brings them along; with `pytest` alone say `pytest_plugins = ["pondage.testing"]` in a `conftest.py`.

    def test_sales(table, run_ripple):
        orders = table([("a", 1)], "order_id string, quantity int")
        assert run_ripple(sales, orders=orders).count() == 1
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from pondage.define.pond.pond import Pond
from pondage.define.pond.run import Run
from pondage.errors import NotFound, PondageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from pondage.define.pond.definition import RippleDefinition
    from pondage.define.pond.ripple import Ripple
    from pondage.spark.ripple.ripple import RippleWork
    from pondage.spark.session.driver import SparkDriver
    from pondage.testing.flow_simulation import Fixture, Known, Simulated
    from pondage.work.snapshot import SnapshotContent

Rows = Sequence[Sequence[object]] | Sequence[Mapping[str, object]]


class MakeTable(Protocol):
    """The fixture `table`: rows, a CSV file or a sample of a published table as a DataFrame."""

    def __call__(
        self,
        rows: Rows | None = None,
        schema: str | StructType | None = None,
        *,
        csv: str | Path | None = None,
        snapshot: str | None = None,
        limit: int = 1_000,
    ) -> DataFrame:
        """Make a DataFrame of exactly one of `rows`, `csv` and `snapshot`."""


class RunRipple(Protocol):
    """The fixture `run_ripple`: one Ripple with these tables, as a worker would call it."""

    def __call__(
        self,
        pond: Pond,
        ripple: str | None = None,
        /,
        *,
        run: Run | None = None,
        expectations: bool = False,
        **inputs: DataFrame | None,
    ) -> DataFrame:
        """Call it and answer its rows; with `expectations` they are judged too."""


@pytest.fixture(scope="session")
def spark_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDriver]:
    """One local Spark for all tests, with the Java that Pondage finds: what `simulate` runs flows on."""
    from pondage.spark.jvm.settings import SparkSettings
    from pondage.spark.session.driver import SparkDriver

    driver = SparkDriver.start(SparkSettings(master="local[2]", memory="1g"), tmp_path_factory.mktemp("spark"))
    try:
        yield driver
    finally:
        driver.stop()


@pytest.fixture(scope="session")
def spark(spark_driver: SparkDriver) -> Iterator[SparkSession]:
    """A session of the Spark of all tests."""
    with spark_driver.attempt("tests", "tests of the project") as session:
        yield session


@pytest.fixture
def table(spark: SparkSession, request: pytest.FixtureRequest) -> MakeTable:
    """Make tables: `table(rows, schema)`, `table(csv="orders.csv", schema=…)`, `table(snapshot="sales.clean")`.

    Rows are tuples with a schema, or dictionaries. A CSV file has a header and is found beside the test. A snapshot is
    what the project's ledger shows as published, at most `limit` rows of it.
    """

    def make(
        rows: Rows | None = None,
        schema: str | StructType | None = None,
        *,
        csv: str | Path | None = None,
        snapshot: str | None = None,
        limit: int = 1_000,
    ) -> DataFrame:
        if sum(each is not None for each in (rows, csv, snapshot)) != 1:
            raise PondageError("table() takes one of rows, csv= and snapshot=", code="BAD_TABLE")
        if csv is not None:
            reader = spark.read.option("header", True)
            place = Path(request.path).parent / csv
            if not place.is_file():
                raise NotFound(f"there is no file {place}", code="NO_FILE", hint="paths are relative to the test")
            path = f"file:{place}"
            return reader.csv(path, inferSchema=True) if schema is None else reader.schema(schema).csv(path)
        if snapshot is not None:
            from pondage.spark.files.read import read_snapshot

            return read_snapshot(spark, published(snapshot, request.path)).limit(limit)
        made: DataFrame = spark.createDataFrame(list(rows or ()), schema)
        return made

    return make


@pytest.fixture
def run_ripple(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> RunRipple:
    """Call a Ripple as a worker does: `spark` and `run` are given, SQL is bound, what is missing is said.

    `run_ripple(sales, orders=…)` calls the Pond's only Ripple or the one of its name, `run_ripple(sales, "clean", …)`
    another one. A table that is followed (`changes=`) has the name that it has there: `run_ripple(trips, trips_raw=…)`.
    An optional Source may be left out. With `expectations=True` the rows are written to a temporary place
    and judged as a Run would judge them, but for `volume` and `foreign_key`; raises `ExpectationFailed`.
    """

    def call(
        pond: Pond,
        ripple: str | None = None,
        /,
        *,
        run: Run | None = None,
        expectations: bool = False,
        **inputs: DataFrame | None,
    ) -> DataFrame:
        from pondage.spark.ripple.ripple import call_ripple

        destination = tmp_path_factory.mktemp("rows") / "table"
        work, given = _work(pond, _named(pond, ripple), run, str(destination), inputs)
        frame = call_ripple(spark, work, {read.parameter: given.get(read.parameter) for read in work.ripple.tables})
        return _judged(spark, work, frame) if expectations else frame

    return call


def simulate(
    tree: str | bytes | Path | Mapping[str, object],
    fixtures: Mapping[str, Fixture] | None = None,
    *,
    spark: SparkDriver | None = None,
    components: Iterable[Callable[..., object]] = (),
    project: Path | None = None,
    timeout_s: float = 300.0,
) -> Simulated:
    """Run a tree of a flow in this process and answer how it went; raises FlowRefused with all that is wrong with it.

    `fixtures` stand for nodes: `{"src": {"main": rows}}` says what its outputs are, `{"src": ValueError("no")}` that it
    fails. Without `spark` nothing is computed: every other node ends well, and states and timeline show its shape.
    With it (the fixture `spark_driver`) the programs run on local Spark, and `rows` holds what the tree extracts. The
    programs are the library's, those of `project` (else: the one around the current directory), and `components`.
    """
    from pondage.define.job.flow import FlowRefused
    from pondage.project.tree import load_tree, load_tree_file
    from pondage.testing.flow_simulation import run_flow, shape_of

    if isinstance(tree, Path):
        loaded = load_tree_file(tree)
    else:
        loaded = load_tree(tree if isinstance(tree, str | bytes) else json.dumps(tree))
    if loaded.tree is None:
        raise FlowRefused(loaded.problems)
    known = _known(components, project)
    if spark is None:
        return shape_of(known.plan(loaded.tree), fixtures or {})
    return run_flow(loaded.tree, fixtures or {}, known, spark, timeout_s=timeout_s)


def _known(components: Iterable[Callable[..., object]], start: Path | None) -> Known:
    from pondage.components.registry import built_in, built_in_schemas
    from pondage.define.job.component import definition_of, schema_of
    from pondage.define.types.type_registry import BUILT_IN
    from pondage.errors import ProjectError
    from pondage.project.project import find_project
    from pondage.project.reader import read_declared
    from pondage.testing.flow_simulation import Known

    try:
        project = find_project(start or Path.cwd())
    except ProjectError as error:
        if error.code != "NO_PROJECT" or start is not None:
            raise
        project = None
    own = read_declared(project).components if project is not None and project.modules else ()
    given = [(found, one) for one in components if (found := definition_of(one)) is not None]
    schemas = {found.name: schema for found, one in given if (schema := schema_of(one)) is not None}
    return Known(
        registry={**built_in(), **{one.name: one for one in own}, **{found.name: found for found, _ in given}},
        schemas={**built_in_schemas(), **schemas},
        functions={found.entry: one for found, one in given},
        types={**BUILT_IN, **(project.types if project is not None else {})},
        locations=project.locations if project is not None else {},
        secrets=project.secrets if project is not None else {},
        root=project.root if project is not None else None,
    )


def published(name: str, start: Path) -> SnapshotContent:
    """Answer what readers see of a table (`sales`, `sales.clean`) in the project around `start`; raises `NotFound`."""
    from pondage.ledger.act import questions
    from pondage.ledger.data import snapshots
    from pondage.ledger.ledger import Ledger
    from pondage.ledger.tables.environments import environment_id
    from pondage.project.project import find_project

    project = find_project(start)
    ledger = Ledger.open(project.ledger, durability=project.durability, root=project.root)
    try:
        with ledger.reading() as tx:
            views = questions.published_views(
                tx, ledger, environment_id(tx, project.environment), name.partition(".")[0]
            )
            if name not in views:
                known = f"there is {', '.join(sorted(views))}" if views else "nothing of it was ever published"
                raise NotFound(f"there is no published table {name}; {known}", hint="pondage run POND", code="NO_TABLE")
            return snapshots.load(tx, [views[name]])[views[name]].content
    finally:
        ledger.close()


def _named(pond: Pond, ripple: str | None) -> str:
    if ripple is None and len(pond.ripples) > 1 and pond.name not in pond.ripples:
        raise PondageError(
            f"Pond {pond.name} has several Ripples", code="NO_RIPPLE", hint=f"name one: {', '.join(pond.ripples)}"
        )
    name = ripple or (pond.name if pond.name in pond.ripples else next(iter(pond.ripples)))
    if name not in pond.ripples:
        raise NotFound(
            f"Pond {pond.name} has no Ripple {name!r}", code="NO_RIPPLE", hint=f"it has {', '.join(pond.ripples)}"
        )
    return name


def _work(
    pond: Pond, name: str, run: Run | None, destination: str, inputs: Mapping[str, DataFrame | None]
) -> tuple[RippleWork, Mapping[str, DataFrame | None]]:
    """Answer the work of a Ripple, and its inputs by what it calls them."""
    from pondage.project.sql import read_sql_file
    from pondage.spark.ripple.ripple import RippleWork

    sql = {
        each.name: read_sql_file(Path(each.place.rpartition(":")[0]).parent / each.sql_path, place=each.place)
        for each in pond.ripples.values()
        if each.sql_path is not None
    }
    declared = pond.ripples[name]
    definition = pond.definition(f"tests:{pond.name}", sql=sql).ripple(name)
    given = _required(pond, definition, declared, inputs)
    work = RippleWork(
        pond=pond.name,
        ripple=definition,
        function=declared.function,
        inputs={},
        run=run or Run(freshness_us=time.time_ns() // 1_000, parameters=declared.parameters,
                       logger=logging.getLogger(f"pondage.ripple.{pond.name}.{name}")),
        destination=destination,
        checks={each.name: each.function for each in declared.expectations if each.function is not None},
        place=declared.place,
    )  # fmt: skip
    return work, given


def _required(
    pond: Pond, ripple: RippleDefinition, declared: Ripple, inputs: Mapping[str, DataFrame | None]
) -> Mapping[str, DataFrame | None]:
    """Answer the inputs by their parameters; raises `PondageError` for what is missing, or read by nobody."""
    known = {read.parameter: read for read in ripple.tables}
    followed = [read.parameter for read in ripple.tables if read.by_changes]
    # The definition has them in the order in which they are declared, under the whole names of their tables.
    names = dict(zip(dict.fromkeys(declared.changes), followed, strict=True))
    given = {names.get(name, name): frame for name, frame in inputs.items()}
    wrong = sorted(set(given) - set(known))
    missing = sorted(name for name, read in known.items() if not read.optional and given.get(name) is None)
    if wrong or missing:
        shown = {whole: short for short, whole in names.items()}
        said = [f"reads no {', '.join(wrong)}"] if wrong else []
        said += [f"was not given {', '.join(shown.get(name, name) for name in missing)}"] if missing else []
        raise PondageError(
            f"{pond.name}.{ripple.name} {' and '.join(said)}",
            code="BAD_INPUTS",
            hint=f"it reads {', '.join(shown.get(name, name) for name in known) or 'nothing'}",
        )
    return given


def _judged(spark: SparkSession, work: RippleWork, frame: DataFrame) -> DataFrame:
    from pondage.spark.files.read import read_snapshot
    from pondage.spark.rules.expectations import ExpectationPlan, Facts

    rules = tuple(rule for rule in work.ripple.expectations if rule.kind not in ("volume", "foreign_key"))
    plan = ExpectationPlan.decide(frame.schema, rules, work.checks, Facts(freshness_us=work.run.freshness_us))
    checked = plan.write(spark, frame, work.destination, where=work.where)
    return read_snapshot(spark, checked.files.as_content())
