"""Random queries, kept up to date over random changes, are as if everything were computed.

`make fuzz KIND=incremental SEEDS=n FIRST=m` runs n of them from the seed m on.
"""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pondage.conform.incremental import steps
from pondage.conform.incremental_scenario import is_same_bag, plain
from tests.spark.incremental.random_queries import random_case

pytestmark = pytest.mark.spark

FIRST = int(os.environ.get("PONDAGE_FUZZ_FIRST", "0"))
SEEDS = int(os.environ.get("PONDAGE_FUZZ_SEEDS", "6"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_a_random_query_is_as_if_everything_were_computed(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = random_case(seed)
    for step in steps(case, spark, tmp_path / "case"):
        # The views still are the tables of this step.
        wanted = [[plain(value) for value in row] for row in spark.sql(case.sql).collect()]
        assert is_same_bag(step.rows, wanted), (case.sql, step, wanted)
