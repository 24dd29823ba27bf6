"""The project file: defaults, keys, and all errors at once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pondage.errors import PondageError, ProjectError
from pondage.project.problems import ProjectErrors
from pondage.project.project import Durability, find_project, load_project


def written(root: Path, text: str) -> Path:
    (root / "pondage.toml").write_text(text, encoding="utf-8")
    return root


def refused(root: Path, text: str) -> list[PondageError]:
    with pytest.raises(ProjectError) as caught:
        load_project(written(root, text))
    return list(getattr(caught.value, "errors", [caught.value]))


def test_an_empty_file_is_a_project_with_defaults(tmp_path: Path):
    (tmp_path / "My-Shop 2").mkdir()
    root = written(tmp_path / "My-Shop 2", "")
    project = load_project(root)
    assert project.name == "my_shop_2"
    assert project.environment == "main"
    assert project.modules == ()
    assert project.ledger == str(root / ".pondage" / "ledger.db")
    assert project.warehouse == str(root / ".pondage" / "warehouse")
    assert project.state == root / ".pondage"
    assert project.durability == Durability()


def test_every_key_is_read(tmp_path: Path):
    project = load_project(
        written(
            tmp_path,
            """
            [project]
            name = "shop"
            environment = "test"
            warehouse = "s3a://bucket/warehouse"
            ledger = "postgresql://host/db"
            [spark]
            master = "spark://host:7077"
            packages = ["org.example:thing:1.0"]
            memory = "2g"
            isolated = true
            [spark.conf]
            "spark.sql.shuffle.partitions" = 8
            spark.ui.enabled = false
            [durability]
            heartbeat_s = 2.5
            keep_runs = 9
            [worker]
            slots = 4
            [server]
            connections = 2000
            audit = "all"
            [live]
            listen = "10.0.0.5:8650"
            """,
        )
    )
    assert (project.name, project.environment) == ("shop", "test")
    assert project.warehouse == "s3a://bucket/warehouse"
    assert project.ledger == "postgresql://host/db"
    assert project.spark.packages == ("org.example:thing:1.0",)
    assert project.spark.conf == {"spark.sql.shuffle.partitions": "8", "spark.ui.enabled": "false"}
    assert project.spark.isolated
    assert (project.durability.heartbeat_s, project.durability.keep_runs) == (2.5, 9)
    assert project.worker.slots == 4
    assert (project.server.connections, project.server.connections_per_address) == (2000, 100)
    assert project.server.audit == "all"
    assert project.live.listen == "10.0.0.5:8650"


def test_modules_are_files_and_directories_and_default_to_ponds(tmp_path: Path):
    for name in ("ponds/b.py", "ponds/a.py", "ponds/sub/c.py", "ponds/tests/test_a.py", "ponds/test_b.py", "other.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert load_project(written(tmp_path, "")).modules == ("ponds/a.py", "ponds/b.py", "ponds/sub/c.py")
    assert load_project(written(tmp_path, 'modules = ["other.py"]')).modules == ("other.py",)


def test_the_project_is_found_from_a_directory_below_it(tmp_path: Path):
    written(tmp_path, 'name = "shop"')
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_project(tmp_path / "a" / "b").root == tmp_path.resolve()


def test_without_a_project_the_error_says_how_to_start_one(tmp_path: Path):
    with pytest.raises(ProjectError) as caught:
        find_project(tmp_path)
    assert caught.value.code == "NO_PROJECT"
    assert "pondage init" in (caught.value.hint or "")


def test_an_unknown_key_is_refused_with_the_nearest_right_one(tmp_path: Path):
    (error,) = refused(tmp_path, '[spark]\npackage = ["a"]')
    assert error.place == "pondage.toml: spark.package"
    assert error.hint == "did you mean 'packages'?"
    (error,) = refused(tmp_path, '[sprak]\nmaster = "local"')
    assert error.hint == "did you mean 'spark'?"


def test_all_errors_are_shown_at_once(tmp_path: Path):
    errors = refused(
        tmp_path,
        """
        colour = "blue"
        [project]
        name = "Shop!"
        modules = ["../outside.py", "missing.py"]
        [spark]
        isolated = "yes"
        [durability]
        heartbeat_s = 30
        poll_s = 0
        [worker]
        slots = 0
        [server]
        connections = 2
        audit = "some"
        """,
    )
    assert {error.place for error in errors} == {
        "pondage.toml: colour",
        "pondage.toml: project.name",
        "pondage.toml: project.modules[0]",
        "pondage.toml: project.modules[1]",
        "pondage.toml: spark.isolated",
        "pondage.toml: durability.reap_after_s",
        "pondage.toml: durability.poll_s",
        "pondage.toml: worker.slots",
        "pondage.toml: server.connections",
        "pondage.toml: server.audit",
    }


def test_several_errors_are_one_exception_whose_message_lists_them(tmp_path: Path):
    with pytest.raises(ProjectErrors) as caught:
        load_project(written(tmp_path, "a = 1\nb = 2"))
    assert "2 errors" in caught.value.message
    assert "pondage.toml: a" in caught.value.message


def test_broken_toml_is_refused_with_its_line(tmp_path: Path):
    (error,) = refused(tmp_path, 'name = "a"\n[spark\n')
    assert error.place == "pondage.toml:2"


@pytest.mark.parametrize(("heartbeat", "reap", "least"), [(20, 60, 70), (5, 15, 25), (1, 5, 13)])
def test_a_process_must_be_able_to_miss_two_beats(tmp_path: Path, heartbeat: int, reap: int, least: int):
    (error,) = refused(tmp_path, f"[durability]\nheartbeat_s = {heartbeat}\nreap_after_s = {reap}")
    assert f"is {reap}, and reap_after_s ≥ 3 × heartbeat_s + child_margin_s = {least} must hold" in error.message


def test_progress_is_told_with_the_heartbeats(tmp_path: Path):
    (error,) = refused(tmp_path, "[durability]\nprogress_lease_s = 10")
    assert "progress_lease_s ≥ 3 × heartbeat_s = 15 must hold" in error.message


@pytest.mark.parametrize(("margin", "reap"), [(0, 0.05), (0, 2.9), (10, 12), (1, 3.5)])
def test_a_busy_process_must_be_able_to_be_silent_for_a_while(tmp_path: Path, margin: float, reap: float):
    """With a lease of 0.05 s every supervisor ended at once, and what was asked for was never done."""
    text = f"[durability]\nheartbeat_s = 0.01\nchild_margin_s = {margin}\nreap_after_s = {reap}"
    (error,) = refused(tmp_path, text)
    assert error.place == "pondage.toml: durability.reap_after_s"
    assert f"is {reap:g}, and reap_after_s ≥ child_margin_s + 3 = {margin + 3} must hold" in error.message
    text = "[durability]\nheartbeat_s = 0.01\nprogress_lease_s = 5"
    assert "progress_lease_s ≥ 30 must hold" in refused(tmp_path, text)[0].message


@pytest.mark.parametrize("line", ["drain_s = nan", "reap_after_s = inf", "retention_days = 1e300", "poll_s = -inf"])
def test_no_setting_is_endless(tmp_path: Path, line: str):
    (error,) = refused(tmp_path, f"[durability]\n{line}")
    assert f"durability.{line.partition(' ')[0]}" in error.message


NUMBERS = st.one_of(st.floats(), st.floats(0, 100), st.integers(0, 100), st.integers())


SETTINGS = ("heartbeat_s", "reap_after_s", "child_margin_s", "progress_lease_s", "drain_s")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(SETTINGS, NUMBERS)))
@settings(max_examples=300, deadline=None)
def test_settings_are_refused_or_let_processes_live(given: dict[str, float]):
    """Whoever beats in time is neither ended by its supervisor nor reaped, and everything can be added up."""
    with tempfile.TemporaryDirectory() as directory:
        lines = [f"{key} = {value!r}" for key, value in given.items()]
        (Path(directory) / "pondage.toml").write_text("\n".join(["[durability]", *lines]))
        try:
            durability = load_project(Path(directory)).durability
        except ProjectError:
            return
    assert durability.heartbeat_s > 0
    assert durability.fence_after_s >= 3
    assert 2 * durability.heartbeat_s < durability.fence_after_s <= durability.reap_after_s
    assert int(durability.reap_after_s * 1e6) < 2**62
    assert durability.progress_lease_s is None or durability.progress_lease_s > 2 * durability.heartbeat_s


def test_a_machine_says_what_it_offers(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text('[worker]\nworkers = 3\nlabels = ["gpu"]\n')
    worker = load_project(tmp_path).worker
    assert (worker.workers, worker.labels) == (3, ("gpu",))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("workers = 0", "worker.workers is 0"),
        ('labels = ["two words"]', "worker.labels has 'two words'"),
        ('labels = ["a,b"]', "worker.labels has 'a,b'"),
    ],
)
def test_what_a_machine_cannot_offer_is_refused(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "pondage.toml").write_text(f"[worker]\n{line}\n")
    with pytest.raises(ProjectError) as refused:
        load_project(tmp_path)
    assert said in str(refused.value)


def test_a_progress_lease_is_off_unless_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "pondage.toml").write_text("")
    assert load_project(tmp_path).durability.progress_lease_s is None
    (tmp_path / "pondage.toml").write_text("[durability]\nprogress_lease_s = 600\n")
    assert load_project(tmp_path).durability.progress_lease_s == 600
    (tmp_path / "pondage.toml").write_text("[durability]\nprogress_lease_s = 0\n")
    with pytest.raises(ProjectError, match="progress_lease_s is 0"):
        load_project(tmp_path)


def test_a_schedule_to_compare_with_is_a_cron_line_in_a_time_zone(tmp_path: Path):
    project = load_project(written(tmp_path, '[compare]\nschedule = "*/15 * * * *"\ntz = "Europe/Berlin"'))
    assert (project.compare.schedule, project.compare.tz) == ("*/15 * * * *", "Europe/Berlin")
    (error,) = refused(tmp_path, '[compare]\nschedule = "every hour"')
    assert "compare is wrong: cron line" in error.message
