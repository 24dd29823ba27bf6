"""Schemas in a plan: which are asked for, what differs, which version that calls for, what computes anew."""

from __future__ import annotations

import json

import msgspec
import pytest

from pondage.define.pond.definition import PondDefinition, SourceDefinition
from pondage.plan.deploy.graph import in_order, key_of
from pondage.plan.deploy.planner import make_plan
from pondage.plan.deploy.schemas import Column, analysed, column_changes, larger, schema_bump
from pondage.plan.deploy.values import Plan
from tests.plan.deploy.test_planning import a_pond, deployed, ripple


def schema(**columns: object) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def test_columns_are_added_removed_and_get_other_types():
    before = schema(a="long", b="string", c="date")
    after = schema(c="date", b="integer", d={"type": "array", "elementType": "long", "containsNull": True})
    assert column_changes(before, after) == (
        Column(name="b", before="string", after="integer"),
        Column(name="a", before="long"),
        Column(name="d", after={"type": "array", "elementType": "long", "containsNull": True}),
    )
    assert column_changes(before, before) == ()
    assert column_changes("nonsense", schema()) == ()


def test_whether_a_column_may_be_null_does_not_count():
    assert column_changes(schema(a="long"), schema(a="long").replace("true", "false")) == ()


@pytest.mark.parametrize(
    ("columns", "breaks", "bump"),
    [([], [], None), ([Column(name="a")], [], "minor"), ([Column(name="a")], ["a was removed"], "major")],
)
def test_readers_decide_the_bump(columns, breaks, bump):
    assert schema_bump(columns, breaks) == bump


def test_the_larger_bump_covers_both():
    assert larger("patch", "minor") == "minor"
    assert larger(None, "patch") == "patch"
    assert larger("major", None) == "major"
    assert larger(None, None) is None


def changed(plan: Plan, name: str) -> Plan:
    """The same project with other code in one Pond."""
    ponds = [
        msgspec.structs.replace(pond, ripples=tuple(msgspec.structs.replace(each, digest="2") for each in pond.ripples))
        if pond.name == name
        else pond
        for pond in plan.ponds
    ]
    return make_plan(ponds, deployed(plan), project="shop")


@pytest.fixture
def shop() -> Plan:
    ponds = [a_pond("orders"), a_pond("rates"), a_pond("sales", "orders", "rates"), a_pond("aaa", "sales")]
    return make_plan(ponds, [], project="shop")


def test_what_changed_and_everything_below_computes_anew_in_order(shop: Plan):
    assert shop.recomputes == ("orders@1", "rates@1", "sales@1", "aaa@1")
    assert changed(shop, "sales").recomputes == ("sales@1", "aaa@1")
    assert changed(shop, "rates").recomputes == ("rates@1", "sales@1", "aaa@1")
    assert make_plan(shop.ponds, deployed(shop), project="shop").recomputes == ()


def test_a_table_that_grows_goes_on_with_its_next_batch_unless_what_it_reads_begins_anew():
    def growing(name: str, *sources: str) -> PondDefinition:
        return msgspec.structs.replace(a_pond(name, *sources), mode="append")

    ponds = [
        growing("raw"),
        growing("clean", "raw"),
        a_pond("board", "clean"),
        a_pond("rates"),
        growing("rows", "rates"),
    ]
    first = make_plan(ponds, [], project="shop")
    assert first.goes_on == ()
    again = changed(first, "raw")
    assert (again.recomputes, again.goes_on) == (("raw@1", "clean@1", "board@1"), ("raw@1", "clean@1"))
    assert changed(first, "rates").goes_on == ()
    replaced = [msgspec.structs.replace(pond, mode="replace") if pond.name == "raw" else pond for pond in first.ponds]
    assert make_plan(replaced, deployed(first), project="shop").goes_on == ()


def test_ponds_of_other_projects_below_compute_anew_too(shop: Plan):
    other = make_plan([a_pond("board", "aaa")], deployed(shop), project="other")
    after = make_plan(
        [msgspec.structs.replace(pond, ripples=(ripple(pond.name, digest="9"),)) for pond in shop.ponds[:1]]
        + list(shop.ponds[1:]),
        deployed(shop) + [msgspec.structs.replace(each, project="other") for each in deployed(other)],
        project="shop",
    )
    assert "board@1" in after.recomputes


def test_an_unchanged_inlet_is_not_called_and_a_changed_one_is(shop: Plan):
    known = [f"{pond.name}@1.{pond.name}" for pond in shop.ponds]
    ponds, asked = analysed(changed(shop, "sales"), known, ["orders@1.orders", "rates@1.rates", "aaa@1.aaa"])
    assert [pond.name for pond in ponds] == ["orders", "rates", "sales", "aaa"]
    assert asked == ["sales@1.sales", "aaa@1.aaa"]
    _, asked = analysed(changed(shop, "orders"), known, ["rates@1.rates"])
    assert asked == ["orders@1.orders", "sales@1.sales", "aaa@1.aaa"]


def test_what_never_published_is_asked_for_too(shop: Plan):
    _, asked = analysed(changed(shop, "sales"), [], ["orders@1.orders"])
    assert asked == ["orders@1.orders", "rates@1.rates", "sales@1.sales", "aaa@1.aaa"]


def test_ponds_that_wait_for_each_other_have_no_order():
    a = a_pond("a", SourceDefinition(pond="b", major=1))
    b = a_pond("b", SourceDefinition(pond="a", major=1))
    assert in_order({key_of(a): a, key_of(b): b}) == ()
