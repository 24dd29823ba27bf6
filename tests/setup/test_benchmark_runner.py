"""What `make bench` keeps and prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.run import Row, keep, main, table

ROW = Row(what="a plain Ripple", ours=103.0, against="hand-written", anchor=100.0, unit="ms", n=5)


def test_the_rows_are_kept_with_their_ratio(tmp_path: Path) -> None:
    path = keep("steps", [ROW], tmp_path / "results")
    assert json.loads(path.read_text(encoding="utf-8")) == [
        {
            "what": "a plain Ripple",
            "ours": 103.0,
            "against": "hand-written",
            "anchor": 100.0,
            "ratio": 1.03,
            "unit": "ms",
            "n": 5,
        }
    ]


def test_an_anchor_of_zero_has_no_ratio() -> None:
    row = Row(what="jobs for counts", ours=0, against="none", anchor=0, unit="jobs", n=1)
    assert row.as_json()["ratio"] is None


def test_the_table_shows_every_figure() -> None:
    console = Console(width=120, record=True, quiet=False, file=None, force_terminal=False)
    with console.capture() as shown:
        console.print(table("steps", [ROW]))
    for figure in ("a plain Ripple", "103 ms", "100 ms", "1.030×", "hand-written"):
        assert figure in shown.get()


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no_such_benchmark"]) == 2
    assert "no_such_benchmark" in capsys.readouterr().out
