from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import pytest

from pondage.spark.jvm.class_archive import ClassArchive, archive_for, cache_directory, sweep
from pondage.spark.jvm.java import Java


def test_the_cache_is_where_the_user_keeps_caches(tmp_path: Path) -> None:
    assert cache_directory({"XDG_CACHE_HOME": str(tmp_path / "x"), "HOME": "/h"}) == tmp_path / "x" / "pondage"
    assert cache_directory({"HOME": str(tmp_path)}) == tmp_path / ".cache" / "pondage"


@pytest.mark.parametrize("environment", [{}, {"HOME": ""}, {"HOME": "/nowhere/nobody"}, {"XDG_CACHE_HOME": "relative"}])
def test_without_a_home_that_can_be_written_the_temp_directory_serves(environment: dict[str, str]) -> None:
    assert cache_directory(environment).parent == Path(tempfile.gettempdir())


def test_the_key_follows_java_spark_and_the_jars(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"1")
    java = Java(home=tmp_path, version="17.0.1")
    first = archive_for(java, (jar,), tmp_path, pyspark_version="4.2.1")
    assert archive_for(java, (jar,), tmp_path, pyspark_version="4.2.1") == first
    others = [
        archive_for(java, (jar,), tmp_path, pyspark_version="4.3.0"),
        archive_for(msgspec.structs.replace(java, version="21.0.1"), (jar,), tmp_path, pyspark_version="4.2.1"),
        archive_for(java, (jar, jar), tmp_path, pyspark_version="4.2.1"),
    ]
    jar.write_bytes(b"22")
    others.append(archive_for(java, (jar,), tmp_path, pyspark_version="4.2.1"))
    assert len({first.directory, *(each.directory for each in others)}) == 5


def test_an_archive_is_used_only_when_it_is_whole(tmp_path: Path) -> None:
    archive = archive_for(Java(home=tmp_path, version="21"), (), tmp_path, pyspark_version="4.2.1")
    assert archive.needs_base
    assert archive.use_options == ()
    archive.directory.mkdir(parents=True)
    archive.dynamic.touch()
    assert archive.use_options == ()
    archive.base.touch()
    assert archive.use_options[0] == f"-XX:SharedArchiveFile={archive.base}:{archive.dynamic}"


def _built(java: Java, jar: Path, cache: Path) -> ClassArchive:
    archive = archive_for(java, (jar,), cache, pyspark_version="4.2.1")
    archive.directory.mkdir(parents=True)
    archive.label.write_text("".join(f"{part}\n" for part in archive.made_of))
    return archive


def test_archives_of_what_is_gone_or_was_installed_anew_are_swept(tmp_path: Path) -> None:
    java, jars = Java(home=tmp_path, version="21"), [tmp_path / "a.jar", tmp_path / "b.jar", tmp_path / "c.jar"]
    for jar in jars:
        jar.write_bytes(b"1")
    outdated, gone, other = (_built(java, jar, tmp_path) for jar in jars)
    jars[0].write_bytes(b"22")
    jars[1].unlink()
    wanted = _built(java, jars[0], tmp_path)
    unlabelled = wanted.directory.with_name("unlabelled")
    unlabelled.mkdir()
    sweep(wanted)
    assert wanted.directory.is_dir()
    assert other.directory.is_dir()
    assert unlabelled.is_dir()
    assert not outdated.directory.exists()
    assert not gone.directory.exists()
