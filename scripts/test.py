"""Run the suites, each in a process of its own, two at a time, and add them up.

A suite is a folder of `tests/`, or several; everything that has no suite of its own is *pure*. Each suite has its own
process, so that one Spark session serves all Spark tests and no pure test pays for it. What a suite prints comes when
it has ended; `--lanes 1` runs one after the other and shows each test as it goes.

The files that tests write lie in memory when there is plenty of it: they are thousands and nobody keeps them. TMPDIR
says another place.

With PONDAGE_NO_SKIP=1 a skipped test counts as a failure: CI must have everything a test asks for.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITES = {
    "services": ("services",),
    "spark": ("spark",),
    "chaos": ("chaos",),
    "pure": (),
    "machines": ("conformance", "histories", "kernel", "simulate"),
    "browser": ("browser",),
}
"""Their folders, in the order in which they begin: the longest first, so that both lanes end at about the same time."""
MEMORY = Path("/dev/shm")
PLENTY_BYTES = 8 * 1024**3
"""Twice of what the tests have ever written, and Spark needs memory, too."""
SHORT_LIVED = "-XX:TieredStopAtLevel=1"
"""For every JVM of the tests: none lives long enough to earn back its second compiler, which takes half their time."""
NO_TESTS = 5
"""pytest's exit code when a choice of tests matched none, which is usual when there are several suites."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """How a suite ended."""

    suite: str
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: float = 0.0


def selection(suite: str, tests: Path) -> list[str]:
    """Answer what pytest is given for a suite; nothing when no folder of it exists."""
    if suite != "pure":
        return [str(tests / folder) for folder in SUITES[suite] if (tests / folder).is_dir()]
    others = [tests / folder for folders in SUITES.values() for folder in folders]
    return [str(tests), *(f"--ignore={other}" for other in others if other.is_dir())] if tests.is_dir() else []


def place_for_files(memory: Path = MEMORY, plenty: int = PLENTY_BYTES) -> str | None:
    """Answer where the files of tests go: into memory when there is plenty and programs may run from it."""
    if os.environ.get("TMPDIR") or not os.access(memory, os.W_OK) or os.statvfs(memory).f_flag & os.ST_NOEXEC:
        return None
    available = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    free = min(shutil.disk_usage(memory).free, int(available[1]) * 1024 if available else 0)
    return str(memory) if free >= plenty else None


def read_report(suite: str, report: Path) -> Outcome:
    """Add up pytest's own report."""
    outcome = Outcome(suite=suite)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}".removeprefix("::")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed.append(name)
        elif skipped is None:
            outcome.passed += 1
        elif skipped.get("type") == "pytest.xfail":
            outcome.passed += 1  # it failed as the test says it must
        else:
            outcome.skipped.append(f"{name}: {skipped.get('message', '')}")
    return outcome


def run_suite(
    suite: str,
    arguments: list[str],
    *,
    is_quiet: bool = False,
    started: list[subprocess.Popen[bytes]] | None = None,
) -> Outcome:
    """Run one suite in its own pytest, told in `started`; quiet ones print everything at their end."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="pondage-", dir=place_for_files(), ignore_cleanup_errors=True) as directory,
        (Path(directory) / "said").open("w+") as said,
    ):
        Path(directory).chmod(0o711)  # servers of tests do not run as root
        report = Path(directory) / "report.xml"
        command = [sys.executable, "-m", "pytest", f"--junit-xml={report}", *arguments]
        output = said if is_quiet else None
        environment = {**os.environ, "TMPDIR": directory}
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, env=environment)
        if started is not None:
            started.append(process)
        code = process.wait()
        outcome = read_report(suite, report) if report.is_file() else Outcome(suite=suite)
        if is_quiet:
            said.seek(0)
            print(f"\n— {suite}, {time.monotonic() - began:.0f} s\n{said.read()}", flush=True)
    if code not in (0, NO_TESTS) and not outcome.failed:
        outcome.failed.append(f"the {suite} suite: pytest ended with {code}")
    outcome.seconds = time.monotonic() - began
    return outcome


def run_suites(chosen: dict[str, list[str]], lanes: int) -> list[Outcome]:
    """Run suites, so many at a time; after an interruption none begins, and SIGTERM is handed on to those that run."""
    started: list[subprocess.Popen[bytes]] = []
    with ThreadPoolExecutor(lanes) as pool:
        running = [
            pool.submit(run_suite, suite, arguments, is_quiet=lanes > 1, started=started)
            for suite, arguments in chosen.items()
        ]
        try:
            return [each.result() for each in running]
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, SystemExit):  # a terminal gives Ctrl-C to everybody by itself
                for process in started:
                    process.terminate()
            raise


def summary(outcomes: list[Outcome], *, may_skip: bool) -> tuple[list[str], int]:
    """Answer the closing lines and the exit code."""
    whole = sum(outcome.seconds for outcome in outcomes) or 1.0
    lines = ["", "suite      passed  failed  skipped      time  share"]
    lines += [
        f"{outcome.suite:<10} {outcome.passed:>6}  {len(outcome.failed):>6}  {len(outcome.skipped):>7}  "
        f"{outcome.seconds:>6.1f} s  {outcome.seconds / whole:>5.0%}"
        for outcome in outcomes
    ]
    failed = [name for outcome in outcomes for name in outcome.failed]
    skipped = [name for outcome in outcomes for name in outcome.skipped]
    if not may_skip:
        failed += [f"skipped, and PONDAGE_NO_SKIP is set: {name}" for name in skipped]
        skipped = []
    lines += [f"FAILED {name}" for name in failed]
    passed = sum(outcome.passed for outcome in outcomes)
    lines.append(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    # A run that executed nothing proves nothing.
    return lines, 1 if failed or passed == 0 else 0


def main(arguments: list[str]) -> int:
    """Run the suites; what this command does not know is handed to pytest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, action="append", help="only this suite (may be repeated)")
    parser.add_argument("--seeds", type=int, default=1, help="rounds, each with another PONDAGE_TEST_SEED")
    parser.add_argument("--lanes", type=int, help="so many suites at a time (2)")
    options, for_pytest = parser.parse_known_args(arguments)
    os.environ.setdefault("JDK_JAVA_OPTIONS", SHORT_LIVED)
    outcomes = []
    for seed in range(1, options.seeds + 1):
        os.environ["PONDAGE_TEST_SEED"] = str(seed)
        chosen = {suite: selection(suite, ROOT / "tests") for suite in options.suite or SUITES}
        chosen = {suite: given for suite, given in chosen.items() if given}
        lanes = options.lanes or min(2, len(chosen), os.cpu_count() or 1)
        title = ", ".join(chosen) + (f", seed {seed}" if options.seeds > 1 else "")
        print(f"\n— {title}" + (f", {lanes} at a time" if lanes > 1 else ""), flush=True)
        outcomes += run_suites({suite: [*given, *for_pytest] for suite, given in chosen.items()}, lanes)
    lines, code = summary(outcomes, may_skip=os.environ.get("PONDAGE_NO_SKIP", "") in ("", "0"))
    print("\n".join(lines), flush=True)
    return code


def _told_to_end(number: int, _frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _told_to_end)
    sys.exit(main(sys.argv[1:]))
