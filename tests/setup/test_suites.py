"""The runner of the suites: what it selects, how it counts, when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import test as suites

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
    for name in ("kernel", "spark", "chaos"):
        (tmp_path / name).mkdir()
    chosen = suites.selection("pure", tmp_path)
    assert chosen == [str(tmp_path), f"--ignore={tmp_path / 'spark'}", f"--ignore={tmp_path / 'chaos'}"]


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
def test_a_suite_runs_in_a_pytest_of_its_own(content: str, passed: int, failed: int, tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(content, encoding="utf-8")
    outcome = suites.run_suite("pure", [str(tmp_path), "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"])
    assert (outcome.passed, len(outcome.failed)) == (passed, failed)


def test_a_pytest_that_cannot_start_is_a_failure() -> None:
    outcome = suites.run_suite("pure", ["--no-such-option"])
    assert outcome.failed == ["the pure suite: pytest ended with 4"]
