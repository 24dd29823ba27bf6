"""The runner of the suites: what it selects, how it counts, when it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import test as suites
from tests.patience import PATIENCE_S

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_good"/>
<testcase classname="tests.a" name="test_bad"><failure message="no"/></testcase>
<testcase classname="tests.a" name="test_broken"><error message="no"/></testcase>
<testcase classname="tests.a" name="test_absent"><skipped type="pytest.skip" message="needs a browser"/></testcase>
<testcase classname="tests.a" name="test_known"><skipped type="pytest.xfail" message="as said"/></testcase>
</testsuite></testsuites>"""


def test_a_suite_without_a_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "spark").mkdir()
    assert suites.selection("spark", tmp_path) == [str(tmp_path / "spark")]
    assert suites.selection("browser", tmp_path) == []


def test_the_pure_suite_is_everything_that_has_no_suite_of_its_own(tmp_path: Path) -> None:
    for name in ("ledger", "spark", "chaos", "kernel"):
        (tmp_path / name).mkdir()
    others = [f"--ignore={tmp_path / name}" for name in ("spark", "chaos", "kernel")]
    assert suites.selection("pure", tmp_path) == [str(tmp_path), *others]
    assert suites.selection("machines", tmp_path) == [str(tmp_path / "kernel")]


def test_every_folder_of_tests_belongs_to_one_suite() -> None:
    folders = [folder for own in suites.SUITES.values() for folder in own]
    assert len(folders) == len(set(folders))
    assert [folder for folder in folders if not (suites.ROOT / "tests" / folder).is_dir()] == []


def test_files_go_into_memory_only_when_there_is_plenty_and_nobody_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    assert suites.place_for_files(tmp_path, plenty=0) == str(tmp_path)
    assert suites.place_for_files(tmp_path, plenty=2**60) is None
    assert suites.place_for_files(tmp_path / "absent", plenty=0) is None
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert suites.place_for_files(tmp_path, plenty=0) is None


def test_the_report_is_added_up(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8")
    outcome = suites.read_report("pure", report)
    assert outcome.passed == 2
    assert outcome.failed == ["tests.a::test_bad", "tests.a::test_broken"]
    assert outcome.skipped == ["tests.a::test_absent: needs a browser"]


def test_the_closing_line_stands_alone() -> None:
    lines, code = suites.summary([suites.Outcome(suite="pure", passed=3, seconds=1.0)], may_skip=True)
    assert lines[-1] == "3 passed, 0 failed"
    assert code == 0


def test_each_suite_shows_its_share_of_the_time() -> None:
    outcomes = [
        suites.Outcome(suite="pure", passed=1, seconds=3.0),
        suites.Outcome(suite="spark", passed=1, seconds=1.0),
    ]
    lines, _ = suites.summary(outcomes, may_skip=True)
    assert [line.split()[-1] for line in lines if line.startswith(("pure", "spark"))] == ["75%", "25%"]


def test_a_skipped_test_is_counted_or_is_a_failure() -> None:
    outcome = suites.Outcome(suite="browser", passed=1, skipped=["tests.b::test_page: no browser"])
    lines, code = suites.summary([outcome], may_skip=True)
    assert (lines[-1], code) == ("1 passed, 0 failed, 1 skipped", 0)
    lines, code = suites.summary([outcome], may_skip=False)
    assert (lines[-1], code) == ("1 passed, 1 failed", 1)
    assert any("tests.b::test_page" in line for line in lines)


def test_a_run_of_no_test_is_a_failure() -> None:
    lines, code = suites.summary([suites.Outcome(suite="pure")], may_skip=True)
    assert (lines[-1], code) == ("0 passed, 0 failed", 1)


@pytest.mark.parametrize(
    ("content", "passed", "failed"),
    [
        ("def test_one(): pass", 1, 0),
        ("def test_one(): assert False", 0, 1),
        ("import a_module_that_does_not_exist", 0, 1),
        ("", 0, 0),
    ],
)
def test_a_suite_runs_in_a_pytest_of_its_own(
    content: str, passed: int, failed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer to load than these tests
    (tmp_path / "test_sample.py").write_text(content, encoding="utf-8")
    outcome = suites.run_suite("pure", [str(tmp_path), "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"])
    assert (outcome.passed, len(outcome.failed)) == (passed, failed)


def test_a_pytest_that_cannot_start_is_a_failure() -> None:
    outcome = suites.run_suite("pure", ["--no-such-option"])
    assert outcome.failed == ["the pure suite: pytest ended with 4"]


WAITS = """
import time
from pathlib import Path
import pytest

@pytest.fixture
def place():
    yield Path(__file__)
    Path(__file__).with_suffix(".ended").touch()

def test_waits(place):
    place.with_suffix(".begun").touch()
    print("it has begun", flush=True)
    time.sleep(600)
"""
RUNS = """
import signal, sys
from pathlib import Path
from scripts import test
signal.signal(signal.SIGTERM, test._told_to_end)
options = ["-q", "-s", "-p", "no:cacheprovider", "-c", sys.argv[1] + "/pytest.ini", "-p", "tests.conftest"]
chosen = {name: [f"{sys.argv[1]}/test_{name}.py", *options] for name in ("one", "two")}
test.run_suites(chosen, 1)
"""


def test_when_the_runner_is_told_to_end_fixtures_end_and_no_other_suite_begins(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(WAITS, encoding="utf-8")
    (tmp_path / "pytest.ini").touch()
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNS, str(tmp_path)], cwd=suites.ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(suites.ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        start_new_session=True,
    )  # fmt: skip
    try:
        assert runner.stdout is not None
        assert any("it has begun" in line for line in runner.stdout)
        runner.terminate()
        runner.communicate(timeout=PATIENCE_S)
    finally:
        if runner.poll() is None:
            os.killpg(runner.pid, signal.SIGKILL)
            runner.wait()
    assert runner.returncode == 128 + signal.SIGTERM
    left = {each.name for each in tmp_path.glob("test_*")}
    assert left == {"test_one.py", "test_one.begun", "test_one.ended", "test_two.py"}
