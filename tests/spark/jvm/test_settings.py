from __future__ import annotations

from pathlib import Path

import pytest

from pondage.errors import PondageError
from pondage.spark.jvm import command
from pondage.spark.jvm.settings import SparkSettings, available_cores, session_conf


def conf_of(**settings: object) -> dict[str, str]:
    return session_conf(
        SparkSettings(**settings), local_directory=Path("/state/local"), warehouse=Path("/state/wh"), cache=Path("/c")
    )  # type: ignore[arg-type]


def test_a_local_session_is_small_private_and_fair() -> None:
    conf = conf_of(cores=3)
    assert conf["spark.master"] == "local[3]"
    assert conf["spark.sql.shuffle.partitions"] == "6"
    assert conf["spark.scheduler.mode"] == "FAIR"
    assert conf["spark.ui.enabled"] == "false"
    assert conf["spark.driver.bindAddress"] == "127.0.0.1"
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert conf["spark.local.dir"] == "/state/local"
    assert "-Xss4m" in conf["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[4]", 4), ("local[*]", available_cores()), ("local[4, 2]", 4)],
)
def test_the_cores_come_from_the_master(master: str, cores: int) -> None:
    assert conf_of(master=master)["spark.master"] == f"local[{cores}]"


def test_the_users_conf_wins() -> None:
    conf = conf_of(conf={"spark.sql.shuffle.partitions": "77", "spark.driver.extraJavaOptions": "-Xss16m -Da=b"})
    assert conf["spark.sql.shuffle.partitions"] == "77"
    assert conf["spark.driver.extraJavaOptions"].split()[-2:] == ["-Xss16m", "-Da=b"]


def test_isolation_gives_tasks_a_process() -> None:
    conf = conf_of(isolated=True, cores=2, memory="2g")
    assert conf["spark.master"] == "local-cluster[1,2,2048]"
    assert conf["spark.executor.memory"] == "2048m"


def test_a_cluster_keeps_its_own_settings() -> None:
    conf = conf_of(master="spark://host:7077")
    assert conf["spark.master"] == "spark://host:7077"
    assert "spark.local.dir" not in conf
    assert "spark.driver.bindAddress" not in conf


def test_packages_have_a_cache_of_their_own() -> None:
    conf = conf_of(packages=("a:b:1", "c:d:2"))
    assert conf["spark.jars.packages"] == "a:b:1,c:d:2"
    assert conf["spark.jars.ivy"] == "/c/ivy"


@pytest.mark.parametrize("memory", ["2x", "much"])
def test_a_size_that_is_none_is_refused(memory: str) -> None:
    with pytest.raises(PondageError, match="not a size"):
        conf_of(memory=memory, isolated=True)


def test_properties_survive_their_file() -> None:
    text = command.as_properties({"spark.a b": " lead", "spark.c": "x\\y\nz", "spark.d": "ü=1"})
    assert text == "spark.a\\ b=\\ lead\nspark.c=x\\\\y\\nz\nspark.d=ü=1\n"


def test_arguments_with_spaces_and_quotes_survive_their_file() -> None:
    assert command.as_argument_file(["-cp", 'a b"c\\d']) == '"-cp"\n"a b\\"c\\\\d"\n'
