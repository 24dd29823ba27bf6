"""What an attempt prints and logs reaches its own file."""

from __future__ import annotations

import io
import logging
import re
import threading
from pathlib import Path

from pondage.engine.attempt.log import AttemptHandler, AttemptLog, RoutedStream, bound
from tests.patience import PATIENCE_S

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ([A-Z]+) (.*)")


def lines(path: Path) -> list[tuple[str, str]]:
    matches = [LINE.fullmatch(line) for line in path.read_text().splitlines()]
    assert all(matches)
    return [(match[1], match[2]) for match in matches if match]


def test_every_line_of_a_message_is_one_of_the_file(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "r1" / "1-1.log")
    log.write("INFO", "one\ntwo")
    log.close()
    log.write("ERROR", "three")
    log.close()
    assert lines(log.path) == [("INFO", "one"), ("INFO", "two"), ("ERROR", "three")]


def test_no_file_is_made_for_an_attempt_that_says_nothing(tmp_path: Path) -> None:
    AttemptLog(tmp_path / "r1" / "1-1.log").close()
    assert list(tmp_path.iterdir()) == []


def test_two_threads_print_each_to_its_own_attempt(tmp_path: Path) -> None:
    own = io.StringIO()
    stream = RoutedStream(own, "INFO")
    barrier = threading.Barrier(2)

    def work(name: str) -> None:
        log = AttemptLog(tmp_path / f"{name}.log")
        with bound(log):
            print(f"{name} one ", end="", file=stream)
            barrier.wait(PATIENCE_S)
            print("line", file=stream)
            print("half", end="", file=stream)
            stream.finish_line()
        log.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    print("the process itself", file=stream)
    assert lines(tmp_path / "a.log") == [("INFO", "a one line"), ("INFO", "half")]
    assert lines(tmp_path / "b.log") == [("INFO", "b one line"), ("INFO", "half")]
    assert own.getvalue() == "the process itself\n"


def test_log_records_go_to_the_attempt_with_their_level_and_trace(tmp_path: Path) -> None:
    own = io.StringIO()
    logger = logging.Logger("tests")
    logger.addHandler(AttemptHandler(own))
    log = AttemptLog(tmp_path / "1-1.log")
    with bound(log):
        logger.warning("careful with %s", "this")
        try:
            raise ValueError("broken")
        except ValueError:
            logger.exception("it failed")
    log.close()
    logger.info("outside")
    found = lines(log.path)
    assert found[0] == ("WARNING", "careful with this")
    assert found[1] == ("ERROR", "it failed")
    assert found[-1] == ("ERROR", "ValueError: broken")
    assert LINE.fullmatch(own.getvalue().strip())


def test_a_log_that_cannot_be_written_does_not_fail_the_work(tmp_path: Path) -> None:
    (tmp_path / "r1").write_text("a file where a directory should be")
    AttemptLog(tmp_path / "r1" / "1-1.log").write("INFO", "line")
