"""A table that is written in a job file: what does not fit its columns is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pondage.cli.look.job import job

COLUMNS = {"id": "int", "name": "string", "amount": "decimal(10,2)", "day": "date", "is_new": "boolean"}


def validated(tmp_path: Path, columns: dict[str, str], rows: list[object]) -> str:
    file = tmp_path / "job.json"
    params = {"columns": columns, "rows": rows}
    file.write_text(
        json.dumps({"job": {"name": "j"}, "components": [{"name": "t", "type": "table", "params": params}]})
    )
    return CliRunner().invoke(job, ["validate", str(file)]).output


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1], [2, 3]], "t: params.rows[1]: it has 2 values for 1 columns"),
        ([[1], []], "t: params.rows[1]: it has 0 values for 1 columns"),
        ([["x"]], "t: params.rows[0][0]: 'x' is no int (id)"),
        ([[3_000_000_000]], "t: params.rows[0][0]: 3000000000 is no int (id)"),
        ([[True]], "t: params.rows[0][0]: True is no int (id)"),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_their_place(tmp_path: Path, rows: list[object], said: str) -> None:
    assert said in validated(tmp_path, {"id": "int"}, rows)


@pytest.mark.parametrize(
    ("column", "value", "fits"),
    [
        ("amount", "1.50", True),
        ("amount", 1.5, True),
        ("amount", "much", False),
        ("day", "2026-02-28", True),
        ("day", "2026-02-30", False),
        ("is_new", True, True),
        ("is_new", "yes", False),
        ("name", 7, True),
        ("name", None, True),
    ],
)
def test_a_value_may_be_written_as_people_write_it(tmp_path: Path, column: str, value: object, fits: bool) -> None:
    said = validated(tmp_path, {column: COLUMNS[column]}, [[value]])
    assert ("PARAMS_SCHEMA" not in said) == fits
    assert ("rows[0][0]" in said) == (not fits)
