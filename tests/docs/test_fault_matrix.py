"""The table of faults in the documentation says where each is tested: it must be true."""

from __future__ import annotations

import re
from pathlib import Path

from tests.chaos.matrix import CONTROLS, FAULTS
from tests.chaos.running import SERVER_ONLY

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "durability.md").read_text()
ROWS = {
    cells[0]: cells
    for line in TEXT.splitlines()
    if (cells := [cell.strip() for cell in line.strip("|").split("|")])[0].isdigit()
}


def test_every_row_of_the_matrix_has_a_test() -> None:
    assert list(ROWS) == [str(number) for number in range(1, 27)]
    for number, fault, runs, databases, more in ROWS.values():
        assert runs or more, f"{number}: {fault} has no test"
        assert databases in ("both", "PostgreSQL", "SQLite")


def test_every_run_of_the_matrix_is_named_in_its_rows_with_its_databases() -> None:
    named = {number: re.sub(r" \(.*?\)", "", cells[2]).split(", ") for number, cells in ROWS.items()}
    for fault in FAULTS:
        for number in fault.row.split(", "):
            assert fault.name in named[number], f"{fault.name} is not in row {number}"
            if fault.databases == SERVER_ONLY:
                assert "PostgreSQL" in " ".join(ROWS[number][2:4])
            else:
                assert ROWS[number][3] == "both"
    runs = {fault.name for fault in FAULTS}
    assert {name for names in named.values() for name in names if name} == runs
    for control in CONTROLS:
        assert f"*{control.name}*" in TEXT


def test_every_file_that_the_page_names_exists() -> None:
    for path in set(re.findall(r"`(tests/[a-z_/.]+)`", TEXT)):
        assert (ROOT / path).exists(), path
