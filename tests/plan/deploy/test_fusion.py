"""Fusion: which Ripples become part of the one that reads them, which do not, and what a plan says about it."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.pond.definition import (
    ExpectationDefinition,
    PondDefinition,
    ReadDefinition,
    RippleDefinition,
    SourceDefinition,
)
from pondage.ledger.tables.pond_shape import shape_of
from pondage.plan.deploy.fusion import unfused
from pondage.plan.deploy.planner import make_plan
from pondage.plan.deploy.values import Deployed, Plan
from pondage.views.plans.plan import plan_view


def ripple(name: str, *reads: str, **more: object) -> RippleDefinition:
    parts = [each.split(".") for each in reads]
    found = tuple(
        ReadDefinition(parameter=each[-1], ripple=each[-1], pond=each[0] if len(each) > 1 else None) for each in parts
    )
    return RippleDefinition(name=name, reads=found, digest=f"of {name}", **more)  # type: ignore[arg-type]


def shop(*ripples: RippleDefinition, **more: object) -> PondDefinition:
    given = {"fuse": True, **more}
    return PondDefinition(
        name="shop", version="1.0.0", entry="ponds:shop", sources=(SourceDefinition(pond="raw"),), ripples=ripples,
        **given,  # type: ignore[arg-type]
    )  # fmt: skip


RAW = PondDefinition(name="raw", version="1.0.0", entry="ponds:raw", ripples=(ripple("raw"),))


def plan(*ponds: PondDefinition, on: tuple[Deployed, ...] = ()) -> Plan:
    return make_plan([RAW, *ponds], on, project="tests")


def made(found: Plan) -> PondDefinition:
    return next(pond for pond in found.ponds if pond.name == "shop")


def decisions(found: Plan) -> dict[str, str | None]:
    return {each.ripple: each.into for each in found.fusions}


def reason(found: Plan, name: str) -> str:
    return next(each.reason for each in found.fusions if each.ripple == name)


def test_an_inner_ripple_of_a_pond_that_asks_is_fused_and_is_no_node_of_the_machine():
    found = plan(shop(ripple("clean", "raw.raw"), ripple("daily", "clean")))
    assert not found.problems
    assert decisions(found) == {"clean": "daily"}
    pond = made(found)
    assert [each.name for each in pond.ripples] == ["daily"]
    assert [(each.parameter, each.pond, each.ripple) for each in pond.ripples[0].reads] == [("clean/raw", "raw", "raw")]
    assert dict(shape_of(pond).ripples) == {"daily": ()}
    assert pond.fused_into("clean") == "daily"


def test_the_consumer_takes_over_the_parents_of_a_chain():
    found = plan(
        shop(
            ripple("base", "raw.raw", materialize=True),
            ripple("clean", "base", "raw.raw"),
            ripple("joined", "clean", "base"),
            ripple("daily", "joined"),
        )
    )
    assert decisions(found) == {"base": None, "clean": "joined", "joined": "daily"}
    daily = made(found).ripple("daily")
    assert daily.parents == ("base",)
    assert [each.parameter for each in daily.reads] == ["clean/base", "clean/raw", "joined/base"]
    assert [each.name for each in daily.members] == ["clean", "joined"]
    assert shape_of(made(found)).ripples["daily"] == ("base",)


def test_taking_a_plan_apart_gives_what_was_declared():
    pond = shop(ripple("clean", "raw.raw"), ripple("wide", "clean", "raw.raw"), ripple("daily", "wide"))
    apart = unfused(made(plan(pond)))
    reads = {each.name: {(one.parameter, one.pond, one.ripple) for one in each.reads} for each in apart.ripples}
    assert reads == {each.name: {(one.parameter, one.pond, one.ripple) for one in each.reads} for each in pond.ripples}
    assert not any(each.fused for each in apart.ripples)


@pytest.mark.parametrize(
    ("ripples", "words"),
    [
        ((ripple("clean", "raw.raw"), ripple("a", "clean"), ripple("b", "clean")), "a and b read it"),
        (
            (
                ripple("clean", "raw.raw"),
                RippleDefinition(
                    name="a",
                    reads=(
                        ReadDefinition(parameter="x", ripple="clean"),
                        ReadDefinition(parameter="y", ripple="clean"),
                    ),
                ),
            ),
            "under 2 names",
        ),
        ((ripple("clean", "raw.raw", is_deterministic=False), ripple("a", "clean")), "deterministic=False"),
        (
            (
                ripple("clean", "raw.raw", expectations=(ExpectationDefinition(name="rows(1..)", kind="rows"),)),
                ripple("a", "clean"),
            ),
            "rows(1..) needs its rows",
        ),
        ((ripple("clean", "raw.raw", always=True), ripple("a", "clean")), "always=True"),
        ((ripple("clean"), ripple("a", "clean", "raw.raw")), "from outside"),
        ((ripple("clean", "raw.raw", kind="job"), ripple("a", "clean")), "a Job"),
    ],
)
def test_what_cannot_be_fused_is_written_and_refused_when_it_is_demanded(
    ripples: tuple[RippleDefinition, ...], words: str
):
    asked = plan(shop(*ripples))
    assert not asked.problems
    assert decisions(asked)["clean"] is None
    assert words in reason(asked, "clean")
    demanded = tuple(
        msgspec.structs.replace(each, materialize=False) if each.name == "clean" else each for each in ripples
    )
    refused = plan(shop(*demanded, fuse=False))
    assert [each.code for each in refused.problems] == ["CANNOT_FUSE"]
    assert words in refused.problems[0].message


@pytest.mark.parametrize(
    ("clean", "consumer", "words"),
    [
        (ripple("clean", "raw.raw", materialize=True), ripple("a", "clean"), "materialize=True"),
        (ripple("clean", "raw.raw", injects=("run",)), ripple("a", "clean"), "it asks for `run`"),
        (ripple("clean", "raw.raw", injects=("spark",)), ripple("a", "clean"), "it asks for `spark`"),
        (ripple("clean", "raw.raw"), ripple("a", "clean", injects=("run",)), "its consumer a asks for `run`"),
        (ripple("clean", "raw.raw", source="return raw.sample(0.5)"), ripple("a", "clean"), "calls sample()"),
        (ripple("clean", "raw.raw", source="SELECT *, UUID() FROM raw"), ripple("a", "clean"), "calls UUID()"),
        (ripple("clean", "raw.raw", timeout_s=3.0), ripple("a", "clean"), "other time limits"),
    ],
)
def test_what_may_not_be_safe_is_fused_only_when_its_author_says_so(
    clean: RippleDefinition, consumer: RippleDefinition, words: str
):
    found = plan(shop(clean, consumer))
    assert decisions(found) == {"clean": None}
    assert words in reason(found, "clean")
    said = plan(shop(msgspec.structs.replace(clean, materialize=False), consumer, fuse=False))
    assert not said.problems
    assert decisions(said) == {"clean": "a"}


def test_the_ripple_with_the_pond_s_name_and_one_in_another_mode_stay():
    assert "the Pond's name" in reason(plan(shop(ripple("shop", "raw.raw"), ripple("a", "shop"))), "shop")
    assert 'mode="append"' in reason(
        plan(shop(ripple("clean", "raw.raw"), ripple("a", "clean"), mode="append")), "clean"
    )


def test_a_pond_that_is_kept_up_to_date_is_fused_like_one_that_is_made_anew():
    found = plan(shop(ripple("clean", "raw.raw"), ripple("daily", "clean"), mode="auto"))
    assert decisions(found) == {"clean": "daily"}


def test_nothing_is_fused_in_a_pond_that_does_not_ask():
    found = plan(shop(ripple("clean", "raw.raw"), ripple("daily", "clean"), fuse=False))
    assert decisions(found) == {"clean": None}
    assert reason(found, "clean") == "the Pond does not say fuse=True"


def reader_of(name: str) -> PondDefinition:
    return PondDefinition(
        name="board", version="1.0.0", entry="ponds:board", sources=(SourceDefinition(pond="shop"),),
        ripples=(ripple("board", f"shop.{name}"),),
    )  # fmt: skip


PLAIN = shop(ripple("clean", "raw.raw"), ripple("daily", "clean"))


def test_a_table_that_another_pond_reads_stays():
    assert reason(plan(PLAIN, reader_of("clean")), "clean") == "Pond board reads its table"
    foreign = Deployed(
        definition=msgspec.structs.replace(reader_of("clean"), sources=(SourceDefinition(pond="shop", major=1),)),
        project="other",
    )
    assert decisions(plan(PLAIN, on=(foreign,))) == {"clean": None}


def test_a_later_reader_of_a_fused_ripple_is_told_what_to_do():
    ours = plan(PLAIN)
    deployed = [Deployed(definition=each, project="tests") for each in ours.ponds]
    theirs = make_plan([reader_of("clean")], deployed, project="other")
    assert [each.code for each in theirs.problems] == ["FUSED_RIPPLE"]
    assert "fused into shop.daily" in theirs.problems[0].message
    assert "materialize=True" in (theirs.problems[0].hint or "")


def test_a_change_of_a_fused_ripple_changes_its_consumer_and_runs_it():
    before = plan(PLAIN)
    deployed = tuple(Deployed(definition=each, project="tests") for each in before.ponds)
    other = shop(msgspec.structs.replace(PLAIN.ripples[0], digest="other"), PLAIN.ripples[1])
    change = plan(other, on=deployed).changed[0]
    assert [(each.name, each.what) for each in change.ripples] == [("daily", ("code", "settings"))]
    assert change.runs
    parameters = shop(msgspec.structs.replace(PLAIN.ripples[0], parameters={"x": 1}), PLAIN.ripples[1])
    assert plan(parameters, on=deployed).changed[0].runs
    assert plan(PLAIN, on=deployed).is_empty


def test_fusing_what_was_written_takes_a_table_away_so_it_calls_for_a_new_major():
    before = plan(msgspec.structs.replace(PLAIN, fuse=False))
    deployed = tuple(Deployed(definition=each, project="tests") for each in before.ponds)
    change = plan(PLAIN, on=deployed).changed[0]
    assert ("clean", "fused") in [(each.name, each.change) for each in change.ripples]
    assert (change.bump, change.proposed) == ("major", "2.0.0")


def test_what_comes_back_by_a_rollback_is_as_it_was():
    before = plan(msgspec.structs.replace(PLAIN, fuse=False))
    assert make_plan(list(before.ponds), [], project="tests", is_restored=True).ponds == before.ponds
    fused = plan(PLAIN)
    assert make_plan(list(fused.ponds), [], project="tests", is_restored=True).ponds == fused.ponds


def test_the_plan_says_what_is_fused_and_why_not():
    view = plan_view(
        plan(shop(ripple("clean", "raw.raw"), ripple("kept", "clean"), ripple("a", "kept"), ripple("b", "kept")))
    )
    pond = next(each for each in view.ponds if each.key == "shop@1")
    assert [(each.ripple, each.into) for each in pond.fusions] == [("clean", "kept"), ("kept", None)]
    assert pond.fusions[0].reason == "safe, and the Pond says fuse=True"
    assert pond.fusions[1].reason == "a and b read it, so it would be computed 2 times"
