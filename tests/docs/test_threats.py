"""The tables of threats in the documentation say which test shows each line: it must be there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs" / "server.md").read_text(encoding="utf-8").partition("## Who may do what to whom\n")[2]
WHO = re.findall(r"^### (.+)$", SECTION, re.MULTILINE)
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in SECTION.splitlines()
    if line.startswith("| ") and not line.endswith("| shown by |")
]


def every_test() -> frozenset[str]:
    files = (ROOT / "tests").rglob("test_*.py")
    return frozenset(
        name for file in files for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    )


def test_there_is_a_table_for_everybody_who_might_mean_harm() -> None:
    assert [
        "A stranger who reaches the port",
        *(f"A token of level `{level}`" for level in ("read", "demand", "operate", "admin")),
        "Another user of the machine",
        "The author of a tree",
        "The author of code",
        "The machine of a worker",
    ] == WHO


def test_every_line_of_the_tables_names_tests_and_every_one_of_them_exists() -> None:
    known = every_test()
    assert len(ROWS) >= 20
    for row in ROWS:
        assert len(row) == 3, row
        named = re.findall(r"`(\w+)`", row[2])
        assert named, f"nothing shows {row[0]}"
        assert not [name for name in named if name not in known], row[0]
