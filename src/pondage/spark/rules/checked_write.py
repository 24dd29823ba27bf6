"""Writing the table of a Ripple: its contract and its expectations are judged with the one write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from pondage.define.pond.contract import require_contract
from pondage.define.pond.definition import ExpectationDefinition
from pondage.spark.files.write import check_output
from pondage.spark.rules.expectations import ExpectationPlan, Facts
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def write_checked(
    session: SparkSession,
    frame: DataFrame,
    destination: str,
    *,
    contract: str | None,
    rules: tuple[ExpectationDefinition, ...],
    checks: Mapping[str, Callable[[], Column]] | None = None,
    facts: Facts,
    where: str,
) -> SnapshotContent:
    """Write the rows and answer the snapshot, which nobody sees yet; raises BAD_OUTPUT, CONTRACT, EXPECTATION, …"""
    check_output(frame.schema)
    # The contract is judged from the plan's schema: a broken one need not cost the write.
    require_contract(contract, frame.schema.json(), where=where)
    plan = ExpectationPlan.decide(frame.schema, rules, checks or {}, facts)
    checked = plan.write(session, frame, destination, where=where)
    return msgspec.structs.replace(checked.files.as_content(), expectations=checked.results, set_aside=checked.aside)
