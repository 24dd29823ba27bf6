"""Which phases a set-up has, from what is there and what is wanted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scripts.setup.plan import SETS, Kind, Wanted, is_ready, plan, warm_key
from scripts.setup.stamp import Stamp

LOCKS = {name: f"digest of {name}" for name in SETS}
JAVA = [["PATH", "/usr/bin/java", "1"]]
WANTED = Wanted(
    location="/here",
    python="3.11",
    extras=("demo",),
    locks=LOCKS,
    spark_version="4.2.1",
    project="digest of pyproject",
    java=JAVA,
    page="digest of the page",
)


def reached(*sets: str, java_is_found: bool = True) -> Stamp:
    return Stamp(
        location="/here",
        python="3.11",
        sets={name: LOCKS[name] for name in sets},
        project="digest of pyproject",
        java=JAVA,
        java_is_found=java_is_found,
        warmed=warm_key(WANTED, java_is_found=java_is_found),
    )


def titles(
    stamp: Stamp | None, *, wanted: Wanted = WANTED, java_is_found: bool = True, node_is_found: bool = True
) -> list[str]:
    phases = plan(wanted, stamp, java_is_found=java_is_found, node_is_found=node_is_found)
    return [phase.title for phase in phases]


def test_from_nothing_everything_is_done_in_order() -> None:
    assert titles(None) == ["This machine", "Environment", "Build tools", "Spark", "Demo", "Pondage", "Warm-up"]


def test_without_a_java_one_is_brought_along() -> None:
    assert "Java" in titles(None, java_is_found=False)
    assert "Java" not in titles(None, java_is_found=True)


def test_the_spark_phase_names_version_and_size() -> None:
    spark = next(
        phase for phase in plan(WANTED, None, java_is_found=True, node_is_found=True) if phase.set_name == "base"
    )
    assert "pyspark 4.2.1 (about 450 MB; once)" in spark.detail
    assert spark.needed_bytes >= 2_000_000_000


def test_when_all_is_there_nothing_is_to_do() -> None:
    assert is_ready(WANTED, reached("build", "base", "demo"))
    assert is_ready(WANTED, reached("build", "base", "demo", "java", java_is_found=False))


def test_an_extra_that_was_not_asked_for_before_is_added_alone() -> None:
    there = reached("build", "base", "demo")
    wanted = replace(WANTED, extras=("dev",))
    assert not is_ready(wanted, there)
    assert titles(there, wanted=wanted) == ["This machine", "Test tools"]


def test_a_changed_lock_file_installs_its_set_again() -> None:
    wanted = replace(WANTED, locks={**LOCKS, "demo": "another digest"})
    there = reached("build", "base", "demo")
    assert not is_ready(wanted, there)
    assert titles(there, wanted=wanted) == ["This machine", "Demo"]


def test_a_java_that_went_away_is_noticed() -> None:
    there = reached("build", "base", "demo")
    wanted = replace(WANTED, java=[])
    assert not is_ready(wanted, there)
    assert titles(there, wanted=wanted, java_is_found=False) == ["This machine", "Java", "Warm-up"]


def test_a_moved_checkout_or_another_python_starts_anew() -> None:
    there = reached("build", "base", "demo")
    for wanted in (replace(WANTED, location="/there"), replace(WANTED, python="3.12")):
        assert not is_ready(wanted, there)
        assert titles(there, wanted=wanted) == titles(None, wanted=wanted)


def test_a_stopped_installation_is_not_ready_and_goes_on_where_it_was() -> None:
    there = reached("build")
    there.unfinished = "base"
    assert not is_ready(WANTED, there)
    phases = plan(WANTED, there, java_is_found=True, node_is_found=True)
    assert [phase.kind for phase in phases][:2] == [Kind.CHECK, Kind.LOCKED_SET]
    assert [phase.set_name for phase in phases if phase.set_name] == ["base", "demo"]


def test_a_changed_project_file_installs_only_the_project_again() -> None:
    there = reached("build", "base", "demo")
    wanted = replace(WANTED, project="another digest")
    assert not is_ready(wanted, there)
    assert titles(there, wanted=wanted) == ["This machine", "Pondage"]


def test_the_page_is_built_when_it_is_asked_for_and_brings_a_node_along_where_there_is_none() -> None:
    there = reached("build", "base", "demo")
    wanted = replace(WANTED, extras=("demo", "page"))
    assert not is_ready(wanted, there)
    assert titles(there, wanted=wanted) == ["This machine", "Page"]
    assert titles(there, wanted=wanted, node_is_found=False) == ["This machine", "Node", "Page"]


def test_a_page_that_is_built_needs_no_node_until_its_files_change() -> None:
    there = reached("build", "base", "demo")
    there.page = "digest of the page"
    wanted = replace(WANTED, extras=("demo", "page"))
    assert is_ready(wanted, there)
    assert titles(there, wanted=wanted, node_is_found=False) == ["This machine"]
    assert titles(there, wanted=replace(wanted, page="another"), node_is_found=True) == ["This machine", "Page"]


def test_building_the_wheel_needs_no_spark_and_starts_none() -> None:
    wanted = replace(WANTED, extras=("build", "page"))
    assert titles(None, wanted=wanted, java_is_found=False) == ["This machine", "Environment", "Build tools", "Page"]
    there = reached("build")
    there.page, there.project, there.warmed = "digest of the page", "", ""
    assert is_ready(wanted, there)
    assert not is_ready(WANTED, there), "whoever wants more has it set up"
    assert titles(there) == ["This machine", "Spark", "Demo", "Pondage", "Warm-up"]
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    assert "wheel:\n\t@$(BOOTSTRAP) build page\n" in makefile
