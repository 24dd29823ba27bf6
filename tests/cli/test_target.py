"""Files that verbs write: replaced when everything is there, untouched when something failed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pondage.cli
from pondage.cli.printing.target import replace_text, replacing
from pondage.errors import PondageError


class BrokenError(Exception):
    """What goes wrong in the middle."""


def write_some(path: Path, *, is_resumable: bool, offset: int = 0) -> None:
    with replacing(path, offset=offset, is_resumable=is_resumable) as file:
        file.write(b"half")
        raise BrokenError


def test_what_fails_in_the_middle_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "picture.svg"
    place.write_text("before")
    with pytest.raises(BrokenError):
        write_some(place, is_resumable=False)
    assert place.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["picture.svg"]


def test_what_is_whole_takes_the_place_with_the_rights_of_what_was_there(tmp_path: Path) -> None:
    place, link = tmp_path / "picture.svg", tmp_path / "link.svg"
    place.write_text("before")
    place.chmod(0o640)
    link.symlink_to(place)
    replace_text(link, "after")
    assert (place.read_text(), place.stat().st_mode & 0o777, link.is_symlink()) == ("after", 0o640, True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.svg", "picture.svg"]


def test_what_can_be_resumed_is_kept_beside_the_file_and_gone_on_with(tmp_path: Path) -> None:
    place, part = tmp_path / "rows.csv", tmp_path / "rows.csv.part"
    place.write_text("before")
    with pytest.raises(BrokenError):
        write_some(place, is_resumable=True)
    assert (place.read_text(), part.read_text()) == ("before", "half")
    with replacing(place, offset=4, is_resumable=True) as file:
        file.write(b" and all")
    assert place.read_text() == "half and all"
    assert not part.exists()


def test_an_offset_behind_the_end_is_refused_with_the_one_that_is_possible(tmp_path: Path) -> None:
    place = tmp_path / "rows.csv"
    place.write_text("12345")
    with pytest.raises(PondageError, match="has 5 bytes") as caught, replacing(place, offset=6, is_resumable=True):
        pass
    assert (caught.value.code, place.read_text()) == ("BAD_OFFSET", "12345")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("--offset 5")


def test_a_device_is_written_to_and_not_replaced() -> None:
    replace_text(Path("/dev/null"), "nothing")
    assert not Path("/dev/null").is_file()


def test_a_place_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(PondageError, match=r"cannot write .*nowhere/picture.svg: No such file") as caught:
        replace_text(tmp_path / "nowhere" / "picture.svg", "text")
    assert caught.value.code == "CANNOT_WRITE"


NEW_FILES = {"printing/errors.py", "start/import_sdp.py"}
"""They write files with new names, or into a folder that they have made."""
WRITES = {"w", "wb", "wt", "w+b", "r+b", "r+", "a", "ab", "x", "xb"}


def test_no_verb_writes_a_file_that_may_exist_in_another_way() -> None:
    root = Path(pondage.cli.__file__).parent
    found = set()
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            is_writing = isinstance(node, ast.Attribute) and node.attr in ("write_text", "write_bytes")
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("open", ".File")):
                is_writing = any(isinstance(each, ast.Constant) and each.value in WRITES for each in ast.walk(node))
            if is_writing:
                found.add(str(file.relative_to(root)))
    assert found - NEW_FILES == {"printing/target.py"}
