"""What Ponds and reactors promise each other is looked at before a deploy."""

from __future__ import annotations

import json

from pondage.define.pond.definition import FeedDefinition, PondDefinition, RippleDefinition
from pondage.define.reactor.reaction import AccumulatorDeclaration, ReactorDeclaration, ReactorDefinition
from pondage.define.values.names import PondKey
from pondage.plan.deploy.reactor_contracts import fed_problems, reactor_messages, reactor_problems
from pondage.plan.deploy.reactors import DeployedReactor
from tests.plan.deploy.test_planning import a_pond


def declaration(minimum: str | None = ">=1.2.0", pond: str = "orders") -> ReactorDeclaration:
    source = AccumulatorDeclaration(name="orders", kind="pond", pond=pond, minimum=minimum)
    return ReactorDeclaration(name="quote", accumulators=(source,))


def reads(minimum: str | None = ">=1.2.0") -> ReactorDefinition:
    return ReactorDefinition(declaration=declaration(minimum), entry="ponds:quote", digest="1", place="ponds.py:7")


def runs(minimum: str | None = ">=1.2.0") -> DeployedReactor:
    return DeployedReactor(declaration=declaration(minimum), digest="1", project="other")


def world(*versions: str) -> dict[PondKey, PondDefinition]:
    ponds = [a_pond("orders", version=version) for version in versions]
    return {PondKey(f"orders@{pond.major}"): pond for pond in ponds}


def test_a_reactor_whose_pond_would_be_too_old_refuses_the_plan():
    (problem,) = reactor_problems([reads()], [], before={}, after=world("1.1.0"))
    assert (problem.code, problem.place) == ("SOURCE_TOO_OLD", "ponds.py:7")
    assert problem.message == "reactor quote needs orders >=1.2.0, which would be 1.1.0"
    assert reactor_problems([reads()], [], before={}, after=world("1.2.0", "2.0.0")) == []
    assert reactor_problems([reads(None)], [], before={}, after=world("1.1.0")) == []


def test_a_reactor_of_another_project_that_is_fine_today_may_not_be_broken():
    (problem,) = reactor_problems([], [runs()], before=world("1.3.0"), after=world("1.1.0"))
    assert "(deployed by project 'other')" in problem.message
    assert reactor_problems([], [runs()], before=world("1.1.0"), after=world("1.1.0")) == [], "it was broken before"


def test_a_pond_that_a_reactor_reads_and_that_is_not_there_is_said():
    absent, newer = reactor_messages([reads()], [], before={}, after=world("2.0.0"))
    assert (absent.kind, absent.pond) == ("not_deployed", "orders@1")
    assert newer.text == 'reactor quote reads orders@1; @2 exists: write `Source("orders", ">=2")`'
    (gone,) = reactor_messages([], [runs()], before=world("1.2.0"), after=world("2.0.0"))
    assert (gone.kind, gone.text) == (
        "removed_source", "reactor quote reads orders@1, which is removed: it hears nothing of it any more"
    )  # fmt: skip
    assert reactor_messages([reads(None)], [runs(None)], before=world("1.2.0"), after=world("2.0.0")) == []


def schema(**columns: str) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def test_rows_of_a_reactors_pond_that_would_be_narrower_refuse_the_plan():
    feed = FeedDefinition(reactor="quote", period_us=0, schema=schema(px="double"))
    ripple = RippleDefinition(name="quotes", kind="feed", digest="1")
    pond = PondDefinition(name="quotes", version="1.1.0", entry="ponds:quote", ripples=(ripple,), feed=feed)
    (problem,) = fed_problems([pond], {PondKey("quotes@1"): schema(px="double", size="long")})
    assert problem.code == "CONTRACT"
    assert "Pond quotes of reactor quote breaks the contract" in problem.message
    assert "size" in problem.message
    assert fed_problems([pond], {PondKey("quotes@1"): schema(px="double")}) == []
    assert fed_problems([pond], {}) == []
