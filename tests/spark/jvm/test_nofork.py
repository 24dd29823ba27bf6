"""The file system that forks nothing: compiled without a JDK, used by local sessions, right about permissions."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from pondage.spark.jvm import command, nofork
from pondage.spark.jvm.java import find_java
from pondage.spark.jvm.settings import SparkSettings, session_conf
from tests.patience import PATIENCE_S
from tests.spark.support import python

pytestmark = pytest.mark.spark

WRITES = """
import json, os, pathlib, sys
state, cache, record, places = map(pathlib.Path, sys.argv[1:])
from pondage.spark.session.driver import SparkDriver
from pondage.spark.jvm.settings import SparkSettings
driver = SparkDriver.start(SparkSettings(memory="512m", cores=1), state, cache=cache)
count = lambda: len(record.read_text().splitlines()) if record.exists() else 0
said = {}
with driver.attempt("t", "writes") as spark:
    path = spark._jvm.org.apache.hadoop.fs.Path(f"file:{places}")
    conf = spark._jsc.hadoopConfiguration()
    system = path.getFileSystem(conf)
    said["class"] = system.getClass().getName()
    before = count()
    spark.range(3).write.parquet(f"file:{places}/ours")
    said["chmods of ours"] = count() - before
    before = count()
    plain = {"fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem", "fs.file.impl.disable.cache": "true"}
    spark.range(3).write.options(**plain).parquet(f"file:{places}/plain")
    said["chmods of plain"] = count() - before
    mode = lambda file: oct(file.stat().st_mode & 0o7777)
    for name in ("ours", "plain"):
        said[f"modes of {name}"] = sorted({mode(each) for each in (places / name).iterdir()}) + [mode(places / name)]
    permission = spark._jvm.org.apache.hadoop.fs.permission.FsPermission
    group = places / "group"
    group.mkdir()
    group.chmod(0o2775)
    for name, bits in (("group", 0o700), ("ours/_SUCCESS", 0o640), ("plain", 0o1777)):
        file = spark._jvm.org.apache.hadoop.fs.Path(f"file:{places}/{name}")
        system.setPermission(file, permission(oct(bits)[2:]))
        said[name] = mode(places / name)
driver.stop()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    nofork.build_jar(find_java(), command.class_path(command.spark_home(), {}), cache)
    return cache


def test_a_local_session_uses_the_jar_when_there_is_one_and_the_user_s_own_settings_win(
    cache: Path, tmp_path: Path
) -> None:
    def conf(settings: SparkSettings, cache: Path) -> dict[str, str]:
        return session_conf(settings, local_directory=tmp_path, warehouse=tmp_path, cache=cache)

    assert "spark.hadoop.fs.file.impl" not in conf(SparkSettings(), tmp_path)
    assert "spark.hadoop.fs.file.impl" not in conf(SparkSettings(master="spark://host:7077"), cache)
    used = conf(SparkSettings(conf={"spark.driver.extraClassPath": "/mine.jar"}), cache)
    assert used["spark.hadoop.fs.file.impl"] == "pondage.NioFileSystem"
    assert used["spark.driver.extraClassPath"] == f"/mine.jar:{nofork.jar_in(cache)}"
    mine = conf(SparkSettings(conf={"spark.hadoop.fs.file.impl": "mine"}), cache)
    assert mine["spark.hadoop.fs.file.impl"] == "mine"
    assert "spark.driver.extraClassPath" not in mine


def test_the_jar_is_built_once_and_is_always_the_same(cache: Path, tmp_path: Path) -> None:
    jar = nofork.jar_in(cache)
    with zipfile.ZipFile(jar) as packed:
        assert sorted(packed.namelist()) == ["pondage/NioFileSystem$Raw.class", "pondage/NioFileSystem.class"]
    assert jar.stat().st_size < 4096
    before = jar.stat().st_mtime_ns
    assert nofork.build_jar(find_java(), (), cache) == jar
    assert jar.stat().st_mtime_ns == before
    assert [each.name for each in jar.parent.iterdir()] == [jar.name]


def test_a_parquet_write_forks_no_chmod_and_its_permissions_are_right(cache: Path, tmp_path: Path) -> None:
    record, tools, places = tmp_path / "record", tmp_path / "bin", tmp_path / "places"
    tools.mkdir()
    places.mkdir()
    (tools / "chmod").write_text(f'#!/bin/sh\necho "$@" >> {record}\nexec /bin/chmod "$@"\n')
    (tools / "chmod").chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    process = python(WRITES, tmp_path / "state", cache, record, places, environment={"PATH": path})
    out, complained = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complained
    said = json.loads(out)
    assert said["class"] == "pondage.NioFileSystem"
    assert said["chmods of plain"] >= 5, "the count can tell"
    assert said["chmods of ours"] == 0
    assert said["modes of ours"] == said["modes of plain"]
    assert (said["group"], said["ours/_SUCCESS"], said["plain"]) == ("0o2700", "0o640", "0o1777")
