"""`test`: the project's own tests, with the fixtures of `pondage.testing`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree as Tree

import click
import msgspec

from pondage.cli.client.session import open_project
from pondage.cli.client.settings import Settings, Verb, settings_and_json
from pondage.cli.printing.output import print_json
from pondage.errors import PondageError

_NOTHING_COLLECTED = 5


class TestView(msgspec.Struct, frozen=True, kw_only=True):
    """One test; `message` says why it did not pass."""

    test: str
    outcome: str
    seconds: float
    message: str | None = None


class TestsView(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of a project. `code` is pytest's own: 0 when all passed."""

    code: int
    passed: int
    failed: int
    skipped: int
    seconds: float
    tests: tuple[TestView, ...]


@click.command(cls=Verb, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST ARGUMENTS]...")
@settings_and_json
def test(settings: Settings, arguments: tuple[str, ...], is_json: bool) -> None:
    """Run the tests of the project with pytest: `pondage test`, `pondage test tests/test_sales.py -k clean -x`.

    A test may ask for `spark` (one local session for all), `table` (rows, a CSV file or a sample of a published table
    as a DataFrame) and `run_ripple` (a Ripple called as a worker calls it). Nothing is deployed or published.
    """
    if importlib.util.find_spec("pytest") is None:
        raise PondageError(
            "pytest is not installed here", code="NO_PYTEST", hint=f"{sys.executable} -m pip install pytest"
        )
    root = open_project(settings).root
    command = [sys.executable, "-m", "pytest", "-p", "pondage.testing", f"--rootdir={root}", *arguments]
    if not is_json:
        code = subprocess.call(command, cwd=root)
    else:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            done = subprocess.run([*command, f"--junitxml={report}"], cwd=root, stdout=subprocess.PIPE, check=False)
            code = done.returncode
            if not report.is_file():
                raise PondageError(
                    "pytest could not begin", code="TESTS_FAILED", hint=done.stdout.decode(errors="replace")[-500:]
                )
            _print_json(report, code)
    if code == _NOTHING_COLLECTED:
        raise PondageError(f"no tests were found in {root}", code="NO_TESTS", hint="write some: tests/test_NAME.py")
    click.get_current_context().exit(code)


def _print_json(report: Path, code: int) -> None:
    tests = []
    for case in Tree.parse(report).iter("testcase"):
        bad = next((each for each in case if each.tag in ("failure", "error", "skipped")), None)
        tests.append(
            TestView(
                test=f"{case.get('classname')}.{case.get('name')}",
                outcome="passed" if bad is None else {"failure": "failed", "error": "failed"}.get(bad.tag, bad.tag),
                seconds=float(case.get("time") or 0),
                message=None if bad is None else bad.get("message"),
            )
        )
    counted = {word: sum(each.outcome == word for each in tests) for word in ("passed", "failed", "skipped")}
    print_json(
        TestsView(code=code, seconds=round(sum(each.seconds for each in tests), 3), tests=tuple(tests), **counted)
    )
