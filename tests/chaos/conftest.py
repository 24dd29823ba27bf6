import pytest

from pondage.spark.session.warmup import is_warm, warm


@pytest.fixture(scope="session")
def warm_spark() -> None:
    """Every test here starts Spark several times: with the class-data archive each start takes half as long."""
    if not is_warm():
        warm(lambda phase: None)
