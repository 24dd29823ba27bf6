"""Plans with the schemas that a worker found: how large a change is, and what a moved reader would miss."""

from __future__ import annotations

import json

from pondage.define.pond.definition import SourceDefinition
from pondage.views.plans.analysis import with_schemas
from pondage.views.plans.plan import PlanView, plan_view
from pondage.work.answers import InferredSchema
from tests.plan.deploy.test_planning import a_pond, deployed, plan, ripple


def schema(*columns: str) -> str:
    fields = [{"name": each, "type": "long", "nullable": True, "metadata": {}} for each in columns]
    return json.dumps({"type": "struct", "fields": fields})


def analysed(*found: InferredSchema) -> PlanView:
    """The plan of other code in `orders`, whose table has one column."""
    made = plan(a_pond("orders", ripples=(ripple("orders", digest="2"),)), on=deployed(plan(a_pond("orders"))))
    return with_schemas(plan_view(made), made, found, {"orders@1.orders": schema("n")})


def said(view: PlanView) -> list[str]:
    return [each.text for each in view.messages if each.kind == "version"]


def test_a_change_that_leaves_the_columns_as_they_were_is_a_patch_once_that_is_known():
    view = analysed(InferredSchema(table="orders@1.orders", schema=schema("n")))
    assert said(view) == ["orders@1: a patch change; version 1.0.1 would say so (it is 1.0.0)"]


def test_a_change_that_adds_a_column_is_minor_and_one_that_takes_one_away_major():
    grown = analysed(InferredSchema(table="orders@1.orders", schema=schema("n", "m")))
    assert said(grown) == ["orders@1: a minor change; version 1.1.0 would say so (it is 1.0.0)"]
    broken = InferredSchema(table="orders@1.orders", schema=schema("m"), breaks=("column n (bigint) was removed",))
    shrunk = analysed(broken)
    assert said(shrunk) == ["orders@1: a major change; version 2.0.0 would say so (it is 1.0.0)"]
    assert [each.code for each in shrunk.problems] == ["CONTRACT"]


def test_a_change_that_could_not_be_analysed_has_no_size():
    for found in ((), (InferredSchema(table="orders@1.orders", problem="it calls count()", code="X"),)):
        assert said(analysed(*found)) == ["orders@1: size not known: not all of it could be analysed (it is 1.0.0)"]


def test_a_reader_that_moves_to_a_major_without_its_columns_is_refused():
    one, two = a_pond("kinds"), a_pond("kinds", version="2.0.0")
    before = deployed(plan(one, a_pond("board", "kinds")))
    made = plan(one, two, a_pond("board", SourceDefinition(pond="kinds", minimum=(2, 0, 0))), on=before)
    missing = InferredSchema(
        table="board@1.board", code="RIPPLE_FAILED", problem="board.board: [UNRESOLVED_COLUMN] A column with name `n` …"
    )
    view = with_schemas(plan_view(made), made, [missing], {})
    assert [(each.code, each.pond) for each in view.problems] == [("NO_SUCH_COLUMN", "board@1")]
