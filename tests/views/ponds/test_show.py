import pytest

from pondage.define.pond.definition import ExpectationDefinition
from pondage.errors import NotFound
from pondage.kernel.demand.events import Pulse
from pondage.kernel.demand.shape import PondKey
from pondage.views.plans.schema import columns
from pondage.views.ponds.rules import expectation_text
from pondage.views.ponds.show import PondShow, Shown, SnapshotShow, show
from pondage.views.runs.runs import RunDetailView
from tests.ledger.harness import World


def shown(world: World, subject: str) -> Shown:
    with world.ledger.reading() as tx:
        return show(tx, "main", subject)


def test_a_pond_shows_its_neighbours_and_that_it_has_never_run(world: World) -> None:
    view = shown(world, "sales")
    assert isinstance(view, PondShow)
    assert {(each.key, each.is_required) for each in view.sources} == {("orders@1", True), ("rates@1", False)}
    assert [each.key for each in view.sinks] == ["reports@1"]
    assert view.current_run is None
    assert {ripple.name: ripple.is_outlet for ripple in view.ripples} == {"clean": False, "sales": True}
    assert {ripple.published for ripple in view.ripples} == {None}


def test_a_published_pond_shows_schema_path_stable_name_and_table(world: World) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    view = shown(world, "sales@1")
    assert isinstance(view, PondShow)
    clean, sales = view.ripples
    assert (clean.table, sales.table) == ("sales.clean", "sales")
    assert sales.published is not None
    assert sales.published.stable == "tables/main/sales/v1/sales/CURRENT.json"
    assert sales.published.link == "tables/main/sales/v1/sales/current"
    assert [(each.name, each.type) for each in sales.published.columns] == [("n", "bigint")]
    assert sales.published.run == view.current_run


def test_a_run_and_a_snapshot_are_shown_by_their_ids(world: World) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    pond = shown(world, "sales")
    assert isinstance(pond, PondShow)
    assert pond.current_run is not None
    assert isinstance(shown(world, pond.current_run), RunDetailView)
    assert pond.ripples[1].published is not None
    snapshot = shown(world, pond.ripples[1].published.snapshot)
    assert isinstance(snapshot, SnapshotShow)
    assert (snapshot.pond, snapshot.ripple, snapshot.rows, snapshot.is_deleted) == ("sales@1", "sales", 1, False)
    assert pond.ripples[0].published is not None
    assert snapshot.inputs == {"clean": pond.ripples[0].published.snapshot}


@pytest.mark.parametrize("subject", ["nothing_like_it", "sales#7", "../../etc/passwd", ""])
def test_what_is_not_there_is_not_found(world: World, subject: str) -> None:
    with pytest.raises(NotFound):
        shown(world, subject)


def test_nested_types_are_written_as_sql_writes_them() -> None:
    schema = (
        '{"type":"struct","fields":[{"name":"tags","type":{"type":"array","elementType":"string","containsNull":true},'
        '"nullable":true},{"name":"m","type":{"type":"map","keyType":"string","valueType":{"type":"struct","fields":'
        '[{"name":"day","type":"date"}]}},"nullable":false},{"name":"amount","type":"decimal(10,2)"}]}'
    )
    assert [(each.name, each.type, each.nullable) for each in columns(schema)] == [
        ("tags", "array<string>", True),
        ("m", "map<string,struct<day:date>>", False),
        ("amount", "decimal(10,2)", True),
    ]
    assert columns("not json") == ()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (ExpectationDefinition(name="rows", kind="rows", minimum=1, maximum=9), "at least 1 and at most 9 rows"),
        (ExpectationDefinition(name="rows", kind="rows", minimum=1), "at least 1 row"),
        (ExpectationDefinition(name="b", kind="between", column="x", minimum=0), "x is at least 0"),
        (ExpectationDefinition(name="b", kind="between", column="x", maximum=9), "x is at most 9"),
        (ExpectationDefinition(name="n", kind="not_null", column="id"), "id is never null"),
        (ExpectationDefinition(name="b", kind="between", column="x", minimum=0, maximum=1), "x is between 0 and 1"),
        (ExpectationDefinition(name="i", kind="in_set", column="c", values=("a", "b")), "c is one of a, b"),
        (ExpectationDefinition(name="mine", kind="check", severity="warn"), "mine (only a warning)"),
    ],
)
def test_an_expectation_is_a_phrase(rule: ExpectationDefinition, words: str) -> None:
    assert expectation_text(rule) == words


def test_a_snapshot_answers_which_code_and_which_data_made_it(world: World) -> None:
    world.send(Pulse(pond=PondKey("sales@1")))
    world.worker().drain()
    run = shown(world, "sales#1")
    assert isinstance(run, RunDetailView)
    assert run.code.project == "p"
    assert run.code.deployed_at is not None
    snapshot = shown(world, next(each.snapshot for each in run.outputs if each.ripple == "clean"))
    assert isinstance(snapshot, SnapshotShow)
    assert snapshot.code == run.code
    assert {name: each.table for name, each in snapshot.read.items()} == {"orders": "orders@1.orders"}
    assert snapshot.inputs["rates"] is None, "an optional Source that had nothing yet"
    assert {each.run for each in snapshot.read.values()} <= {pin.run for pin in run.pins}
