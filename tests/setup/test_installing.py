"""Running pip: its progress is read from its output, its failures are answered with what to do."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from scripts.setup.install import Step, hint_for
from scripts.setup.process import run_watched
from scripts.setup.progress import Progress, spoken_time


def run_python(code: str, log: Path) -> tuple[int, list[str], list[str]]:
    lines: list[str] = []
    exit_code, tail = run_watched(
        [sys.executable, "-c", code],
        variables=os.environ,
        directory=log.parent,
        log=log,
        on_line=lines.append,
        on_tick=lambda: None,
    )
    return exit_code, tail, lines


def test_a_program_is_watched_line_by_line_and_kept_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)"
    exit_code, tail, lines = run_python(code, log)
    assert exit_code == 3
    assert sorted(lines) == sorted(tail) == ["one", "two"]
    assert b"one\n" in log.read_bytes()


def test_only_the_last_lines_are_answered(tmp_path: Path) -> None:
    _, tail, lines = run_python("for number in range(100): print(number)", tmp_path / "log")
    assert len(lines) == 100
    assert tail[-1] == "99"
    assert len(tail) == 25


def test_a_program_is_ended_when_its_watcher_is_stopped(tmp_path: Path) -> None:
    process_id: list[int] = []

    def stop(line: str) -> None:
        process_id.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_watched(
            [sys.executable, "-c", "import os, signal; print(os.getpid(), flush=True); signal.pause()"],
            variables=os.environ,
            directory=tmp_path,
            log=tmp_path / "log",
            on_line=stop,
            on_tick=lambda: None,
        )
    with pytest.raises(ProcessLookupError):
        os.kill(process_id[0], 0)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Collecting pyspark==4.2.1", "downloading pyspark"),
        ("  Downloading pyspark-4.2.1.tar.gz (450.2 MB)", "downloading pyspark-4.2.1.tar.gz (450.2 MB)"),
        ("  Building wheel for pyspark (pyproject.toml): started", "building pyspark"),
        ("  Preparing metadata (pyproject.toml): started", "unpacking"),
        ("Installing collected packages: py4j, pyspark", "installing"),
    ],
)
def test_what_pip_does_is_read_from_its_lines(line: str, text: str) -> None:
    step = Step()
    step.read(line)
    assert step.text.startswith(text)


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "not the one that was locked"),
        ("Temporary failure in name resolution", "registry was not reached"),
        ("SSLError(SSLCertVerificationError(1, 'CERTIFICATE_VERIFY_FAILED'))", "PIP_CERT"),
        ("something else", "lines above"),
    ],
)
def test_a_failure_is_answered_with_what_to_do(said: str, hint: str) -> None:
    assert hint in hint_for(["...", said, "..."])


def test_a_phase_shows_its_number_its_time_and_what_is_to_come() -> None:
    stream = io.StringIO()
    progress = Progress(["First", "Second", "Third"], stream)
    progress.begin("some detail")
    progress.end()
    shown = stream.getvalue()
    assert "[1/3] First: some detail …" in shown
    assert "still to come: Second, Third" in shown


def test_the_moving_line_is_not_described_before_it_is_due() -> None:
    progress = Progress(["First"], io.StringIO())
    progress.begin("some detail")
    progress.move(lambda: pytest.fail("described too early"))


@pytest.mark.parametrize(("seconds", "spoken"), [(0.42, "0.4 s"), (12.4, "12 s"), (185, "3 min 05 s")])
def test_times_are_said_as_people_say_them(seconds: float, spoken: str) -> None:
    assert spoken_time(seconds) == spoken
