"""Declared columns of a Source are checked against what the Source has published."""

from __future__ import annotations

import msgspec

from pondage.define.pond.definition import PondDefinition, ReadDefinition, RippleDefinition, SourceDefinition
from pondage.plan.deploy.planner import make_plan
from pondage.plan.deploy.values import Deployed, Plan

SALES = PondDefinition(name="sales", version="1.2.0", entry="ponds:sales", ripples=(RippleDefinition(name="clean"),))
FIELDS = [{"name": "id", "type": "long"}, {"name": "amount", "type": "double"}]
SCHEMA = msgspec.json.encode({"fields": FIELDS}).decode()
ON = (Deployed(definition=SALES, project="other"),)


def board(*columns: str) -> PondDefinition:
    read = ReadDefinition(parameter="clean", ripple="clean", pond="sales", columns=columns)
    return PondDefinition(
        name="board", version="1.0.0", entry="ponds:board", sources=(SourceDefinition(pond="sales"),),
        ripples=(RippleDefinition(name="board", reads=(read,)),), place="ponds.py:3",
    )  # fmt: skip


def plan(pond: PondDefinition, **schemas: str) -> Plan:
    known = {f"sales@1.{name}": schema for name, schema in schemas.items()}
    return make_plan([pond], ON, project="tests", schemas=known)


def test_a_declared_column_that_the_table_does_not_have_is_a_problem_before_anything_runs():
    (problem,) = plan(board("id", "price"), clean=SCHEMA).problems
    assert problem.code == "NO_SUCH_COLUMN"
    assert problem.message == (
        "Ripple board.board says that it reads column price of sales.clean, which has id, amount"
    )
    assert problem.place == "ponds.py:3"


def test_columns_that_are_there_or_not_known_yet_are_none():
    assert not plan(board("id"), clean=SCHEMA).problems
    assert not plan(board("price")).problems


def test_a_table_that_is_computed_anew_may_get_the_column():
    anew = make_plan([board("price"), SALES], (), project="tests", schemas={"sales@1.clean": SCHEMA})
    assert not anew.problems
