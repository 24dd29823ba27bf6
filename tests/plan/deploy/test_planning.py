"""Plans: what a deploy would change, what it binds, what it refuses."""

from __future__ import annotations

import msgspec
import pytest

from pondage.define.pond.definition import (
    ExpectationDefinition,
    PondDefinition,
    ReadDefinition,
    RippleDefinition,
    SourceDefinition,
    TideDefinition,
    Triggers,
    WindowDefinition,
)
from pondage.define.pond.partition import PartitionColumn, PartitionDefinition
from pondage.define.pond.verification import Verification
from pondage.plan.deploy.planner import PlanError, checked, make_plan
from pondage.plan.deploy.values import Deployed, Plan
from pondage.views.plans.plan import plan_view


def ripple(name: str, *reads: str, digest: str = "1", **more: object) -> RippleDefinition:
    parts = [each.split(".") for each in reads]
    found = tuple(
        ReadDefinition(parameter=each[-1], ripple=each[-1], pond=each[0] if len(each) > 1 else None) for each in parts
    )
    return RippleDefinition(name=name, reads=found, digest=digest, **more)  # type: ignore[arg-type]


def a_pond(
    name: str, *sources: SourceDefinition | str, version: str = "1.0.0", ripples: tuple[RippleDefinition, ...] = ()
) -> PondDefinition:
    given = tuple(SourceDefinition(pond=each) if isinstance(each, str) else each for each in sources)
    own = ripples or (ripple(name, *(f"{each.pond}.{each.pond}" for each in given)),)
    return PondDefinition(
        name=name, version=version, entry=f"ponds:{name}", sources=given, ripples=own, place=f"ponds.py:{len(name)}"
    )


def deployed(plan: Plan) -> list[Deployed]:
    return [Deployed(definition=pond, project=plan.project, environment=plan.environment) for pond in plan.ponds]


def plan(*ponds: PondDefinition, on: list[Deployed] | None = None, project: str = "shop") -> Plan:
    return make_plan(ponds, on or [], project=project)


def codes(made: Plan) -> list[str]:
    return [problem.code for problem in made.problems]


def test_everything_is_new_on_an_empty_ledger():
    made = plan(a_pond("orders"), a_pond("sales", "orders"))
    assert made.added == ("orders@1", "sales@1")
    assert not made.problems
    assert not made.messages
    assert checked(made) is made


def test_deploying_the_same_again_changes_nothing_even_from_another_archive_or_line():
    made = plan(a_pond("orders"), a_pond("sales", "orders"))
    there = [
        msgspec.structs.replace(each, definition=msgspec.structs.replace(each.definition, archive="a", place="b:9"))
        for each in deployed(made)
    ]
    again = plan(a_pond("orders"), a_pond("sales", "orders"), on=there)
    assert again.is_empty
    assert again.unchanged == ("orders@1", "sales@1")


def test_changed_code_is_shown_by_ripple_and_is_called_no_patch_before_it_is_analysed():
    made = plan(a_pond("orders"))
    again = plan(a_pond("orders", ripples=(ripple("orders", digest="2"),)), on=deployed(made))
    change = again.changed[0]
    assert [(each.name, each.what) for each in change.ripples] == [("orders", ("code",))]
    assert (change.bump, change.proposed, change.is_size_known, change.runs) == (None, None, False, True)
    assert [each.text for each in again.messages] == ["orders@1: size not known; `--analyze` tells (it is 1.0.0)"]


def test_an_added_ripple_is_a_minor_change_and_a_removed_one_a_major_change():
    one, two = ripple("one"), ripple("two")
    made = plan(a_pond("orders", ripples=(one,)))
    grown = plan(a_pond("orders", ripples=(one, two)), on=deployed(made))
    assert (grown.changed[0].bump, grown.changed[0].proposed) == ("minor", "1.1.0")
    assert [(each.name, each.change) for each in grown.changed[0].ripples] == [("two", "added")]
    shrunk = plan(a_pond("orders", ripples=(one,)), on=deployed(plan(a_pond("orders", ripples=(one, two)))))
    assert (shrunk.changed[0].bump, shrunk.changed[0].proposed) == ("major", "2.0.0")


def test_an_author_who_raised_the_version_gets_no_proposal():
    made = plan(a_pond("orders"))
    again = plan(a_pond("orders", version="1.1.0", ripples=(ripple("orders", digest="2"),)), on=deployed(made))
    assert again.changed[0].bump is None
    assert again.changed[0].what == ("version",)
    assert not again.messages


def test_triggers_windows_and_expectations_are_shown_but_make_nothing_run():
    made = plan(a_pond("orders"))
    other = msgspec.structs.replace(
        a_pond("orders", ripples=(ripple("orders", expectations=(ExpectationDefinition(name="r", kind="rows"),)),)),
        triggers=Triggers(tides=(TideDefinition(limit_us=5),)),
        windows=(WindowDefinition(start="02:00"),),
    )
    change = plan(other, on=deployed(made)).changed[0]
    assert change.what == ("windows", "triggers")
    assert change.ripples[0].what == ("expectations",)
    assert not change.runs
    assert change.bump is None


def test_a_pond_that_is_no_longer_declared_is_removed():
    made = plan(a_pond("orders"), a_pond("sales", "orders"))
    again = plan(a_pond("sales", "orders"), on=deployed(made))
    assert again.removed == ("orders@1",)
    assert [message.kind for message in again.messages] == ["not_deployed"]


def test_a_sink_may_be_deployed_before_its_source_and_the_plan_says_so():
    made = plan(a_pond("sales", "orders"))
    assert not made.problems
    assert made.messages[0].kind == "not_deployed"
    assert "orders@1 is not deployed" in made.messages[0].text
    assert "did you mean" not in made.messages[0].text


def test_a_source_that_is_almost_a_pond_of_the_project_is_asked_about():
    made = plan(a_pond("visits"), a_pond("sales", "vists"))
    assert "did you mean visits?" in made.messages[0].text


def test_a_minimum_binds_within_its_major():
    made = plan(
        a_pond("fx", version="1.3.0"),
        a_pond("fx", version="2.0.0"),
        a_pond("sales", SourceDefinition(pond="fx", minimum=(1, 2, 0))),
    )
    assert not made.problems
    assert made.added == ("fx@1", "fx@2", "sales@1")
    assert made.ponds[2].sources[0].major == 1


def test_without_a_minimum_the_major_of_the_same_project_then_the_newest_deployed_then_one_is_bound():
    there = [Deployed(definition=a_pond("fx", version=f"{major}.0.0"), project="bank") for major in (1, 3)]
    there.append(Deployed(definition=a_pond("rates", version="4.0.0"), project="bank"))
    made = plan(a_pond("rates", version="2.0.0"), a_pond("sales", "fx", "rates", "other"), on=there)
    assert [source.major for source in made.ponds[1].sources] == [3, 2, 1]


def test_a_source_that_is_older_than_the_minimum_is_refused():
    made = plan(a_pond("fx", version="1.1.0"), a_pond("sales", SourceDefinition(pond="fx", minimum=(1, 2, 0))))
    assert codes(made) == ["SOURCE_TOO_OLD"]
    assert "needs fx >=1.2.0, which would be 1.1.0" in made.problems[0].message


def test_a_downgrade_below_the_minimum_of_another_projects_sink_is_refused():
    bank = plan(a_pond("fx", version="1.3.0"), project="bank")
    sink = a_pond("sales", SourceDefinition(pond="fx", minimum=(1, 2, 0)))
    shop = plan(sink, on=deployed(bank))
    back = plan(a_pond("fx", version="1.1.0"), on=[*deployed(bank), *deployed(shop)], project="bank")
    assert codes(back) == ["SOURCE_TOO_OLD"]
    assert "'shop'" in back.problems[0].message
    still = plan(a_pond("fx", version="1.2.0"), on=[*deployed(bank), *deployed(shop)], project="bank")
    assert not still.problems


def test_removing_a_ripple_that_another_project_reads_is_refused():
    bank = plan(a_pond("fx", ripples=(ripple("fx"), ripple("old"))), project="bank")
    shop = plan(a_pond("sales", "fx", ripples=(ripple("sales", "fx.old"),)), on=deployed(bank))
    back = plan(a_pond("fx"), on=[*deployed(bank), *deployed(shop)], project="bank")
    assert codes(back) == ["NO_SUCH_RIPPLE"]


def test_cycles_between_ponds_are_refused_with_the_path():
    made = plan(a_pond("a", "c"), a_pond("b", "a"), a_pond("c", "b"))
    assert codes(made) == ["CYCLE"]
    assert "a@1 -> b@1 -> c@1 -> a@1" in made.problems[0].message


def test_a_cycle_through_another_project_is_refused_too():
    other = plan(a_pond("b", "a"), project="other")
    assert "CYCLE" in codes(plan(a_pond("a", "b"), on=deployed(other)))


def test_a_ripple_that_the_source_does_not_have_is_refused():
    made = plan(a_pond("orders"), a_pond("sales", "orders", ripples=(ripple("sales", "orders.raw"),)))
    assert codes(made) == ["NO_SUCH_RIPPLE"]
    assert "its Ripples are orders" in (made.problems[0].hint or "")


def test_a_project_changes_only_its_own_ponds():
    other = plan(a_pond("orders"), project="warehouse")
    made = plan(a_pond("orders"), on=deployed(other))
    assert codes(made) == ["OTHER_PROJECT"]
    assert "'warehouse'" in made.problems[0].message


def test_another_environment_does_not_count():
    there = [Deployed(definition=a_pond("orders"), project="warehouse", environment="test")]
    assert not plan(a_pond("orders"), on=there).problems


def test_all_problems_are_raised_at_once():
    other = plan(a_pond("orders"), project="warehouse")
    made = plan(a_pond("orders", "sales"), a_pond("sales", "orders"), on=deployed(other))
    with pytest.raises(PlanError) as caught:
        checked(made)
    assert {problem.code for problem in caught.value.problems} == {"OTHER_PROJECT", "CYCLE"}
    assert "[CYCLE]" in caught.value.message


def test_the_digest_of_a_plan_says_that_something_else_was_deployed():
    shown = plan(a_pond("orders"))
    assert plan(a_pond("orders")).digest == shown.digest
    between = [Deployed(definition=a_pond("fx"), project="bank")]
    assert plan(a_pond("orders"), on=between).digest != shown.digest


def test_a_plan_travels_as_json():
    made = plan(a_pond("orders"), a_pond("sales", "orders"))
    assert msgspec.json.decode(msgspec.json.encode(made), type=Plan) == made


def test_a_long_chain_needs_no_recursion():
    ponds = [a_pond("p0"), *(a_pond(f"p{n}", f"p{n - 1}") for n in range(1, 5_000))]
    made = plan(*ponds)
    assert not made.problems


def test_to_be_kept_up_to_date_is_the_same_contract_and_runs_nothing():
    whole = a_pond("raw")
    kept = msgspec.structs.replace(whole, mode="auto", verify=Verification(first=3, every=50))
    for before, after in ((whole, kept), (kept, whole)):
        (changed,) = plan(after, on=deployed(plan(before))).changed
        assert (changed.bump, changed.runs, changed.what) == (None, False, ("mode", "verify"))
    assert plan_view(plan(kept, on=deployed(plan(whole)))).ponds[0].what[0] == "mode replace -> auto"


def test_a_plan_says_by_what_a_table_is_in_partitions_and_that_other_ones_are_another_contract():
    by = [PartitionDefinition(by=(PartitionColumn(column=name),)) for name in ("day", "region")]
    day, region = (msgspec.structs.replace(a_pond("raw"), mode="partition", partition=each) for each in by)
    first = plan(day)
    assert plan_view(first).ponds[0].what == ("mode partition by day",)
    (changed,) = plan(region, on=deployed(first)).changed
    assert (changed.bump, changed.runs, changed.what) == ("major", True, ("partition",))
    view = plan_view(plan(region, on=deployed(first)))
    assert view.ponds[0].what == ("mode partition by day -> partition by region",)
    later = msgspec.structs.replace(day, partition=msgspec.structs.replace(by[0], within_us=5))
    (changed,) = plan(later, on=deployed(first)).changed
    assert (changed.bump, changed.what, changed.runs) == (None, ("partition",), False)
