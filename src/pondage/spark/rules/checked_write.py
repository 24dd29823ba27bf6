"""Writing the table of a Ripple: its contract and its expectations are judged with the one write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody uses

from pondage.define.pond.contract import late_columns, require_contract
from pondage.define.pond.definition import ExpectationDefinition
from pondage.spark.files.write import check_output
from pondage.spark.rules.expectations import ExpectationPlan, Facts
from pondage.spark.types.names import quoted
from pondage.work.snapshot import SnapshotContent

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from pondage.work.snapshot import Batch


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
    batch: Batch | None = None,
) -> SnapshotContent:
    """Write the rows and answer the snapshot, which nobody sees yet; raises BAD_OUTPUT, CONTRACT, EXPECTATION, …

    `batch` is what is known of one that is added to a table. By the code that the earlier ones were made by, it may be
    of an older schema: what it lacks is null then.
    """
    check_output(frame.schema)
    if batch is not None and batch.is_same_code and contract is not None:
        frame = _fitted(frame, contract)
    # The contract is judged from the plan's schema: a broken one need not cost the write.
    require_contract(
        contract,
        frame.schema.json(),
        where=where,
        is_batch=batch is not None,
        is_same_code=batch is not None and batch.is_same_code,
    )
    plan = ExpectationPlan.decide(frame.schema, rules, checks or {}, facts)
    checked = plan.write(session, frame, destination, where=where)
    return msgspec.structs.replace(checked.files.as_content(), expectations=checked.results, set_aside=checked.aside)


def _fitted(frame: DataFrame, contract: str) -> DataFrame:
    """Answer the rows of a late batch in the shape of the table: null where it has no column, in the types of now."""
    late = late_columns(contract, frame.schema.json())
    if not late:
        return frame
    there = set(frame.columns)
    new = {name: F.col(quoted(name)) if name in there else F.lit(None) for name in late}
    return frame.withColumns({name: column.cast(late[name]) for name, column in new.items()})
