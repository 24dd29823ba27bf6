"""docs/tutorial.md, played on real Spark: its files are those of the example, its commands print what it says.

And the mart that they print is right: it is what plain Python makes of the trips as they were.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from pondage.cli.main import main
from pondage.project.project import load_project
from tests.chaos.fault import Dev, opened, wait_for
from tests.docs.examples import ROOT, Example, blocks, examples, matches

DOCUMENT = ROOT / "docs" / "tutorial.md"
TAXI = ROOT / "examples" / "taxi"
BOROUGHS = {1: "Queens", 2: "Manhattan", 3: "Manhattan", 4: "Brooklyn", 5: "Bronx"}


def test_every_file_of_the_example_is_in_the_tutorial_line_by_line() -> None:
    shown = {}
    for block in [*blocks(DOCUMENT, "python"), *blocks(DOCUMENT, "toml")]:
        found = re.match(r"# ([\w/]+\.\w+)\n", block.text)
        assert found is not None, f"{block.document}:{block.line} names no file"
        shown[found[1]] = block.text.removeprefix(found[0])
    for name in ("pondage.toml", "ponds/trips.py", "ponds/zones.py", "ponds/fares.py", "outside.py"):
        assert shown[name] == (TAXI / name).read_text(encoding="utf-8"), name


class Reader:
    """Somebody who types what the tutorial says, with `pondage dev` in another terminal."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.dev: Dev | None = None
        self.differences: list[str] = []
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)
        # As wide as the tutorial is written for.
        monkeypatch.setenv("COLUMNS", "100")

    def type(self, example: Example) -> None:
        match example.words:
            case ("pip", *_):
                return
            case ("cd", directory):
                self._monkeypatch.chdir(directory)
            case ("pondage", "dev"):
                self.dev = Dev(load_project(Path.cwd()))
            case ("python", *rest):
                done = subprocess.run([sys.executable, *rest], capture_output=True, text=True, check=False)
                self._compare(example, done.stdout + done.stderr, has_failed=done.returncode != 0)
            case ("pondage", *rest):
                self._capsys.readouterr()
                code = main(list(rest))
                said = self._capsys.readouterr()
                self._compare(example, said.out + (said.err if code else ""), has_failed=code != 0)
                if rest[0] == "force":
                    self._wait()
            case _:
                raise AssertionError(f"{example.place}: nobody knows how to type {example.words}")

    def _wait(self) -> None:
        """Until nothing runs, as the tutorial tells its reader."""
        ledger = opened(load_project(Path.cwd()))

        def is_quiet() -> bool:
            with ledger.reading() as tx:
                return not tx.one("SELECT count(*) FROM runs WHERE ended_at IS NULL", int) and not tx.one(
                    "SELECT count(*) FROM signals WHERE due_at <= :now", int
                )

        wait_for(ledger, is_quiet)
        ledger.close()

    def _compare(self, example: Example, printed: str, *, has_failed: bool) -> None:
        printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        # A block without prompts shows commands alone.
        if has_failed or (example.printed and not matches(printed, example.printed)):
            # All of them are told at the end: whoever changes what is printed sees it at once.
            self.differences.append(f"{example.place}: {' '.join(example.words)} printed\n{printed}")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Reader]:
    made = Reader(tmp_path, monkeypatch, capsys)
    yield made
    if made.dev is not None:
        assert made.dev.drain() == 0


def from_scratch(last_day: int) -> dict[tuple[str, str], tuple[int, float]]:
    """The mart of the trips as they were: those that are right, each once, in the borough of that day."""
    made = runpy.run_path(str(TAXI / "make_data.py"))
    found: dict[tuple[str, str], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for day in range(1, last_day + 1):
        # The late ones of the last day have not come yet.
        trips = made["trips_of"](day, is_corrected=True)[made["LATE"] if day == last_day else 0 :]
        for trip in trips:
            if trip["zone_id"] is None or trip["fare"] <= 0:
                continue
            is_renamed = trip["zone_id"] == 5 and day >= 9
            key = trip["at"].date().isoformat(), "Westchester" if is_renamed else BOROUGHS[trip["zone_id"]]
            count, fare = found[key]
            found[key] = count + 1, fare + trip["fare"]
    return dict(found)


def printed(start: str) -> list[list[str]]:
    """The rows that the tutorial prints of the last query that begins so; `test_the_tutorial_…` sees that it does."""
    (*_, example) = [each for each in examples(DOCUMENT) if each.words[:2] == ("pondage", "query")
                     and each.words[2].startswith(start)]  # fmt: skip
    return [line.split() for line in example.printed[1:-1]]


def test_the_mart_of_the_tutorial_is_what_plain_python_makes_of_the_trips_as_they_were() -> None:
    mart = from_scratch(16)
    totals: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (day, borough), (count, _) in sorted(mart.items()):
        totals[borough].append((day, count))
    assert printed("select borough, min(day)") == [
        [borough, days[0][0], days[-1][0], str(sum(count for _, count in days))]
        for borough, days in sorted(totals.items())
    ]
    was = {borough.replace("Westchester", "Bronx"): found for (day, borough), found in mart.items() if day[8:] == "10"}
    assert printed("select * from fares where day = '2026-03-10'") == [
        ["2026-03-10", borough, str(count), str(fare)] for borough, (count, fare) in sorted(was.items())
    ]


@pytest.mark.spark
def test_the_tutorial_does_what_it_says(reader: Reader) -> None:
    commands = examples(DOCUMENT)
    assert len(commands) > 20
    for example in commands:
        reader.type(example)
    assert reader.differences == [], "\n".join(reader.differences)
