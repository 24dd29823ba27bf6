"""Run a benchmark, keep its rows and print them: `python -m benchmarks.run NAME` (or `all`).

A benchmark is a module `benchmarks/NAME.py` with a function `run() -> list[Row]`. Its rows are written to
`benchmarks/results/NAME.json`.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
NOT_BENCHMARKS = {"__init__", "run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured comparison."""

    what: str
    """What was measured."""
    ours: float
    """Pondage's figure, in `unit`."""
    against: str
    """What it is compared with."""
    anchor: float
    """The figure of what it is compared with, in `unit`."""
    unit: str
    n: int
    """How many measurements stand behind the figures."""

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of the anchor; None when the anchor is zero."""
        return round(self.ours / self.anchor, 4) if self.anchor else None

    def as_json(self) -> dict[str, object]:
        """Answer the row as it is kept."""
        plain = asdict(self)
        return {
            name: plain.get(name, self.ratio) for name in ("what", "ours", "against", "anchor", "ratio", "unit", "n")
        }


def names() -> list[str]:
    """Answer the benchmarks there are."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_BENCHMARKS)


def keep(name: str, rows: list[Row], results: Path = HERE / "results") -> Path:
    """Write a benchmark's rows and answer the file."""
    results.mkdir(exist_ok=True)
    path = results / f"{name}.json"
    path.write_text(json.dumps([row.as_json() for row in rows], indent=2) + "\n", encoding="utf-8")
    return path


def table(name: str, rows: list[Row]) -> Table:
    """Answer a benchmark's rows as a table for people."""
    shown = Table(title=name)
    shown.add_column("what")
    for heading in ("ours", "anchor", "ratio", "n"):
        shown.add_column(heading, justify="right")
    shown.add_column("against")
    for row in rows:
        ratio = "–" if row.ratio is None else f"{row.ratio:.3f}×"
        shown.add_row(
            row.what, f"{row.ours:g} {row.unit}", f"{row.anchor:g} {row.unit}", ratio, str(row.n), row.against
        )
    return shown


def main(arguments: list[str]) -> int:
    """Run the named benchmarks; the exit code is 2 when there is none of that name."""
    # A table of figures is not read in 80 columns, which is what a pipe is taken for.
    console = Console() if sys.stdout.isatty() else Console(width=170)
    known = names()
    chosen = known if arguments in ([], ["all"]) else arguments
    unknown = [name for name in chosen if name not in known]
    if unknown:
        console.print(f"There is no benchmark named {', '.join(unknown)}. There are: {', '.join(known) or 'none yet'}.")
        return 2
    for name in chosen:
        console.print(f"{name} …")
        rows: list[Row] = importlib.import_module(f"benchmarks.{name}").run()
        path = keep(name, rows)
        console.print(table(name, rows))
        console.print(f"kept in {path.relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
