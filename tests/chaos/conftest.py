import os

import pytest

from pondage.spark.warmup import is_warm, warm

# One of its runs was unsound on a busy machine (a worker that was cut off inside a claim was not taken for dead
# in time). Until that is understood it is run by `make chaos`, where a failure is looked at, and not by `make test`.
collect_ignore = [] if os.environ.get("PONDAGE_TEST_MATRIX") == "1" else ["test_matrix.py"]


@pytest.fixture(scope="session")
def warm_spark() -> None:
    """Every test here starts Spark several times: with the class-data archive each start takes half as long."""
    if not is_warm():
        warm(lambda phase: None)
