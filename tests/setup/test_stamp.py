"""The stamp: what the next call trusts."""

from __future__ import annotations

from pathlib import Path

from scripts.setup import stamp


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = stamp.Stamp(location="/here", python="3.11", sets={"base": "digest"}, java=[["PATH", "java", "1"]])
    stamp.write(tmp_path, written)
    assert stamp.read(tmp_path) == written


def test_no_stamp_or_a_damaged_one_is_none(tmp_path: Path) -> None:
    assert stamp.read(tmp_path) is None
    for damage in ("", "{", "[]", '{"of another version": 1}'):
        (tmp_path / stamp.NAME).write_text(damage, encoding="utf-8")
        assert stamp.read(tmp_path) is None


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    file = tmp_path / "lock.txt"
    file.write_text("a", encoding="utf-8")
    before = stamp.digest(file)
    file.write_text("b", encoding="utf-8")
    assert stamp.digest(file) != before
