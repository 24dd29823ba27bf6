"""What the command line says about fused Ripples."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pondage.views.plans.plan import PlanView
from pondage.views.ponds.show import PondShow
from pondage.views.ponds.status import StatusView
from tests.cli.conftest import Call
from tests.cli.workers import FakeWorkers

PONDS = """
from pondage import Pond, pond

@pond
def raw(spark):
    return spark.range(3)

shop = Pond("shop", fuse=True)
source = shop.source("raw")

@shop.ripple(reads={"raw": source["raw"]})
def clean(raw):
    return raw

@shop.ripple
def wide(clean):
    return clean

@shop.ripple
def totals(wide):
    return wide

@shop.ripple
def summary(wide):
    return wide
"""


def test_plan_status_and_show_say_what_is_fused(project: Path, workers: FakeWorkers, call: Call) -> None:
    (project / "ponds.py").write_text(PONDS)
    said = call("plan").out
    assert "      clean: fused into wide (safe, and the Pond says fuse=True)\n" in said
    assert "      wide: written (totals and summary read it, so it would be computed 2 times)\n" in said
    planned = msgspec.json.decode(call("plan", "--json").out, type=PlanView)
    (shop,) = (each for each in planned.ponds if each.key == "shop@1")
    assert [(each.ripple, each.into) for each in shop.fusions] == [("clean", "wide"), ("wide", None)]
    assert call("deploy").code == 0
    assert "fused into" not in call("plan").out, "an unchanged Pond is one line"
    assert call("run", "shop").code == 0
    status = msgspec.json.decode(call("status", "--json").out, type=StatusView)
    assert {pond.key: pond.fused for pond in status.ponds} == {"raw@1": {}, "shop@1": {"clean": "wide"}}
    assert "fused in" in call("show", "shop").out
    shown = msgspec.json.decode(call("show", "shop", "--json").out, type=PondShow)
    assert {each.name: each.fused for each in shown.ripples} == {"wide": ("clean",), "totals": (), "summary": ()}


def test_a_fused_ripple_can_be_looked_at_with_a_sample(project: Path, workers: FakeWorkers, call: Call) -> None:
    (project / "ponds.py").write_text(PONDS)
    assert call("deploy").code == 0
    assert call("run", "shop").code == 0
    said = call("run", "shop.clean", "--sample")
    assert said.code == 0, said.err
    assert "shop.clean:" in said.out


def test_what_cannot_be_fused_is_refused_with_the_reason(project: Path, call: Call) -> None:
    ponds = PONDS.replace("@shop.ripple\ndef wide", "@shop.ripple(materialize=False)\ndef wide")
    (project / "ponds.py").write_text(ponds)
    said = call("deploy")
    assert said.code == 1
    assert "CANNOT_FUSE" in said.err
    assert "totals and summary read it" in said.err
    assert "drop materialize=False" in said.err
